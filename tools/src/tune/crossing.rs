//! Where a crossover lies, by the times of both ways at some lengths.

/// What was measured at a length: seconds of the way below and of the way beyond.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Bytes.
    pub length: u64,
    /// Of the way below.
    pub below: f64,
    /// Of the way beyond.
    pub beyond: f64,
}

/// Differences below this are noise: a crossover stays where it is for less, as a mean over the lengths that change their way.
const WORTH: f64 = 0.03;

/// How many of the lengths had better go the way below, if so many do now. Those are the first ones; so it is a matter of
/// where the sum of what is lost is least.
pub fn best(points: &[Point], now: usize) -> usize {
    // Logarithms, so that a tenth of a short time counts as a tenth of a long one.
    let losses: Vec<f64> = points.iter().map(|point| (point.beyond / point.below).ln()).collect();
    // What is lost against the first way by all: beyond the crossover the difference of the two.
    let lost = |below: usize| losses[below..].iter().sum::<f64>();
    let best = (0..=points.len()).min_by(|&one, &other| lost(one).total_cmp(&lost(other))).unwrap_or(now);
    let changed = best.abs_diff(now);
    match lost(now) - lost(best) > WORTH * changed as f64 {
        true => best,
        false => now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(times: &[(f64, f64)]) -> Vec<Point> {
        let point =
            |(index, &(below, beyond)): (usize, &(f64, f64))| Point { length: 100 << index, below, beyond };
        times.iter().enumerate().map(point).collect()
    }

    #[test]
    fn it_lies_where_the_lines_cross() {
        let crossing = points(&[(1.0, 2.0), (2.0, 2.5), (4.0, 3.0), (8.0, 4.0)]);
        assert_eq!([0, 1, 2, 3, 4].map(|now| best(&crossing, now)), [2; 5]);
        let below = points(&[(1.0, 2.0), (2.0, 3.0)]);
        assert_eq!(best(&below, 1), 2);
        let beyond = points(&[(2.0, 1.0), (4.0, 3.0)]);
        assert_eq!(best(&beyond, 1), 0);
    }

    #[test]
    fn noise_moves_nothing() {
        let even = points(&[(1.0, 1.01), (2.0, 1.99), (4.0, 4.02), (8.0, 7.9)]);
        assert_eq!([0, 2, 4].map(|now| best(&even, now)), [0, 2, 4]);
        let spike = points(&[(1.0, 1.5), (2.0, 1.9), (4.0, 5.0), (8.0, 4.0)]);
        assert_eq!(best(&spike, 3), 3, "one length that differs among those that do not");
    }
}
