//! Reductions as formulas for devices: along the tree of all others, so the bits are the same.

use super::tree::{Folded, Parts, Plan, Prefix};
use crate::device::computing::{Formula, Step, Term};

/// What so many ranks combine; operands are theirs, by rank.
pub fn of_all(size: u32) -> Formula {
    let mut made = Making::default();
    made.add(Folded::new(size, 0), Folded::new(size, 0).top());
    made.finish()
}

/// What the ranks up to one combine in a scan.
pub fn of_prefix(last: u32) -> Formula {
    let mut made = Making::default();
    made.add(Prefix(last), Prefix(last).top());
    made.finish()
}

/// A formula that is being made.
#[derive(Default)]
struct Making {
    steps: Vec<Step>,
    /// How many places there are, and which of them nobody needs any more.
    between: usize,
    free: Vec<usize>,
}

impl Making {
    /// The steps below a node of a tree; where what comes of them is.
    fn add<P: Plan>(&mut self, plan: P, node: P::Node) -> Term {
        match plan.parts(node) {
            Parts::Rank(rank) => Term::Operand(rank as usize),
            Parts::Both(left, right) => {
                let (left, right) = (self.add(plan, left), self.add(plan, right));
                for term in [left, right] {
                    if let Term::Between(place) = term {
                        self.free.push(place);
                    }
                }
                let place = self.free.pop().unwrap_or_else(|| {
                    self.between += 1;
                    self.between - 1
                });
                self.steps.push(Step { left, right, to: Some(place) });
                Term::Between(place)
            }
        }
    }

    /// The last step gives the result.
    fn finish(mut self) -> Formula {
        if let Some(last) = self.steps.last_mut() {
            last.to = None;
        }
        let between = self.steps.iter().filter_map(|step| step.to).max().map_or(0, |last| last + 1);
        Formula { steps: self.steps, between }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a formula comes to, in words; each place is read before it is written again.
    fn in_words(formula: &Formula) -> String {
        let mut between = vec![String::new(); formula.between];
        let mut result = "0".to_owned();
        for step in &formula.steps {
            let word = |term| match term {
                Term::Operand(rank) => format!("{rank}"),
                Term::Between(place) => between[place].clone(),
            };
            let made = format!("({}+{})", word(step.left), word(step.right));
            match step.to {
                Some(place) => between[place] = made,
                None => result = made,
            }
        }
        result
    }

    #[test]
    fn formulas_are_the_tree() {
        assert_eq!(in_words(&of_all(2)), "(0+1)");
        assert_eq!(in_words(&of_all(3)), "((0+1)+2)");
        assert_eq!(in_words(&of_all(6)), "(((0+1)+(2+3))+(4+5))");
        assert_eq!(in_words(&of_all(8)), "(((0+1)+(2+3))+((4+5)+(6+7)))");
        assert_eq!(in_words(&of_prefix(0)), "0");
        assert_eq!(in_words(&of_prefix(2)), "(0+(1+2))");
        assert_eq!(of_all(64).between, 6, "a place for each level but the last");
    }
}
