//! malloc for programs that load an MPI library while they run (Python): the
//! launcher preloads this library, which is harmless in any other process.
//! Programs that are linked with an MPI library of ours have the same functions
//! from there.

#[cfg(target_env = "gnu")]
mod symbols;

/// The launcher's preload is for this process, not for its children.
extern "C" fn at_load() {
    let Some(old) = std::env::var_os("LD_PRELOAD") else { return };
    let old = old.to_string_lossy().into_owned();
    let kept: Vec<&str> = old
        .split([':', ' '])
        .filter(|entry| !entry.is_empty() && !entry.ends_with("libserried_malloc.so"))
        .collect();
    match kept.is_empty() {
        true => std::env::remove_var("LD_PRELOAD"),
        false => std::env::set_var("LD_PRELOAD", kept.join(":")),
    }
}

#[used]
#[link_section = ".init_array"]
static AT_LOAD: extern "C" fn() = at_load;
