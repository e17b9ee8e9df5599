//! What handles stand for: the engine's objects under the names of MPI.

/// `MPI_Comm`.
pub type Comm = serried_engine::world::Communicator;
/// `MPI_Group`.
pub type Group = serried_engine::world::Group;
/// `MPI_Datatype`.
pub type Datatype = serried_engine::datatype::Datatype;
/// `MPI_Op`.
pub type Op = serried_engine::reduce::Operator;

// These come from the engine as soon as their rooms have landed.

/// `MPI_Info`.
#[derive(Debug, Default)]
pub struct Info;
/// `MPI_Session`.
#[derive(Debug)]
pub struct Session;
/// `MPI_Message`.
#[derive(Debug)]
pub struct Message;
/// `MPI_Errhandler`.
#[derive(Debug)]
pub enum ErrorHandler {
    /// `MPI_ERRORS_ARE_FATAL`
    Fatal,
    /// `MPI_ERRORS_ABORT`
    Abort,
    /// `MPI_ERRORS_RETURN`
    Return,
}
/// A request's number: 22 bits of index, 4 of generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(pub u32);
