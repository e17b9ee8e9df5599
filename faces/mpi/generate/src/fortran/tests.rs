//! What the Fortran libraries and their wrappers promise.

use super::library::{Library, Style};
use super::routine::{names, routines};
use super::{environment, wrapper};
use crate::abi::Abi;
use crate::Api;
use std::path::Path;

fn read(folder: &str) -> (Api, Abi, Library) {
    let api = Api::read(Path::new("../api")).expect("the tables can be read");
    let file = Path::new("../../fortran").join(folder).join(folder).with_extension("fortran");
    let library = Library::read(&file).expect("the library can be read");
    let abi = Path::new("..").join(&library.abi).join(&library.abi).with_extension("abi");
    (Api::read(Path::new("../api")).unwrap(), Abi::read(&abi, &api).unwrap(), library)
}

#[test]
fn a_routine_has_the_names_that_compilers_give_it() {
    let patterns = ["mpi_x_", "MPI_X", "pmpi_x__", "ompi_x_f", "MPI_x_f08"].map(str::to_string);
    assert_eq!(
        names(&patterns, "MPI_Comm_rank"),
        ["mpi_comm_rank_", "MPI_COMM_RANK", "pmpi_comm_rank__", "ompi_comm_rank_f", "MPI_Comm_rank_f08"]
    );
    assert_eq!(names(&patterns, "MPIX_Scan_init")[..2], ["mpix_scan_init_", "MPIX_SCAN_INIT"]);
    assert_eq!(names(&patterns, "MPIX_Scan_init")[3], "ompix_scan_init_f");
}

#[test]
fn c_alone_has_handles_from_integers_and_the_tool_interface() {
    let (api, abi, library) = read("openmpi");
    let found: Vec<&str> = routines(&api, &abi, &library.sets).map(|one| one.name.as_str()).collect();
    assert!(found.len() > 380, "{}", found.len());
    for name in ["MPI_Send", "MPI_Address", "MPI_Win_create", "MPI_File_open", "MPI_Wtime"] {
        assert!(found.contains(&name), "{name}");
    }
    for name in
        ["MPI_Comm_c2f", "MPI_Comm_fromint", "MPI_T_init_thread", "MPII_Comm_set_attr", "MPIX_Comm_revoke"]
    {
        assert!(!found.contains(&name), "{name}");
    }
}

#[test]
fn arguments_follow_their_kinds() {
    let (api, abi, library) = read("openmpi");
    let text = wrapper::wrappers(&api, &abi, &library);
    for line in [
        "let code = PMPI_Send(special::buffer(buf), *count, handles::to_datatype(*datatype), *dest, *tag, \
         handles::to_comm(*comm));",
        "let mut newcomm_c = handles::Place::empty(newcomm);",
        "let mut array_of_requests_c = handles::Array::new(array_of_requests, i64::from(*count), handles::to_request);",
        "let comm_name_c = text::trimmed((comm_name.cast_const(), comm_name_length));",
        "let key_c = text::stripped((key.cast_const(), key_length));",
        "index_from_one(indx);",
        "also! { mpi_send_: mpi_send ",
        "also! { by_hand::comm_create_keyval: mpi_comm_create_keyval_ ",
    ] {
        assert!(text.contains(line), "{line}");
    }
    let (api, abi, library) = read("mpich");
    let text = wrapper::wrappers(&api, &abi, &library);
    assert!(
        text.contains("let code = MPI_Send(special::buffer(buf), *count, *datatype, *dest, *tag, *comm);")
    );
}

#[test]
fn a_file_says_what_a_library_is_and_a_bad_line_is_named() {
    let (api, abi, library) = read("mpich");
    assert_eq!((library.soname.as_str(), library.blocks[1].style), ("libmpifort.so.12", Style::Native));
    let text = environment::environment(&api, &abi, &library).unwrap();
    assert!(text.contains("place == (&raw const mpipriv1_ as usize) + 4"));
    let folder = std::env::temp_dir().join(format!("serried-fortran-{}", std::process::id()));
    std::fs::write(&folder, "abi mpich\nstyle loud\n").unwrap();
    let problem = Library::read(&folder).unwrap_err();
    std::fs::remove_file(&folder).unwrap();
    assert!(problem.ends_with(":2: `loud` is no style"), "{problem}");
}
