//! What handles stand for: the engine's objects under the names of MPI.

/// `MPI_Comm`.
pub type Comm = serried_engine::world::Communicator;
/// `MPI_Group`.
pub type Group = serried_engine::world::Group;
/// `MPI_Datatype`.
pub type Datatype = serried_engine::datatype::Datatype;
/// `MPI_Op`.
pub type Op = serried_engine::reduce::Operator;
/// `MPI_Info`.
pub type Info = serried_engine::world::Info;
/// `MPI_File`.
pub type File = serried_engine::file::File;
/// `MPI_Session`.
pub type Session = serried_engine::world::Session;
/// `MPI_Errhandler`.
pub type ErrorHandler = serried_engine::world::ErrorHandler;
/// `MPI_Win`.
pub type Win = crate::window::Window;
/// `MPI_Message`.
pub type Message = serried_engine::message::probe::Message;
