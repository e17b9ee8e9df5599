//! The variables of the environment that the standard names (OpenSHMEM 1.6 chapter 8); each also with the old prefix `SMA_`.

use serried_engine::{Class, Engine, Error, Result};

/// What the variables say.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `SHMEM_VERSION` is set.
    version: bool,
    /// `SHMEM_INFO` is set.
    info: bool,
    /// `SHMEM_DEBUG` is set.
    debug: bool,
    /// `SHMEM_SYMMETRIC_SIZE` in bytes.
    pub symmetric_size: Option<usize>,
}

const HELP: &str = "\
serried: variables of OpenSHMEM (each may also begin with SMA_ instead of SHMEM_):
  SHMEM_VERSION          anything: print the version at the start
  SHMEM_INFO             anything: print this text at the start
  SHMEM_SYMMETRIC_SIZE   the most that the symmetric heap may have, such as 512m or 1.5g (k, m, g, t); without it the
                         heap grows as it is needed, and takes memory only where it is used
  SHMEM_DEBUG            anything: say at the start how the symmetric memory of each PE is reached";

fn variable(name: &str) -> Option<String> {
    let read = |prefix: &str| std::env::var(format!("{prefix}{name}")).ok();
    read("SHMEM_").or_else(|| read("SMA_"))
}

/// Reads them.
///
/// # Errors
/// `Arg` for a size that is none.
pub fn read() -> Result<Settings> {
    let is_set = |name| variable(name).is_some();
    let symmetric_size = variable("SYMMETRIC_SIZE").map(|text| size(&text)).transpose()?;
    Ok(Settings { version: is_set("VERSION"), info: is_set("INFO"), debug: is_set("DEBUG"), symmetric_size })
}

/// A size with an optional factor: `20m`, `3.1G`.
fn size(text: &str) -> Result<usize> {
    let text = text.trim();
    let factor = |letter: char| match letter.to_ascii_lowercase() {
        'k' => Some(1u64 << 10),
        'm' => Some(1 << 20),
        'g' => Some(1 << 30),
        't' => Some(1 << 40),
        _ => None,
    };
    let (number, factor) = match text.chars().last().and_then(factor) {
        Some(factor) => (&text[..text.len() - 1], factor),
        None => (text, 1),
    };
    let is_number = number.chars().all(|sign| sign.is_ascii_digit() || sign == '.');
    let bytes =
        number.parse::<f64>().ok().filter(|_| is_number).map(|number| (number * factor as f64).ceil());
    match bytes.filter(|&bytes| bytes > 0.0 && bytes < (1u64 << 62) as f64) {
        Some(bytes) => Ok(bytes as usize),
        None => Err(Error::new(
            Class::Arg,
            format!("SHMEM_SYMMETRIC_SIZE is `{text}`; it must be a size such as 1073741824, 512m or 1.5g"),
        )),
    }
}

/// Prints what they ask for: PE 0 alone what is the same everywhere.
pub fn tell(settings: &Settings, engine: &Engine) {
    let me = engine.rank();
    if settings.version && me == 0 {
        println!("serried {}: OpenSHMEM 1.6", env!("CARGO_PKG_VERSION"));
    }
    if settings.info && me == 0 {
        println!("{HELP}");
    }
    if settings.debug {
        let far: Vec<String> =
            (0..engine.size()).filter(|&pe| !engine.reaches(pe)).map(|pe| pe.to_string()).collect();
        let how = match far.is_empty() {
            true => "the memory of all PEs is reached without their help".to_owned(),
            false => format!("PEs {} have to help: `serried info --pairs` says why", far.join(", ")),
        };
        eprintln!("serried: PE {me} of {}: {how}", engine.size());
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_read_as_the_standard_says_and_all_else_is_refused() {
        assert_eq!(size("20m").unwrap(), 20_971_520);
        assert_eq!(size("3.1m").unwrap(), 3_250_586);
        assert_eq!(
            (size("4096").unwrap(), size("1K").unwrap(), size(" 2g ").unwrap()),
            (4096, 1024, 2 << 30)
        );
        for wrong in ["", "m", "20kk", "-5", "1e9", "12x", "0", "nan", "inf"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
