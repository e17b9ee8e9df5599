//! Control variables (MPI-5.0 §15.3.6): our settings, crossovers, and what is fixed. Those
//! of the engine can be written until the engine starts.

use super::enumeration::MEANS;
use super::{error, handle_at, no_handle, no_index, no_name, null, put, put_handle, put_text, ready, Raw};
use crate::abi;
use crate::arguments::{read_string, OutValue};
use crate::common::{engine, settings};
use serried_engine::message::EAGER_BYTES;
use serried_engine::settings::{COPY, MEMORY, SETTINGS};
use serried_engine::transport::Means;
use serried_engine::tuning;
use serried_engine::Result;
use std::ffi::{c_char, c_int, c_void};

/// The longest value of a setting that is a text, with its final 0.
const TEXT: usize = 256;
const LADDER: [Means; 4] = [Means::Direct, Means::CrossMemory, Means::MemoryFile, Means::Cells];

/// A control variable: what a handle stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// A setting, by its place.
    Setting(usize),
    /// The longest message that is sent at once.
    Eager,
    /// A length at which ways of moving bytes change, by its place.
    Crossover(usize),
}

/// Which of the settings are for the engine of a rank.
enum Kind {
    Bytes,
    Means,
    Text,
    Fixed,
}

impl Control {
    fn of(index: c_int) -> Result<Control> {
        let place = usize::try_from(index).map_err(|_| no_index("control variable", index))?;
        match place {
            place if place < SETTINGS.len() => Ok(Control::Setting(place)),
            place if place == SETTINGS.len() => Ok(Control::Eager),
            place if place < Control::ALL => Ok(Control::Crossover(place - SETTINGS.len() - 1)),
            _ => Err(no_index("control variable", index)),
        }
    }

    /// How many there are.
    const ALL: usize = SETTINGS.len() + 1 + tuning::COUNT;

    fn name(self) -> &'static str {
        match self {
            Control::Setting(place) => SETTINGS[place].name,
            Control::Eager => "eager_bytes",
            Control::Crossover(place) => tuning::ALL[place].name,
        }
    }

    fn kind(self) -> Kind {
        match self {
            Control::Eager | Control::Crossover(_) => Kind::Fixed,
            Control::Setting(place) if SETTINGS[place].name == MEMORY => Kind::Bytes,
            Control::Setting(place) if SETTINGS[place].name == COPY => Kind::Means,
            Control::Setting(_) => Kind::Text,
        }
    }

    fn description(self) -> String {
        match self {
            Control::Setting(place) => {
                let setting = &SETTINGS[place];
                format!("{} (default: {})", setting.meaning, setting.default)
            }
            Control::Eager => "bytes of the longest message that is sent before its receive is there".into(),
            Control::Crossover(place) => tuning::ALL[place].description(),
        }
    }

    /// The bytes of one that is fixed.
    fn fixed(self) -> u64 {
        match self {
            Control::Crossover(place) => tuning::ALL[place].bytes(),
            _ => EAGER_BYTES,
        }
    }

    /// Elements of its value.
    fn elements(self) -> c_int {
        match self.kind() {
            Kind::Text => TEXT as c_int,
            _ => 1,
        }
    }
}

/// Places of the variables with these names.
pub fn places(names: &[&str]) -> Vec<c_int> {
    chosen(|name| names.contains(&name))
}

/// Places of all others.
pub fn all_but(names: &[&str]) -> Vec<c_int> {
    chosen(|name| !names.contains(&name))
}

fn chosen(wanted: impl Fn(&str) -> bool) -> Vec<c_int> {
    let all = 0..Control::ALL as c_int;
    all.filter(|&place| Control::of(place).is_ok_and(|control| wanted(control.name()))).collect()
}

/// `MPI_T_cvar_get_num`.
pub fn t_cvar_get_num(num_cvar: OutValue<c_int>) -> Result<()> {
    let _tool = ready()?;
    num_cvar.set(Control::ALL as c_int);
    Ok(())
}

/// `MPI_T_cvar_get_index`.
pub fn t_cvar_get_index(name: *const c_char, cvar_index: OutValue<c_int>) -> Result<()> {
    let _tool = ready()?;
    let name = read_string("name", name)?;
    let place =
        places(&[name.as_str()]).first().copied().ok_or_else(|| no_name("control variable", &name))?;
    cvar_index.set(place);
    Ok(())
}

/// `MPI_T_cvar_get_info`.
#[allow(clippy::too_many_arguments)] // MPI's own
pub fn t_cvar_get_info(
    cvar_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    datatype: *mut c_void,
    enumtype: Raw,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
    scope: *mut c_int,
) -> Result<()> {
    let _tool = ready()?;
    let control = Control::of(cvar_index)?;
    let (level, of_type, words, reach) = match control.kind() {
        Kind::Bytes => {
            (abi::MPI_T_VERBOSITY_USER_BASIC, abi::MPI_UNSIGNED_LONG_LONG, None, abi::MPI_T_SCOPE_LOCAL)
        }
        Kind::Means => (abi::MPI_T_VERBOSITY_USER_BASIC, abi::MPI_INT, Some(&MEANS), abi::MPI_T_SCOPE_LOCAL),
        Kind::Text => (abi::MPI_T_VERBOSITY_USER_DETAIL, abi::MPI_CHAR, None, abi::MPI_T_SCOPE_READONLY),
        Kind::Fixed => {
            (abi::MPI_T_VERBOSITY_TUNER_BASIC, abi::MPI_UNSIGNED_LONG_LONG, None, abi::MPI_T_SCOPE_CONSTANT)
        }
    };
    put(verbosity, level);
    put(datatype.cast(), of_type);
    put(enumtype.cast::<Raw>(), words.map_or(abi::MPI_T_ENUM_NULL, |words| words.handle()));
    put(bind, abi::MPI_T_BIND_NO_OBJECT);
    put(scope, reach);
    put_text(control.name(), name, name_len)?;
    put_text(&control.description(), desc, desc_len)
}

/// `MPI_T_cvar_handle_alloc`; no variable is bound to an object.
pub fn t_cvar_handle_alloc(
    cvar_index: c_int,
    _obj_handle: *mut c_void,
    handle: Raw,
    count: OutValue<c_int>,
) -> Result<()> {
    let mut tool = ready()?;
    let control = Control::of(cvar_index)?;
    if handle.is_null() {
        return Err(null("handle"));
    }
    let made =
        tool.controls.put(control).ok_or_else(|| error(abi::MPI_T_ERR_OUT_OF_HANDLES, "too many handles"))?;
    count.set(control.elements());
    put_handle("handle", handle, made)
}

/// `MPI_T_cvar_handle_free`.
pub fn t_cvar_handle_free(handle: Raw) -> Result<()> {
    let mut tool = ready()?;
    tool.controls.take(handle_at(handle)?).ok_or_else(|| no_handle("control variable"))?;
    put_handle("handle", handle, abi::MPI_T_CVAR_HANDLE_NULL)
}

/// `MPI_T_cvar_read`.
pub fn t_cvar_read(handle: Raw, buf: *mut c_void) -> Result<()> {
    let control = *ready()?.controls.get(handle).ok_or_else(|| no_handle("control variable"))?;
    if buf.is_null() {
        return Err(null("buf"));
    }
    match control.kind() {
        Kind::Bytes => put(buf.cast(), settings::current()?.memory),
        Kind::Means => {
            let copy = settings::current()?.copy;
            put(buf.cast(), LADDER.iter().position(|means| *means == copy).unwrap_or(0) as c_int);
        }
        Kind::Fixed => put(buf.cast(), control.fixed()),
        Kind::Text => {
            let value = std::env::var(control.name()).unwrap_or_default();
            crate::arguments::write_string("buf", buf.cast(), TEXT, &value)?;
        }
    }
    Ok(())
}

/// `MPI_T_cvar_write`.
pub fn t_cvar_write(handle: Raw, buf: *const c_void) -> Result<()> {
    let control = *ready()?.controls.get(handle).ok_or_else(|| no_handle("control variable"))?;
    if buf.is_null() {
        return Err(null("buf"));
    }
    let never = |why: &str| Err(error(abi::MPI_T_ERR_CVAR_SET_NEVER, format!("{} {why}", control.name())));
    if matches!(control.kind(), Kind::Text | Kind::Fixed) {
        return never("cannot be written");
    }
    if engine::page().is_some() {
        return never("can be written only before MPI starts");
    }
    match control.kind() {
        Kind::Bytes => {
            // SAFETY: MPI says that a value of the variable's type is there.
            let bytes = unsafe { buf.cast::<u64>().read() };
            settings::choose(|chosen| chosen.memory = Some(bytes));
        }
        _ => {
            // SAFETY: as above.
            let value = unsafe { buf.cast::<c_int>().read() };
            let means = usize::try_from(value).ok().and_then(|value| LADDER.get(value));
            let means = means
                .ok_or_else(|| error(abi::MPI_T_ERR_INVALID, format!("{value} is no means of copying")))?;
            settings::choose(|chosen| chosen.copy = Some(*means));
        }
    }
    Ok(())
}
