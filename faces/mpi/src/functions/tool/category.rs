//! Categories (MPI-5.0 §15.3.9): a small tree that never changes.

use super::event::EVENTS;
use super::variables::VARIABLES;
use super::{control, entry, no_name, put, put_text, ready};
use crate::arguments::{read_string, OutArray, OutValue};
use serried_engine::tuning;
use serried_engine::Result;
use std::ffi::{c_char, c_int};

/// A category, with the names of what is in it.
struct Category {
    name: &'static str,
    description: &'static str,
    categories: &'static [&'static str],
    controls: &'static [&'static str],
    variables: &'static [&'static str],
    events: &'static [&'static str],
}

const CROSSOVERS: &str = "crossovers";

static CATEGORIES: [Category; 9] = [
    Category {
        name: "serried",
        description: "everything",
        categories: &["messages", "waiting", "collectives", "files", "devices", "job"],
        controls: &[],
        variables: &[],
        events: &[],
    },
    Category {
        name: "messages",
        description: "messages, and those that nobody has asked for yet",
        categories: &["copying", "crossovers"],
        controls: &["SERRIED_MEMORY", "eager_bytes"],
        variables: &[
            "messages_sent",
            "bytes_sent",
            "messages_received",
            "bytes_received",
            "unexpected_messages",
            "unexpected_messages_peak",
            "bytes_kept",
            "bytes_aside",
        ],
        events: &["unexpected_message", "rendezvous"],
    },
    Category {
        name: "files",
        description: "what goes to file systems and comes from them",
        categories: &[],
        controls: &[],
        variables: &[
            "file_bytes_read",
            "file_bytes_written",
            "file_reads",
            "file_writes",
            "file_nanoseconds",
        ],
        events: &[],
    },
    Category {
        name: "copying",
        description: "by what means the bytes of messages move",
        categories: &[],
        controls: &["SERRIED_COPY"],
        variables: &[
            "bytes_inline",
            "bytes_cells",
            "bytes_cross_memory",
            "bytes_memory_file",
            "bytes_direct",
        ],
        events: &[],
    },
    Category {
        name: CROSSOVERS,
        description: "lengths at which ways of moving bytes change",
        categories: &[],
        controls: &[], // all of them
        variables: &[],
        events: &[],
    },
    Category {
        name: "waiting",
        description: "waits that became sleeps",
        categories: &[],
        controls: &[],
        variables: &["sleeps", "waiting_nanoseconds", "idle_polls"],
        events: &["sleep", "wake"],
    },
    Category {
        name: "collectives",
        description: "collective operations",
        categories: &[],
        controls: &["SERRIED_CHECK"],
        variables: &["collectives"],
        events: &["collective"],
    },
    Category {
        name: "devices",
        description: "buffers in the memory of GPUs",
        categories: &[],
        controls: &["SERRIED_GPU"],
        variables: &["bytes_device", "bytes_device_mapped", "bytes_device_combined"],
        events: &[],
    },
    Category {
        name: "job",
        description: "the job and its launcher",
        categories: &[],
        controls: &[], // all that is in no other
        variables: &["state", "ranks"],
        events: &["error"],
    },
];

fn find(cat_index: c_int) -> Result<&'static Category> {
    entry("category", &CATEGORIES, cat_index)
}

/// The places in a table of what bears one of these names.
fn places(table: impl Iterator<Item = &'static str>, names: &[&str]) -> Vec<c_int> {
    table.enumerate().filter(|(_, name)| names.contains(name)).map(|(place, _)| place as c_int).collect()
}

impl Category {
    fn categories(&self) -> Vec<c_int> {
        places(CATEGORIES.iter().map(|category| category.name), self.categories)
    }

    fn controls(&self) -> Vec<c_int> {
        let crossovers = tuning::ALL.map(|crossover| crossover.name);
        match self.name {
            "job" => {
                let named = CATEGORIES.iter().flat_map(|category| category.controls).copied();
                control::all_but(&named.chain(crossovers).collect::<Vec<_>>())
            }
            CROSSOVERS => control::places(&crossovers),
            _ => control::places(self.controls),
        }
    }

    fn variables(&self) -> Vec<c_int> {
        places(VARIABLES.iter().map(|variable| variable.name), self.variables)
    }

    fn events(&self) -> Vec<c_int> {
        places(EVENTS.iter().map(|event| event.name), self.events)
    }
}

fn fill(found: &[c_int], len: c_int, indices: OutArray<c_int>) -> Result<()> {
    let room = usize::try_from(len).unwrap_or(0);
    found.iter().take(room).enumerate().try_for_each(|(place, &index)| indices.set(place, index))
}

/// `MPI_T_category_get_num`.
pub fn t_category_get_num(num_cat: OutValue<c_int>) -> Result<()> {
    let _tool = ready()?;
    num_cat.set(CATEGORIES.len() as c_int);
    Ok(())
}

/// `MPI_T_category_get_index`.
pub fn t_category_get_index(name: *const c_char, cat_index: OutValue<c_int>) -> Result<()> {
    let _tool = ready()?;
    let name = read_string("name", name)?;
    let place = CATEGORIES.iter().position(|category| category.name == name);
    cat_index.set(place.ok_or_else(|| no_name("category", &name))? as c_int);
    Ok(())
}

/// `MPI_T_category_get_info`.
#[allow(clippy::too_many_arguments)] // MPI's own
pub fn t_category_get_info(
    cat_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    desc: *mut c_char,
    desc_len: *mut c_int,
    num_cvars: *mut c_int,
    num_pvars: *mut c_int,
    num_categories: *mut c_int,
) -> Result<()> {
    let _tool = ready()?;
    let category = find(cat_index)?;
    put(num_cvars, category.controls().len() as c_int);
    put(num_pvars, category.variables.len() as c_int);
    put(num_categories, category.categories.len() as c_int);
    put_text(category.name, name, name_len)?;
    put_text(category.description, desc, desc_len)
}

/// `MPI_T_category_get_num_events`.
pub fn t_category_get_num_events(cat_index: c_int, num_events: OutValue<c_int>) -> Result<()> {
    let _tool = ready()?;
    num_events.set(find(cat_index)?.events.len() as c_int);
    Ok(())
}

/// `MPI_T_category_get_cvars`.
pub fn t_category_get_cvars(cat_index: c_int, len: c_int, indices: OutArray<c_int>) -> Result<()> {
    let _tool = ready()?;
    fill(&find(cat_index)?.controls(), len, indices)
}

/// `MPI_T_category_get_pvars`.
pub fn t_category_get_pvars(cat_index: c_int, len: c_int, indices: OutArray<c_int>) -> Result<()> {
    let _tool = ready()?;
    fill(&find(cat_index)?.variables(), len, indices)
}

/// `MPI_T_category_get_events`.
pub fn t_category_get_events(cat_index: c_int, len: c_int, indices: OutArray<c_int>) -> Result<()> {
    let _tool = ready()?;
    fill(&find(cat_index)?.events(), len, indices)
}

/// `MPI_T_category_get_categories`.
pub fn t_category_get_categories(cat_index: c_int, len: c_int, indices: OutArray<c_int>) -> Result<()> {
    let _tool = ready()?;
    fill(&find(cat_index)?.categories(), len, indices)
}

/// `MPI_T_category_changed`: never.
pub fn t_category_changed(update_number: OutValue<c_int>) -> Result<()> {
    let _tool = ready()?;
    update_number.set(0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serried_engine::settings::SETTINGS;

    #[test]
    fn everything_is_in_one_category() {
        let count = |of: fn(&Category) -> usize| CATEGORIES.iter().map(of).sum::<usize>();
        assert_eq!(count(|category| category.variables().len()), VARIABLES.len());
        assert_eq!(count(|category| category.events().len()), EVENTS.len());
        assert_eq!(count(|category| category.categories().len()), CATEGORIES.len() - 1);
        assert_eq!(count(|category| category.controls().len()), SETTINGS.len() + 1 + tuning::COUNT);
    }
}
