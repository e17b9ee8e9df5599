//! Starting programs: arrays of strings, each as long as the others; the last one is blank (MPI-5.0 §11.8).

use super::report;
use crate::abi;
use crate::handles::{self, Array, Place};
use crate::integers::{narrow, Fint, Ints};
use crate::text;
use std::ffi::{c_char, c_int, CString};
use std::ptr::null_mut;

/// Strings of the program as C wants them: pointers with a null behind them.
struct Strings {
    _kept: Vec<CString>,
    pointers: Vec<*mut c_char>,
}

impl Strings {
    fn new(kept: Vec<CString>) -> Strings {
        let pointers = kept.iter().map(|one| one.as_ptr().cast_mut()).chain([null_mut()]).collect();
        Strings { _kept: kept, pointers }
    }

    /// Those from `first` on, each `step` strings behind the last, up to a blank one.
    unsafe fn up_to_blank(first: *const c_char, length: usize, step: usize) -> Strings {
        let at = |index: usize| unsafe { text::stripped((first.add(index * step * length), length)) };
        Strings::new((0..).map(at).take_while(|one| !one.is_empty()).collect())
    }
}

pub unsafe fn comm_spawn(
    command: text::Place,
    (argv, argv_length): text::Place,
    maxprocs: *const Fint,
    info: *const Fint,
    root: *const Fint,
    comm: *const Fint,
    intercomm: *mut Fint,
    errcodes: *mut Fint,
    ierror: *mut Fint,
) {
    let command = text::trimmed(command);
    let mut arguments = (!abi::is_argv_null(argv.cast())).then(|| Strings::up_to_blank(argv, argv_length, 1));
    let argv = arguments.as_mut().map_or(abi::argv_null().cast(), |all| all.pointers.as_mut_ptr());
    let mut made = Place::empty(intercomm);
    let (info, comm) = (handles::to_info(narrow(*info)), handles::to_comm(narrow(*comm)));
    let (place, maxprocs, root) = (made.as_mut_ptr(), narrow(*maxprocs), narrow(*root));
    let mut errcodes = Ints::new(errcodes, i64::from(maxprocs));
    let codes = errcodes.as_mut_ptr();
    let code = abi::c_comm_spawn(command.as_ptr(), argv.cast(), maxprocs, info, root, comm, place, codes);
    errcodes.store();
    if code == abi::MPI_SUCCESS {
        made.store(handles::from_comm);
    }
    report(ierror, code);
}

pub unsafe fn comm_spawn_multiple(
    count: *const Fint,
    (commands, command_length): text::Place,
    (argvs, argv_length): text::Place,
    maxprocs: *const Fint,
    infos: *mut Fint,
    root: *const Fint,
    comm: *const Fint,
    intercomm: *mut Fint,
    errcodes: *mut Fint,
    ierror: *mut Fint,
) {
    let number = usize::try_from(narrow(*count)).unwrap_or(0);
    let at = |index: usize| text::trimmed((commands.add(index * command_length), command_length));
    let mut commands = Strings::new((0..number).map(at).collect());
    // An array of two dimensions: the arguments of a command are a row of it.
    let row = |index: usize| Strings::up_to_blank(argvs.add(index * argv_length), argv_length, number);
    let mut rows: Vec<Strings> = match abi::is_argvs_null(argvs.cast()) {
        true => Vec::new(),
        false => (0..number).map(row).collect(),
    };
    let mut pointers: Vec<*mut *mut c_char> = rows.iter_mut().map(|row| row.pointers.as_mut_ptr()).collect();
    let argvs = if pointers.is_empty() { abi::argvs_null().cast() } else { pointers.as_mut_ptr() };
    let mut infos = Array::new(infos, number as i64, handles::to_info);
    let mut maxprocs = Ints::new(maxprocs.cast_mut(), number as i64);
    let all = (0..number).map(|index| i64::from(*maxprocs.as_mut_ptr().add(index))).sum();
    let mut errcodes = Ints::new(errcodes, all);
    let mut made = Place::empty(intercomm);
    let code = abi::c_comm_spawn_multiple(
        number as c_int,
        commands.pointers.as_mut_ptr().cast(),
        argvs.cast(),
        maxprocs.as_mut_ptr(),
        infos.as_mut_ptr(),
        narrow(*root),
        handles::to_comm(narrow(*comm)),
        made.as_mut_ptr(),
        errcodes.as_mut_ptr(),
    );
    errcodes.store();
    if code == abi::MPI_SUCCESS {
        made.store(handles::from_comm);
    }
    report(ierror, code);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_no_blanks_around_them_and_end_at_a_blank_one() {
        let row = concat!(" Ss  ", "d e  ", "     ", "x    ").as_ptr().cast();
        let rows = concat!(" Ss  ", "x    ", "a b  ", "x    ", "     ").as_ptr().cast();
        // SAFETY: strings of 5 bytes up to a blank one: all of them, and every second one.
        let (all, second) = unsafe { (Strings::up_to_blank(row, 5, 1), Strings::up_to_blank(rows, 5, 2)) };
        assert_eq!(all._kept, [c"Ss".to_owned(), c"d e".to_owned()]);
        assert_eq!(second._kept, [c"Ss".to_owned(), c"a b".to_owned()]);
    }
}
