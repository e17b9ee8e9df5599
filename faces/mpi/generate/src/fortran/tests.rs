//! What the Fortran libraries and their wrappers promise.

use super::library::{Library, Style};
use super::routine::{names, routines};
use super::{environment, interface, wrapper};
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
        ["MPI_Comm_c2f", "MPI_Comm_fromint", "MPI_T_init_thread", "MPII_Comm_set_attr", "MPIX_Op_create_x"]
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
        "also! { routine_mpi_send_: mpi_send_ mpi_send ",
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
    let folder = std::env::temp_dir().join(format!("unit-test-fortran-{}", std::process::id()));
    std::fs::write(&folder, "abi mpich\nstyle loud\n").unwrap();
    let problem = Library::read(&folder).unwrap_err();
    std::fs::remove_file(&folder).unwrap();
    assert!(problem.ends_with(":2: `loud` is no style"), "{problem}");
}

#[test]
fn sections_become_copies_datatypes_or_copies_that_are_kept() {
    let (api, abi, library) = read("standard");
    let text = wrapper::wrappers(&api, &abi, &library);
    let of = |name: &str| {
        let begin = text.find(&format!("fn routine_{name}(")).unwrap_or_else(|| panic!("{name}"));
        &text[begin..begin + text[begin..].find("\n}").unwrap()]
    };
    let blocking = of("mpi_recv_f08ts");
    assert!(blocking.contains("let mut buf_k = Copied::new(CfiDescriptor::section(buf));"));
    assert!(blocking.contains("buf_k.put_back();") && !of("mpi_send_f08ts").contains("put_back"));
    let described = of("mpi_isend_f08ts_large");
    assert!(
        described.contains("MPI_Isend_c(buf_d.address, buf_d.count as i64, buf_d.datatype,"),
        "{described}"
    );
    assert!(of("mpi_iallreduce_f08ts").contains("Kept::until_gone([(sendbuf_k, false), (recvbuf_k, true)],"));
    assert!(of("mpi_win_create_f08ts").contains("CfiDescriptor::section(base).address()"));
    assert!(of("mpi_send_").contains("special::buffer(buf)"));
    assert!(text.contains("also! { by_hand::op_create: mpi_op_create_f08_ pmpi_op_create_f08_ }"));
    assert!(text.contains("also! { by_hand::bound::info_get: mpi_info_get_f08 "));
}

#[test]
fn modules_have_both_forms_and_what_compilers_must_be_told() {
    let (api, abi, library) = read("standard");
    let text = interface::modules(&api, &abi, &library);
    for line in [
        "  type(MPI_Comm), parameter :: MPI_COMM_WORLD = MPI_Comm(257)\n",
        "  integer, parameter :: MPI_COMM_WORLD = 257\n",
        "  integer, parameter :: MPI_MAX_OBJECT_NAME = 127\n",
        "    subroutine MPI_Send_f08_large(buf, count, datatype, dest, &\n        tag, comm, ierror) &\n        bind(C, name=\"mpi_send_f08ts_large\")\n",
        "      !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf\n      !DIR$ IGNORE_TKR buf\n",
        "      type(*), dimension(..), target, intent(in), asynchronous :: buf\n",
        "  interface MPI_Op_create_c\n    subroutine MPI_Op_create_f08_large(user_fn, commute, op, ierror)\n",
        "  common /mpi_f_in_place/ MPI_IN_PLACE\n",
    ] {
        assert!(text.contains(line), "{line}");
    }
    // An address is as wide as a count, so this has one form.
    assert!(!text.contains("MPI_Type_get_extent_f08_large"));
    assert!(text.lines().all(|line| line.len() <= 132));
    let old = interface::include_file(&api, &abi, false);
    assert!(
        old.contains("      parameter (MPI_STATUS_SIZE=8)\n")
            && old.lines().all(|line| line.len() <= 72 || line.starts_with('!'))
    );
}

#[test]
fn wide_integers_have_one_form_of_each_routine() {
    let (api, abi, library) = read("wide");
    let text = interface::modules(&api, &abi, &library);
    let f08 = &text[text.find("\nmodule mpi_f08\n").expect("it has mpi_f08")..];
    assert!(f08.contains("  interface MPI_Send\n    subroutine MPI_Send_f08(buf, count,"));
    assert!(
        f08.contains("  interface MPI_Type_get_envelope_c\n    subroutine MPI_Type_get_envelope_f08_large(")
    );
    assert!(!f08.contains("MPI_Send_f08_large"));
    let wrappers = wrapper::wrappers(&api, &abi, &library);
    for line in [
        "MPI_Isend_c(buf_d.address, buf_d.count as i64, buf_d.datatype,",
        "Kept::until_gone([(sendbuf_k, false), (recvbuf_k, true)], handles::to_request(narrow(*request)));",
        "let code = if fits(*count) { MPI_Type_contiguous(narrow(*count), handles::to_datatype(narrow(*oldtype)), \
         newtype_c.as_mut_ptr()) } else { MPI_Type_contiguous_c(*count, ",
        "fits(*count) && array_of_blocklengths_c.fit()",
    ] {
        assert!(wrappers.contains(line), "{line}");
    }
}
