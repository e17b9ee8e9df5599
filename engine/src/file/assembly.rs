//! Collective writing by stores: the range of all is gone through in windows; in each, every rank stores its pieces
//! where they belong in memory of rank 0, the ranks meet, and rank 0 writes the window while all fill the other one.
//!
//! # Ownership
//! Of a window, before the meeting each rank owns the bytes that it writes; after it, rank 0 owns all, until the next
//! meeting, before which everybody stores into the other window.

use super::access::Access;
use super::failure::agree_with;
use super::opened::File;
use super::source::Source;
use super::team::{Loan, Team};
use crate::Result;
use std::sync::Arc;

/// Memory in which a window is assembled: two windows, in the memory of rank 0.
pub(super) struct Assembly {
    address: u64,
    window: u64,
    /// Of rank 0.
    loan: Option<Box<dyn Loan>>,
}

impl File {
    /// The memory for windows, if all members reach it. They find out together, once.
    pub(super) fn assembly(&self, team: &dyn Team, window: u64) -> Result<Option<Arc<Assembly>>> {
        if let Some(known) = &self.state().assembly {
            return Ok(known.clone());
        }
        let loan = if team.rank() == 0 { team.loan(2 * window as usize) } else { None };
        let mut told = [loan.as_ref().map_or(0, |loan| loan.address() as u64), window];
        team.tell(0, &mut told)?;
        let [address, window] = told;
        // SAFETY: nothing is written.
        let reached = address != 0
            && (team.rank() == 0 || unsafe { team.fill(0, (address, 2 * window), &mut |_| ()) });
        let all = team.gather(&[reached.into()])?.iter().all(|&reached| reached == 1);
        let assembly = all.then(|| Arc::new(Assembly { address, window, loan }));
        self.state().assembly = Some(assembly.clone());
        Ok(assembly)
    }

    pub(super) fn assemble(&self, team: &dyn Team, access: &Access, hull: (u64, u64), assembly: &Assembly) -> Result<()> {
        let mut source = Source::new(access, 0);
        let mut outcome = Ok(());
        let mut missed = false;
        let mut first = hull.0;
        for round in 0.. {
            let end = (first / assembly.window + 1).saturating_mul(assembly.window).min(hull.1);
            let at = assembly.address + (round % 2) * assembly.window;
            missed |= !fill(team, assembly, (at, end - first), &mut |to| source.put(first, end, to));
            team.meet()?;
            if let (Some(loan), Ok(())) = (&assembly.loan, &outcome) {
                let from = loan.address().wrapping_add((at - assembly.address) as usize);
                // SAFETY: all have stored what belongs here and met; they store into the other window now, and
                // here only after they have met again, which I do after this.
                let bytes = unsafe { std::slice::from_raw_parts(from, (end - first) as usize) };
                outcome = self.driver.write(first, bytes);
            }
            first = end;
            if first == hull.1 {
                break;
            }
        }
        agree_with(team, 0, "write", &self.name, outcome)?;
        // A rank that could not store some of its pieces (it has a child that may look) writes all of them now.
        match missed {
            true => self.move_alone(access, true).map(drop),
            false => Ok(()),
        }
    }
}

/// Has this rank fill a window; `false` if it cannot reach it now.
fn fill(team: &dyn Team, assembly: &Assembly, range: (u64, u64), fill: &mut dyn FnMut(*mut u8)) -> bool {
    match &assembly.loan {
        Some(loan) => {
            fill(loan.address().wrapping_add((range.0 - assembly.address) as usize));
            true
        }
        // SAFETY: rank 0 has lent it, and each rank stores its own bytes only.
        None => unsafe { team.fill(0, range, fill) },
    }
}
