//! What is told of a crossover: both ways at each length, and what came of it.

use super::crossing::Point;
use super::probes::Probe;
use crate::system::host_name;

/// Tells what was measured for a crossover.
pub fn tell(probe: &Probe, points: &[Point], found: u32) {
    let crossover = probe.crossover;
    let moved = if found == crossover.default { "stays" } else { "moves" };
    println!("{}: {}", crossover.name, probe.name());
    println!("  {moved} at {} (default {})", size(u64::from(found)), size(u64::from(crossover.default)));
    let row = |name: &str, of: &dyn Fn(&Point) -> String| {
        let cells: String = points.iter().map(|point| format!("{:>9}", of(point))).collect();
        println!("  {name:>8}{cells}");
    };
    row("bytes", &|point| size(point.length));
    row("below", &|point| micros(point.below));
    row("beyond", &|point| micros(point.beyond));
    println!("  below: {}; beyond: {}\n", crossover.below, crossover.beyond);
}

/// The machine, for the head of the file.
pub fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let processor = processor.map_or("an unknown processor", |(_, name)| name.trim());
    format!(
        "Made by `serried tune` of Serried {} on {}, {processor}.\nBytes up to which one way is taken, and another one beyond; \
         what is not here is as Serried has it.",
        env!("CARGO_PKG_VERSION"),
        host_name()
    )
}

/// Bytes in the unit that people use.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..10_240 => format!("{bytes}"),
        10_240..10_485_760 => format!("{:.0}K", bytes as f64 / 1024.0),
        _ => format!("{:.0}M", bytes as f64 / 1_048_576.0),
    }
}

fn micros(seconds: f64) -> String {
    match seconds * 1e6 {
        short if short < 100.0 => format!("{short:.2}"),
        long => format!("{long:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_times_are_short() {
        assert_eq!([8, 3071, 32 << 10, 100 << 20].map(size), ["8", "3071", "32K", "100M"]);
        assert_eq!([0.5e-6, 1234e-6].map(micros), ["0.50", "1234"]);
        assert!(machine().lines().count() == 2);
    }
}
