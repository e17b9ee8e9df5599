//! Values of options: numbers, times, words.

use serried_engine::settings;
use std::time::Duration;

/// A number of things, at least one.
///
/// # Errors
/// A sentence for the user.
pub fn count(option: &str, what: &str, text: &str) -> Result<u32, String> {
    const MOST: u32 = 65_536;
    match text.parse::<u32>() {
        Ok(ranks) if (1..=MOST).contains(&ranks) => Ok(ranks),
        _ => Err(format!("{option} {text}: the number of {what} must be from 1 to {MOST}")),
    }
}

/// A time in seconds, for `--timeout` and `MPIEXEC_TIMEOUT`.
///
/// # Errors
/// A sentence for the user.
pub fn seconds(option: &str, text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds < 1e9 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("{option} {text}: the time must be a positive number of seconds")),
    }
}

/// By how many percent sleeping may slow a job down.
///
/// # Errors
/// A sentence for the user.
pub fn percent(option: &str, text: &str) -> Result<String, String> {
    match settings::percent(text) {
        Some(percent) => Ok(percent.to_string()),
        None => Err(format!("{option} {text}: a number of percent from 0 to 100 is wanted, such as 5")),
    }
}

/// One of MPI's own error handlers.
///
/// # Errors
/// A sentence for the user.
pub fn error_handler(option: &str, name: String) -> Result<String, String> {
    match settings::ERROR_HANDLERS.contains(&name.as_str()) {
        true => Ok(name),
        false => Err(format!("{option} {name}: one of {} is wanted", settings::ERROR_HANDLERS.join(", "))),
    }
}

/// How often to start a job again.
///
/// # Errors
/// A sentence for the user.
pub fn restarts(option: &str, text: &str) -> Result<u32, String> {
    const MOST: u32 = 1000;
    match text.parse::<u32>() {
        Ok(times) if times <= MOST => Ok(times),
        _ => Err(format!("{option} {text}: the number of restarts must be from 0 to {MOST}")),
    }
}

/// Whether `--library-path` says that the path is to be left alone.
///
/// # Errors
/// A sentence for the user.
pub fn keep_library_path(text: &str) -> Result<bool, String> {
    match text {
        "keep" => Ok(true),
        "serried" => Ok(false),
        _ => Err(format!("--library-path {text}: known are keep and serried")),
    }
}
