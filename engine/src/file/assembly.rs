//! Collective writing by stores: the range of all is gone through in windows; in each, every rank stores its pieces
//! where they belong in memory of rank 0, the ranks meet, and rank 0 writes the window while all fill the other one.
//!
//! # Ownership
//! Of a window, before the meeting each rank owns the bytes that it writes; after it, rank 0 owns all, until the next
//! meeting, before which everybody stores into the other window.

use super::access_of_call::Access;
use super::driver::Driver;
use super::failure::agree_with;
use super::opened::File;
use super::source::Source;
use super::team::Team;
use super::windows::Windows;
use crate::Result;
use std::sync::Arc;

impl File {
    /// The memory for windows, if all members reach it. They find out together, once.
    pub(super) fn windows(&self, team: &dyn Team, window: u64) -> Result<Option<Arc<Windows>>> {
        if let Some(known) = &self.state().windows {
            return Ok(known.clone());
        }
        let loan = if team.rank() == 0 { team.loan(2 * window as usize) } else { None };
        let mut told = [loan.as_ref().map_or(0, |loan| loan.address() as u64), window];
        team.tell(0, &mut told)?;
        let [address, window] = told;
        // SAFETY: nothing is written.
        let reached =
            address != 0 && (team.rank() == 0 || unsafe { team.fill(0, (address, 2 * window), &mut |_| ()) });
        let all = team.gather(&[reached.into()])?.iter().all(|&reached| reached == 1);
        let windows = all.then(|| Arc::new(Windows { address, window, loan }));
        self.state().windows = Some(windows.clone());
        Ok(windows)
    }

    pub(super) fn assemble(
        &self,
        team: &dyn Team,
        access: &Access,
        hull: (u64, u64),
        windows: &Windows,
    ) -> Result<()> {
        let mut source = Source::new(access, 0);
        let mut outcome = Ok(());
        let mut missed = false;
        let mut first = hull.0;
        for round in 0.. {
            let end = (first / windows.window + 1).saturating_mul(windows.window).min(hull.1);
            let at = windows.address + (round % 2) * windows.window;
            if !fill(team, windows, (at, end - first), &mut |to| source.put(first, end, to)) {
                source.each(end, |_, _, _| ());
                missed = true;
            }
            team.meet()?;
            if let (Some(loan), Ok(())) = (&windows.loan, &outcome) {
                let from = loan.address().wrapping_add((at - windows.address) as usize);
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
fn fill(team: &dyn Team, windows: &Windows, range: (u64, u64), fill: &mut dyn FnMut(*mut u8)) -> bool {
    match &windows.loan {
        Some(loan) => {
            fill(loan.address().wrapping_add((range.0 - windows.address) as usize));
            true
        }
        // SAFETY: rank 0 has lent it, and each rank stores its own bytes only.
        None => unsafe { team.fill(0, range, fill) },
    }
}
