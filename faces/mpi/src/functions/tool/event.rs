//! Event types, instances and their source (MPI-5.0 §15.3.8).

use super::enumeration::{Enumeration, CALLS};
use super::listening;
use super::{entry, error, no_index, no_name, null, put, put_text, ready, Raw};
use crate::arguments::{read_string, OutArray, OutCount, OutValue};
use crate::handle::INFOS;
use crate::{abi, objects};
use serried_engine::observe::events::{Event, Kind};
use serried_engine::progress::clock;
use serried_engine::Result;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// The type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Int,
    Number,
}

/// A type of event.
pub struct EventType {
    /// Its name.
    pub name: &'static str,
    /// What the engine calls it.
    pub kind: Kind,
    description: &'static str,
    /// In the order of the engine's values.
    elements: &'static [Element],
    words: Option<&'static Enumeration>,
}

/// All of them, by the numbers of the engine's kinds.
pub static EVENTS: [EventType; 6] = [
    EventType {
        name: "unexpected_message",
        kind: Kind::Unexpected,
        description: "a message has come that nobody has asked for: source, tag, bytes, how many wait now",
        elements: &[Element::Int, Element::Int, Element::Number, Element::Number],
        words: None,
    },
    EventType {
        name: "rendezvous",
        kind: Kind::Rendezvous,
        description:
            "a receive takes a message from where its sender left it: sender's rank in the job, bytes",
        elements: &[Element::Int, Element::Number],
        words: None,
    },
    EventType {
        name: "sleep",
        kind: Kind::Sleep,
        description: "this rank goes to sleep: how often it has, with this time",
        elements: &[Element::Number],
        words: None,
    },
    EventType {
        name: "wake",
        kind: Kind::Wake,
        description: "a wait that became a sleep is over: its nanoseconds",
        elements: &[Element::Number],
        words: None,
    },
    EventType {
        name: "collective",
        kind: Kind::Collective,
        description: "a collective call has begun: which call",
        elements: &[Element::Int],
        words: Some(&CALLS),
    },
    EventType {
        name: "error",
        kind: Kind::Error,
        description: "a call has failed: which call, class of the error",
        elements: &[Element::Int, Element::Int],
        words: Some(&CALLS),
    },
];

impl Element {
    fn bytes(self) -> usize {
        match self {
            Element::Int => size_of::<c_int>(),
            Element::Number => size_of::<u64>(),
        }
    }

    fn datatype(self) -> abi::Handle {
        match self {
            Element::Int => abi::MPI_INT,
            Element::Number => abi::MPI_UNSIGNED_LONG_LONG,
        }
    }

    /// Writes a value of this type.
    fn write(self, place: *mut u8, value: u64) {
        match self {
            // SAFETY: MPI says that there is room; any alignment will do.
            Element::Int => unsafe { place.cast::<c_int>().write_unaligned(value as c_int) },
            // SAFETY: as above.
            Element::Number => unsafe { place.cast::<u64>().write_unaligned(value) },
        }
    }
}

impl EventType {
    /// Of what has happened.
    pub fn of(kind: Kind) -> &'static EventType {
        &EVENTS[kind as usize]
    }

    /// Where each element lies in a copy: as a C compiler would have it.
    fn displacements(&self) -> Vec<usize> {
        let mut next = 0usize;
        let place = |element: &Element| {
            let place = next.next_multiple_of(element.bytes());
            next = place + element.bytes();
            place
        };
        self.elements.iter().map(place).collect()
    }
}

/// `MPI_T_event_get_num`.
pub fn t_event_get_num(num_events: OutValue<c_int>) -> Result<()> {
    let _tool = ready()?;
    num_events.set(EVENTS.len() as c_int);
    Ok(())
}

/// `MPI_T_event_get_index`.
pub fn t_event_get_index(name: *const c_char, event_index: OutValue<c_int>) -> Result<()> {
    let _tool = ready()?;
    let name = read_string("name", name)?;
    let place = EVENTS.iter().position(|event| event.name == name);
    event_index.set(place.ok_or_else(|| no_name("event", &name))? as c_int);
    Ok(())
}

/// `MPI_T_event_get_info`: `num_elements` goes in as the length of the two
/// arrays and comes out as the number of elements.
#[allow(clippy::too_many_arguments)] // MPI's own
pub fn t_event_get_info(
    event_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    array_of_datatypes: *mut c_void,
    array_of_displacements: OutArray<i64>,
    num_elements: *mut c_int,
    enumtype: Raw,
    info: *mut c_void,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
) -> Result<()> {
    let _tool = ready()?;
    let event = entry("event", &EVENTS, event_index)?;
    // SAFETY: MPI says that it is null or can be read and written.
    let room = if num_elements.is_null() { 0 } else { unsafe { num_elements.read() }.max(0) as usize };
    let types = array_of_datatypes.cast::<abi::Handle>();
    for (place, (element, displacement)) in
        event.elements.iter().zip(event.displacements()).take(room).enumerate()
    {
        if !types.is_null() {
            // SAFETY: the array is as long as `num_elements` says.
            unsafe { types.add(place).write(element.datatype()) };
        }
        if !array_of_displacements.address().is_null() {
            array_of_displacements.set(place, displacement as i64)?;
        }
    }
    put(num_elements, event.elements.len() as c_int);
    put(verbosity, abi::MPI_T_VERBOSITY_USER_DETAIL);
    put(enumtype.cast::<Raw>(), event.words.map_or(abi::MPI_T_ENUM_NULL, |words| words.handle()));
    put(bind, abi::MPI_T_BIND_NO_OBJECT);
    put_info(info)?;
    put_text(event.name, name, name_len)?;
    put_text(event.description, desc, desc_len)
}

/// An info object without hints, which the tool frees.
fn put_info(place: *mut c_void) -> Result<()> {
    if !place.is_null() {
        put(place.cast(), INFOS.put(Arc::new(objects::Info::default()))?);
    }
    Ok(())
}

/// What is in hand in a callback.
fn instance(event_instance: Raw) -> Result<Event> {
    listening::current(event_instance).ok_or_else(|| {
        error(
            abi::MPI_T_ERR_INVALID_HANDLE,
            "an event instance is valid only within the callback that got it",
        )
    })
}

/// `MPI_T_event_read`.
pub fn t_event_read(event_instance: Raw, element_index: c_int, buffer: *mut c_void) -> Result<()> {
    let _tool = ready()?;
    let event = instance(event_instance)?;
    let elements = EventType::of(event.kind).elements;
    let place = usize::try_from(element_index).ok().filter(|place| *place < elements.len());
    let place = place.ok_or_else(|| no_index("element of this event", element_index))?;
    if buffer.is_null() {
        return Err(null("buffer"));
    }
    elements[place].write(buffer.cast(), event.values[place]);
    Ok(())
}

/// `MPI_T_event_copy`: all elements, each at its displacement.
pub fn t_event_copy(event_instance: Raw, buffer: *mut c_void) -> Result<()> {
    let _tool = ready()?;
    let event = instance(event_instance)?;
    if buffer.is_null() {
        return Err(null("buffer"));
    }
    let of_type = EventType::of(event.kind);
    for ((element, displacement), value) in
        of_type.elements.iter().zip(of_type.displacements()).zip(event.values)
    {
        element.write(buffer.cast::<u8>().wrapping_add(displacement), value);
    }
    Ok(())
}

/// `MPI_T_event_get_timestamp`.
pub fn t_event_get_timestamp(event_instance: Raw, event_timestamp: OutCount) -> Result<()> {
    let _tool = ready()?;
    event_timestamp.set(instance(event_instance)?.time as i64);
    Ok(())
}

/// `MPI_T_event_get_source`.
pub fn t_event_get_source(event_instance: Raw, source_index: OutValue<c_int>) -> Result<()> {
    let _tool = ready()?;
    instance(event_instance)?;
    source_index.set(0);
    Ok(())
}

fn source(source_index: c_int) -> Result<()> {
    (source_index == 0).then_some(()).ok_or_else(|| no_index("source of events", source_index))
}

/// `MPI_T_source_get_num`: this rank is the only one.
pub fn t_source_get_num(num_sources: OutValue<c_int>) -> Result<()> {
    let _tool = ready()?;
    num_sources.set(1);
    Ok(())
}

/// `MPI_T_source_get_info`. Threads may note events out of order.
#[allow(clippy::too_many_arguments)] // MPI's own
pub fn t_source_get_info(
    source_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    desc: *mut c_char,
    desc_len: *mut c_int,
    ordering: *mut c_void,
    ticks_per_second: *mut c_void,
    max_ticks: *mut c_void,
    info: *mut c_void,
) -> Result<()> {
    let _tool = ready()?;
    source(source_index)?;
    put(ordering.cast::<c_int>(), abi::MPI_T_SOURCE_UNORDERED);
    put(ticks_per_second.cast::<i64>(), 1_000_000_000);
    put(max_ticks.cast::<i64>(), i64::MAX);
    put_info(info)?;
    put_text("rank", name, name_len)?;
    put_text("this rank; the clock is that of MPI_Wtime, in nanoseconds", desc, desc_len)
}

/// `MPI_T_source_get_timestamp`.
pub fn t_source_get_timestamp(source_index: c_int, timestamp: OutCount) -> Result<()> {
    let _tool = ready()?;
    source(source_index)?;
    timestamp.set(clock::nanoseconds() as i64);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_stand_at_the_numbers_of_their_kinds() {
        for (place, event) in EVENTS.iter().enumerate() {
            assert_eq!(event.kind as usize, place);
            assert!((1..=4).contains(&event.elements.len()));
        }
        assert_eq!(EVENTS[0].displacements(), [0, 4, 8, 16]);
        assert_eq!(EVENTS[1].displacements(), [0, 8]);
    }
}
