//! What the tables, the files of ABIs and the texts made from them promise.

use crate::abi::{Abi, Form};
use crate::declaration::Raises;
use crate::value::Value;
use crate::{exports, header, module, Api};
use std::path::Path;

fn tables() -> Api {
    Api::read(Path::new("../api")).expect("the tables can be read")
}

fn abi(api: &Api, name: &str) -> Abi {
    Abi::read(&Path::new("..").join(name).join(name).with_extension("abi"), api).expect("the ABI can be read")
}

#[test]
fn no_function_stands_twice() {
    let names = exports::names(&tables());
    let mut sorted = names.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), names.len());
}

#[test]
fn send_has_two_forms_and_each_a_profiling_twin() {
    let api = tables();
    let text = exports::functions(&api, &abi(&api, "standard")).unwrap();
    for name in ["MPI_Send", "PMPI_Send", "MPI_Send_c", "PMPI_Send_c", "PMPI_Barrier"] {
        assert_eq!(text.matches(&format!("fn {name}(")).count(), 1, "{name}");
    }
    assert!(!text.contains("fn MPI_Barrier_c("));
}

#[test]
fn an_abi_has_the_sets_of_functions_that_it_names() {
    let api = tables();
    let (standard, mpich) = (abi(&api, "standard"), abi(&api, "mpich"));
    assert!(!exports::functions(&api, &standard).unwrap().contains("fn MPI_Comm_c2f("));
    assert!(exports::functions(&api, &mpich).unwrap().contains("fn MPI_Comm_c2f("));
    assert!(exports::functions(&api, &standard).unwrap().contains("fn MPI_Type_struct("));
    assert!(!header::header(&api, &standard).contains(" MPI_Type_struct("));
    assert!(header::declarations(&api, &mpich).contains(" MPI_Type_struct("));
}

#[test]
fn a_bad_line_is_named() {
    let parse = |text| crate::declaration::parse("x", text).unwrap_err();
    assert_eq!(parse("# title\nSend(buf: nonsense)"), (2, "unknown kind `nonsense`".to_string()));
    assert_eq!(parse("sometimes Send()"), (1, "unknown word `sometimes` before the name".to_string()));
    assert_eq!(parse("send()"), (1, "no name in this line".to_string()));
}

#[test]
fn words_stand_before_a_name_or_for_a_whole_table() {
    let text = "all: raises(nobody)\nanytime of(more) Try(level: int, ...)\ncollective Meet(comm: comm)";
    let found = crate::declaration::parse("x", text).unwrap();
    let [first, second] = &found[..] else { panic!("two functions") };
    assert_eq!((first.name.as_str(), first.marks.set.as_deref()), ("MPI_Try", Some("more")));
    assert!(first.marks.anytime && first.variadic && !first.marks.collective && !second.variadic);
    assert_eq!(second.marks.raises, Some(Raises::Nobody));
    assert!(second.marks.collective && second.marks.set.is_none());
}

#[test]
fn an_alias_keeps_its_name_and_a_missing_constant_is_left_out() {
    let api = tables();
    let text = module::module(&api, &abi(&api, "standard"));
    assert!(text.contains("pub const MPI_C_COMPLEX: Handle = MPI_C_FLOAT_COMPLEX;"));
    assert!(!text.contains("MPI_LB"));
}

/// The call of a function that a line declares.
fn call_of(line: &str) -> String {
    let mut api = tables();
    let abi = abi(&api, "standard");
    api.declarations = crate::declaration::parse("x", line).unwrap();
    exports::functions(&api, &abi).unwrap()
}

#[test]
fn a_late_handle_is_not_looked_up_and_one_of_a_count_may_be_null_without_items() {
    let text = call_of("Name(sendcount: count, sendtype: datatype of sendcount, recvtype: late datatype)");
    assert!(
        text.contains(r#"handle::datatype_of(call, "sendtype", sendtype, i64::from(sendcount))?"#),
        "{text}"
    );
    assert!(text.contains(r#"Late::new(&handle::DATATYPES, call, "recvtype", recvtype)"#), "{text}");
    assert!(text.contains("recvtype: abi::Handle"), "{text}");
}

#[test]
fn an_error_handler_answers_for_what_the_call_makes_and_a_communicator_for_the_rest() {
    let raised_on = |line: &str, expected: &str| {
        let text = call_of(line);
        assert!(text.contains(expected), "{text}");
    };
    raised_on(
        "Name(group: group, errhandler: errhandler, newcomm: out comm)",
        "RaisedOn::NewComm(errhandler)",
    );
    raised_on("Name(errhandler: errhandler, session: out session)", "RaisedOn::NewSession(errhandler)");
    raised_on("Name(comm: comm, errhandler: errhandler)", "RaisedOn::Comm(comm)");
    raised_on("Name(function: pointer, errhandler: out errhandler)", "RaisedOn::NoObject");
    raised_on("Name(errhandler: inout errhandler)", "RaisedOn::NoObject");
}

#[test]
fn values_are_read_and_nonsense_is_not() {
    assert_eq!(Value::parse("-0x1f"), Ok(Value::Number("-0x1f".into())));
    assert_eq!(Value::parse("MPI_INT"), Ok(Value::Alias("MPI_INT".into())));
    assert_eq!(Value::parse("&world=3"), Ok(Value::Object("world".into(), 3)));
    assert_eq!(Value::parse("(-7)").unwrap().visible(), &Value::None);
    assert_eq!(Value::parse("(-7)").unwrap().for_bodies(), &Value::Number("-7".into()));
    for nonsense in ["&world", "&world=128", "0x", "7a", "", "(", "(x)"] {
        assert!(Value::parse(nonsense).is_err(), "{nonsense}");
    }
}

/// The tables with two constants, and an ABI of this text.
fn small(text: &str) -> Result<Abi, String> {
    let mut api = tables();
    api.constants = crate::constant::parse("MPI_COMM_WORLD MPI_Comm\nMPI_ANY_TAG int\n").unwrap();
    read_text(text, &api)
}

/// An ABI of this text; a problem without the name of the file.
fn read_text(text: &str, api: &Api) -> Result<Abi, String> {
    let thread = std::thread::current().id();
    let file = std::env::temp_dir().join(format!("unit-test-{}-{thread:?}.abi", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let read = Abi::read(&file, api).map_err(|problem| problem.rsplit(": ").next().unwrap_or("").to_string());
    std::fs::remove_file(&file).unwrap();
    read
}

const START: &str = "name a\nsoname a.so\nhandles objects\nobject comm 64\nstatus tag source error bytes\n";

#[test]
fn a_file_that_does_not_fit_the_tables_is_told_why() {
    let right = small(&format!("{START}MPI_COMM_WORLD &world=0\nMPI_ANY_TAG -1\n")).unwrap();
    assert_eq!((right.handles, right.files, right.soname.as_str()), (Form::Objects, Form::Objects, "a.so"));
    let wrong = |lines: &str| small(&format!("{START}{lines}")).unwrap_err();
    assert!(wrong("MPI_ANY_TAG -1\n").contains("MPI_COMM_WORLD has no value"));
    assert!(wrong("MPI_COMM_WORLD &world=0\nMPI_ANY_TAG &tag=0\n").contains("is no handle"));
    assert!(wrong("MPI_COMM_WORLD @world\nMPI_ANY_TAG -1\n").contains("nothing is exported as world"));
    assert!(wrong("MPI_COMM_WORLD &w=0\nMPI_ANY_TAG -1\nMPI_MORE 1\n").contains("not in constants.api"));
    assert!(wrong("MPI_COMM_WORLD &w=0\nMPI_ANY_TAG -1\nlacks MPI_Sent\n").contains("no function MPI_Sent"));
    assert!(wrong("MPI_COMM_WORLD &w=0\nMPI_ANY_TAG MPI_TAG\n").contains("which is no constant"));
    assert!(wrong("MPI_ANY_TAG 1\nMPI_ANY_TAG 1\n").contains("has a value already"));
    assert!(
        wrong("MPI_COMM_WORLD &w=0\nMPI_ANY_TAG -1\nobject op 8\n").contains("do not fit the alignment 64")
    );
    assert!(wrong("colour blue\n").contains("nothing that an ABI says"));
}

#[test]
fn two_objects_with_one_number_and_two_numbers_of_one_object_are_mistakes() {
    let mut api = tables();
    api.constants = crate::constant::parse("MPI_COMM_WORLD MPI_Comm\nMPI_COMM_SELF MPI_Comm\n").unwrap();
    let read = |lines: &str| read_text(&format!("{START}{lines}"), &api);
    assert!(read("MPI_COMM_WORLD &w=0\nMPI_COMM_SELF &s=0\n").unwrap_err().contains("of another handle"));
    assert!(read("MPI_COMM_WORLD &w=0\nMPI_COMM_SELF &w=1\n").unwrap_err().contains("of another handle"));
    assert!(read("MPI_COMM_WORLD &w=0\nMPI_COMM_SELF &s=1\n").is_ok());
}

#[test]
fn an_object_is_exported_once_with_its_size_and_listed_with_its_number() {
    let mut api = tables();
    api.constants = crate::constant::parse("MPI_COMM_WORLD MPI_Comm\nMPI_ANY_TAG int\n").unwrap();
    let abi = small(&format!("{START}MPI_COMM_WORLD &world=5\nMPI_ANY_TAG (-3)\n")).unwrap();
    let text = module::module(&api, &abi);
    assert_eq!(text.matches("pub static world: Predefined<64>").count(), 1);
    assert!(text.contains("Object::new(0x4000005, "));
    assert!(text.contains("pub const MPI_ANY_TAG: c_int = -3_i64 as c_int;"));
    let header = header::header(&api, &abi);
    assert!(header.contains("#define MPI_COMM_WORLD                     (&world)"));
    assert!(header.contains("extern struct MPI_ABI_Comm world;") && !header.contains("MPI_ANY_TAG"));
}

#[test]
fn a_status_lies_as_its_fields_are_listed() {
    let abi = small(&format!("{START}MPI_COMM_WORLD &world=0\nMPI_ANY_TAG -1\n")).unwrap();
    let c = "int MPI_TAG;\n    int MPI_SOURCE;\n    int MPI_ERROR;\n    size_t MPI_internal;\n";
    assert!(crate::status::in_c(&abi.status).contains(c));
    let fields = ["bytes_low", "bytes_high+cancelled", "source", "tag", "error"];
    let fields: Vec<_> = fields.iter().map(|field| crate::status::Field::parse(field).unwrap()).collect();
    assert!(crate::status::in_c(&fields).contains("int MPI_internal[2];\n    int MPI_SOURCE;"));
    assert_eq!((crate::status::ints(&fields), crate::status::ints(&abi.status)), (5, 6));
    let rust = crate::status::in_rust(&fields);
    assert!(
        rust.contains("{ u64::from(self.internal_0 as u32) | u64::from(self.internal_1 as u32 >> 1) << 32 }")
    );
}
