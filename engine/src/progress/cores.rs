//! Which ranks of a node have to share CPUs.
//!
//! Each rank may use a set of CPUs. Where every rank can have a CPU of its own, none has to
//! share: the system spreads ranks that are awake over the CPUs that they may use. So ranks are
//! matched with CPUs. If the matching leaves a rank over, that rank shares, and so do those
//! that hold CPUs which it could have taken from them, step by step; nobody else does. Of those,
//! ranks with CPUs in common are a group, and a group is crowded while more of its ranks are
//! awake than it has CPUs.

use crate::job::cpu_set::{CpuSet, MOST_CPUS};

/// Ranks that share CPUs, more ranks than CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The lowest of the ranks.
    pub first: u32,
    /// How many CPUs they share.
    pub cpus: u32,
}

/// The group of each rank, by the CPUs that each may use. `quota`: all ranks together get the
/// time of so many CPUs.
pub fn groups(sets: &[CpuSet], quota: Option<u32>) -> Vec<Option<Group>> {
    let ranks = sets.len();
    let all = sets.iter().fold(CpuSet::default(), |all, &set| all | set);
    let enough = |cpus: u32| cpus as usize >= ranks;
    let everybody = |cpus: u32| vec![(!enough(cpus)).then_some(Group { first: 0, cpus }); ranks];
    match quota {
        Some(quota) if !enough(quota) => return everybody(quota.min(all.len())),
        _ if sets.iter().all(|&set| set == all) => return everybody(all.len()),
        _ => {}
    }
    let mut matching = Matching::new(sets);
    (0..ranks).for_each(|rank| matching.place(rank));
    divided(sets, &matching.shares)
}

/// Which CPU each rank has so far.
struct Matching<'a> {
    sets: &'a [CpuSet],
    owner_of: Vec<Option<usize>>,
    cpu_of: Vec<Option<usize>>,
    /// CPUs of ranks that share.
    scarce: CpuSet,
    /// Whether a rank shares.
    shares: Vec<bool>,
}

impl<'a> Matching<'a> {
    fn new(sets: &'a [CpuSet]) -> Matching<'a> {
        let (cpu_of, shares) = (vec![None; sets.len()], vec![false; sets.len()]);
        Matching { sets, owner_of: vec![None; MOST_CPUS], cpu_of, scarce: CpuSet::default(), shares }
    }

    /// Finds a CPU for one more rank. Owners move on to other CPUs if that makes room. If nothing
    /// does, all ranks that were asked share what they have: no CPU will become free for them.
    fn place(&mut self, rank: usize) {
        let mut seen = self.scarce;
        // The rank that wants a CPU.
        let mut wanted_by = [usize::MAX; MOST_CPUS];
        let mut asked = vec![rank];
        let mut next = 0;
        while let Some(&wanting) = asked.get(next) {
            next += 1;
            let candidates = self.sets[wanting] & !seen;
            seen = seen | candidates;
            for cpu in candidates.iter() {
                wanted_by[cpu] = wanting;
                match self.owner_of[cpu] {
                    None => return self.move_on(cpu, &wanted_by),
                    Some(owner) => asked.push(owner),
                }
            }
        }
        self.scarce = seen;
        asked.into_iter().for_each(|rank| self.shares[rank] = true);
    }

    /// A CPU is free. The rank that wants it takes it and leaves its own to the one that wants that,
    /// and so on, until it is the turn of a rank that had none.
    fn move_on(&mut self, free: usize, wanted_by: &[usize]) {
        let mut free = Some(free);
        while let Some(cpu) = free {
            let taker = wanted_by[cpu];
            self.owner_of[cpu] = Some(taker);
            free = self.cpu_of[taker].replace(cpu);
        }
    }
}

/// Divides the ranks that share into those that have CPUs in common.
fn divided(sets: &[CpuSet], shares: &[bool]) -> Vec<Option<Group>> {
    let mut groups = vec![None; sets.len()];
    for first in 0..sets.len() {
        if !shares[first] || groups[first].is_some() {
            continue;
        }
        let mut cpus = CpuSet::default();
        let mut wider = sets[first];
        while cpus != wider {
            cpus = wider;
            let belongs = |set: &&CpuSet| !(**set & cpus).is_empty();
            let sharing = sets.iter().zip(shares).filter(|(_, &shares)| shares).map(|(set, _)| set);
            wider = sharing.filter(belongs).fold(cpus, |all, &set| all | set);
        }
        for rank in first..sets.len() {
            if shares[rank] && !(sets[rank] & cpus).is_empty() {
                groups[rank] = Some(Group { first: first as u32, cpus: cpus.len() });
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The groups of ranks that may use these CPUs, by their first rank and how many CPUs it has.
    fn of(sets: &[&[usize]]) -> Vec<Option<(u32, u32)>> {
        let sets: Vec<CpuSet> = sets.iter().map(|cpus| cpus.iter().copied().collect()).collect();
        groups(&sets, None).into_iter().map(|group| group.map(|one| (one.first, one.cpus))).collect()
    }

    #[test]
    fn ranks_with_a_cpu_each_share_none() {
        assert_eq!(of(&[&[0], &[1]]), [None; 2]);
        assert_eq!(of(&[&[0, 1], &[0, 1]]), [None; 2]);
        assert_eq!(of(&[&[0, 1], &[0]]), [None; 2], "the first moves on");
        assert_eq!(of(&[&[0, 1], &[1, 2], &[0, 3], &[0]]), [None; 4], "several do");
    }

    #[test]
    fn ranks_on_one_cpu_share_it() {
        assert_eq!(of(&[&[0], &[0]]), [Some((0, 1)); 2]);
        let pairs = [Some((0, 1)), Some((0, 1)), Some((2, 1)), Some((2, 1))];
        assert_eq!(of(&[&[0], &[0], &[1], &[1]]), pairs);
        assert_eq!(of(&[&[0, 1][..]; 4]), [Some((0, 2)); 4]);
    }

    #[test]
    fn only_those_share_for_whom_there_is_too_little() {
        let mixed = of(&[&[0, 1, 2, 3], &[0], &[0], &[0, 1, 2, 3]]);
        assert_eq!(mixed, [None, Some((1, 1)), Some((1, 1)), None]);
        // The one with both CPUs is between two that have one each.
        assert_eq!(of(&[&[0], &[1], &[0, 1], &[5]]), [Some((0, 2)), Some((0, 2)), Some((0, 2)), None]);
    }

    #[test]
    fn a_quota_is_shared_by_all() {
        let sets: Vec<CpuSet> = (0..4).map(|cpu| [cpu].into_iter().collect()).collect();
        assert_eq!(groups(&sets, Some(3)), [Some(Group { first: 0, cpus: 3 }); 4]);
        assert_eq!(groups(&sets, Some(4)), [None; 4]);
    }

    /// By the theorem of Hall: some ranks share if some set of ranks has fewer CPUs than ranks, and
    /// those in such a set are the ones that share.
    #[test]
    fn those_share_that_are_in_a_set_with_too_few_cpus() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..2000 {
            let ranks = 1 + random(7) as usize;
            let mut set = || {
                let one = random(6) as usize;
                (0..6).filter(|&cpu| cpu == one || random(3) == 0).collect()
            };
            let sets: Vec<CpuSet> = (0..ranks).map(|_| set()).collect();
            let lacking = |chosen: usize| {
                let all = (0..ranks).filter(|rank| chosen >> rank & 1 == 1);
                let cpus = all.clone().fold(CpuSet::default(), |cpus, rank| cpus | sets[rank]);
                all.count() as i32 - cpus.len() as i32
            };
            let worst = (0..1 << ranks).map(lacking).max().unwrap();
            // Of the sets that lack most the smallest: their ranks are those that some matching leaves over.
            let most: Vec<usize> =
                (1..1 << ranks).filter(|&chosen| worst > 0 && lacking(chosen) == worst).collect();
            let least = most.iter().copied().reduce(|one, other| one & other).unwrap_or(0);
            let expected: Vec<bool> = (0..ranks).map(|rank| least >> rank & 1 == 1).collect();
            let found: Vec<bool> = groups(&sets, None).iter().map(Option::is_some).collect();
            assert_eq!(found, expected, "{sets:?}");
        }
    }
}
