//! Numbers as people read them, in few letters.

/// Bytes with a binary unit: at most eight letters.
pub fn bytes(count: f64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (value, unit) = scaled(count, 1024.0, UNITS.len());
    format!("{} {}", short(value, unit), UNITS[unit])
}

/// A number with a decimal prefix: at most six letters.
pub fn count(count: f64) -> String {
    const PREFIXES: [&str; 6] = ["", "k", "M", "G", "T", "P"];
    let (value, unit) = scaled(count, 1000.0, PREFIXES.len());
    format!("{}{}", short(value, unit), PREFIXES[unit])
}

fn scaled(count: f64, base: f64, units: usize) -> (f64, usize) {
    let (mut value, mut unit) = (count, 0);
    while value >= 999.5 && unit + 1 < units {
        value /= base;
        unit += 1;
    }
    (value, unit)
}

fn short(value: f64, unit: usize) -> String {
    match unit {
        0 if value >= 10.0 || value == value.trunc() => format!("{value:.0}"),
        _ if value < 9.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A length of time: at most eight letters below a hundred hours.
pub fn duration(seconds: f64) -> String {
    let whole = seconds as u64;
    match seconds {
        s if s < 0.001 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{}:{:02}", whole / 60, whole % 60),
        _ => format!("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60),
    }
}

/// A part of one, in percent: at most four letters.
pub fn percent(part: f64) -> String {
    format!("{:.0}%", (part * 100.0).clamp(0.0, 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_right() {
        assert_eq!([0.0, 1023.0, 1536.0, 20e9].map(bytes), ["0 B", "1.0 KiB", "1.5 KiB", "19 GiB"]);
        assert_eq!(
            [0.4, 7.0, 999.0, 1000.0, 12345.0, 9.4e6].map(count),
            ["0.4", "7", "999", "1.0k", "12k", "9.4M"]
        );
        assert_eq!(
            [0.0002, 0.25, 4.0, 62.0, 3700.0].map(duration),
            ["200 us", "250 ms", "4.0 s", "1:02", "1:01:40"]
        );
        assert_eq!([0.0, 0.505, 1.2].map(percent), ["0%", "50%", "100%"]);
    }
}
