//! Balanced grids (MPI-5.0 §8.5.2).

use crate::{Class, Error, Result};

/// `MPI_Dims_create`: replaces the zeros of `dims` so that the product is
/// `nodes`. The new extents are as near to each other as they can be and do not
/// increase.
///
/// # Errors
/// `Dims` when `nodes` is not positive, an extent is negative, or the given
/// extents do not divide `nodes`.
pub fn dims_create(nodes: i32, dims: &mut [i32]) -> Result<()> {
    if nodes <= 0 {
        return Err(Error::new(
            Class::Dims,
            format!("a grid of {nodes} processes: there must be at least 1"),
        ));
    }
    let mut given: i64 = 1;
    for (dimension, &extent) in dims.iter().enumerate() {
        if extent < 0 {
            return Err(Error::new(
                Class::Dims,
                format!("the extent of dimension {dimension} is {extent}; 0 lets it be chosen"),
            ));
        }
        given = given.saturating_mul(i64::from(extent.max(1)));
    }
    let nodes = i64::from(nodes);
    let free = dims.iter().filter(|&&extent| extent == 0).count();
    if nodes % given != 0 || (free == 0 && nodes != given && !dims.is_empty()) {
        return Err(Error::new(
            Class::Dims,
            format!("{nodes} processes cannot fill a grid whose given extents make {given}"),
        ));
    }
    let extents = balance(nodes / given, free);
    for (extent, chosen) in dims.iter_mut().filter(|extent| **extent == 0).zip(extents) {
        *extent = chosen as i32;
    }
    Ok(())
}

/// `product` in `count` factors that do not increase, with the smallest difference between the
/// largest and the smallest, then the smallest sum, then the largest first factor (see
/// `docs/decisions/0020-grids-with-the-smallest-difference.md`).
fn balance(product: i64, count: usize) -> Vec<i64> {
    let divisors = divisors(product);
    let mut search = Search { divisors, chosen: Vec::new(), best: (i64::MAX, 0), factors: Vec::new() };
    if count > 0 {
        search.go(product, count, 0);
    }
    search.factors
}

struct Search {
    /// Ascending.
    divisors: Vec<i64>,
    chosen: Vec<i64>,
    /// Largest less smallest, and sum.
    best: (i64, i64),
    /// The factors that are so.
    factors: Vec<i64>,
}

impl Search {
    fn go(&mut self, product: i64, count: usize, sum: i64) {
        // The smallest factor is not above the mean: nothing nearer than this can be found.
        let mean = (product as f64).powf(1.0 / count as f64);
        let first = self.chosen.first().copied();
        if first.is_some_and(|first| first as f64 - mean > self.best.0 as f64 + 1e-6) {
            return;
        }
        let largest = self.chosen.last().copied().unwrap_or(product);
        if count == 1 {
            let found = (first.map_or(0, |first| first - product), sum + product);
            if product <= largest && found <= self.best {
                self.best = found;
                self.factors = self.chosen.iter().copied().chain([product]).collect();
            }
            return;
        }
        let at_least = (mean - 1e-6).ceil() as i64;
        let from = self.divisors.partition_point(|&divisor| divisor < at_least);
        for place in from..self.divisors.len() {
            let factor = self.divisors[place];
            if factor > largest || factor > product {
                break;
            }
            if product % factor == 0 {
                self.chosen.push(factor);
                self.go(product / factor, count - 1, sum + factor);
                self.chosen.pop();
            }
        }
    }
}

fn divisors(number: i64) -> Vec<i64> {
    let roots = (1..).take_while(|divisor| divisor * divisor <= number);
    let low: Vec<i64> = roots.filter(|divisor| number % divisor == 0).collect();
    let high = low.iter().rev().map(|divisor| number / divisor).filter(|&high| high * high > number);
    low.iter().copied().chain(high).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(nodes: i32, dims: &[i32]) -> Vec<i32> {
        let mut dims = dims.to_vec();
        dims_create(nodes, &mut dims).unwrap();
        dims
    }

    #[test]
    fn the_examples_of_the_standard() {
        assert_eq!(filled(6, &[0, 0]), [3, 2]);
        assert_eq!(filled(7, &[0, 0]), [7, 1]);
        assert_eq!(filled(6, &[0, 3, 0]), [2, 3, 1]);
        let error = dims_create(7, &mut [0, 3, 0]).unwrap_err();
        assert_eq!(error.class(), Class::Dims);
    }

    #[test]
    fn grids_are_balanced() {
        assert_eq!(filled(64, &[0; 3]), [4, 4, 4]);
        assert_eq!(filled(60, &[0; 3]), [5, 4, 3]);
        assert_eq!(filled(72, &[0; 4]), [4, 3, 3, 2]);
        assert_eq!(filled(360, &[0; 3]), [10, 6, 6]);
        assert_eq!(filled(1008, &[0; 3]), [12, 12, 7]);
        assert_eq!(filled(55_440, &[0; 3]), [44, 36, 35]);
        // As near as possible, though other extents have a smaller sum.
        assert_eq!(filled(76_908, &[0; 3]), [52, 51, 29]);
        assert_eq!(filled(35_200, &[0; 3]), [40, 40, 22]);
        assert_eq!(filled(50_820, &[0; 4]), [21, 20, 11, 11]);
        assert_eq!(filled(720_720, &[0; 5]), [20, 18, 14, 13, 11]);
        assert_eq!(filled(1, &[0; 5]), [1; 5]);
        assert_eq!(filled(2_147_483_647, &[0; 3]), [2_147_483_647, 1, 1]);
        assert_eq!(filled(2_095_133_040, &[0; 2]), [46_189, 45_360]);
        assert_eq!(filled(735_134_400, &[0; 5]).iter().product::<i32>(), 735_134_400);
        assert_eq!(filled(5, &[]), []);
    }

    #[test]
    fn impossible_grids_are_errors() {
        for (nodes, dims) in [(0, [0, 0]), (-4, [0, 0]), (4, [-1, 0]), (4, [2, 3]), (4, [3, 0])] {
            assert_eq!(dims_create(nodes, &mut dims.clone()).unwrap_err().class(), Class::Dims);
        }
    }

    #[test]
    fn the_worst_products_are_found_at_once() {
        let began = std::time::Instant::now();
        for count in 1..=24 {
            filled(2_095_133_040, &vec![0; count]);
            filled(2_147_483_640, &vec![0; count]);
            filled(1 << 30, &vec![0; count]);
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(10));
    }

    #[test]
    fn every_product_is_right_and_does_not_increase() {
        for nodes in 1..400 {
            for count in 1..6 {
                let dims = filled(nodes, &vec![0; count]);
                assert_eq!(dims.iter().product::<i32>(), nodes);
                assert!(dims.windows(2).all(|pair| pair[0] >= pair[1]));
            }
        }
    }
}
