//! `SERRIED_CHECK`: members of a communicator compare their collective calls.

use super::agreed::{self, Agreed};
use super::Engine;
use crate::observe::ledger::{Call, Ledger, Traffic, Way, USER};
use crate::reduce::Builtin;
use crate::world::Communicator;
use crate::{Class, Error, JobRank, LocalRank, Result};

/// What a rank says of a call besides what fits an entry of the ledger.
#[derive(Clone, Copy)]
pub(super) enum Said<'a> {
    Nothing,
    /// Bytes to each member, and from each.
    Traffic(&'a [u64], &'a [u64]),
    /// Arguments on which the members must agree.
    Arguments(&'a [Agreed]),
}

impl Engine {
    /// Writes a collective down that this rank has just begun, and compares it with
    /// what others have written down.
    ///
    /// # Errors
    /// `Root`, `Count`, `Op`, `NotSame` or `Other`: it differs, and from whom.
    #[cold]
    pub(super) fn compare(&self, communicator: &Communicator, mine: Call, said: Said) -> Result<()> {
        let (context, number) = (communicator.context(), communicator.calls.count());
        let ledger = self.ledger(self.job.local_rank);
        match said {
            Said::Nothing => ledger.write(context, number, mine, None),
            Said::Traffic(to, from) => ledger.write(context, number, mine, Some((to, from))),
            Said::Arguments(given) => ledger.write_arguments(context, number, mine, &agreed::write(given)),
        }
        let members = communicator.groups().flat_map(|group| group.iter());
        for member in members.filter(|&member| member.0 != self.job.rank) {
            let Some(LocalRank(local)) = self.job.local(member) else { continue };
            let Some(theirs) = self.ledger(local).read(context, number) else { continue };
            let difference = self.difference(communicator, mine, theirs);
            let other = (member, local);
            match (difference, said) {
                (None | Some((Class::Count, _)), Said::Traffic(to, from)) => {
                    self.compare_traffic(communicator, other, (mine, number), (to, from))?;
                }
                (None, Said::Arguments(given)) => {
                    self.compare_arguments(communicator, other, (mine, number), given)?;
                }
                _ => {}
            }
            if let Some((class, what)) = difference {
                return Err(self.differs(communicator, (member, number), (mine, theirs), (class, what)));
            }
        }
        Ok(())
    }

    /// Each rank must send to another one what that one expects.
    fn compare_traffic(
        &self,
        communicator: &Communicator,
        (member, local): (JobRank, u32),
        (mine, number): (Call, u64),
        (to, from): Traffic,
    ) -> Result<()> {
        let place = communicator.peers().rank_of(member).map(|peer| peer as usize);
        let Some((&to, &from)) = place.and_then(|peer| to.get(peer).zip(from.get(peer))) else {
            return Ok(());
        };
        let (context, me) = (communicator.context(), self.job.rank);
        let theirs = |way| self.ledger(local).bytes(context, number, way, communicator.rank);
        let what = match (theirs(Way::From), theirs(Way::To)) {
            (Some(expected), _) if expected != to => {
                format!("rank {me} sends {to} bytes to rank {member}, which expects {expected} bytes of it")
            }
            (_, Some(sent)) if sent != from => {
                format!("rank {me} expects {from} bytes of rank {member}, which sends {sent} bytes to it")
            }
            _ => return Ok(()),
        };
        let (on, call) = (name_of(communicator), self.function(mine));
        let sentence = format!(
            "as collective operation number {number} on {on} both ranks call {call}, but {what}; counts and types must \
             agree between the ranks (SERRIED_CHECK)"
        );
        Err(Error::new(Class::Count, sentence).in_context(context))
    }

    /// Members must agree on what they have to give alike.
    fn compare_arguments(
        &self,
        communicator: &Communicator,
        (member, local): (JobRank, u32),
        (mine, number): (Call, u64),
        given: &[Agreed],
    ) -> Result<()> {
        let (context, me) = (communicator.context(), self.job.rank);
        // Between groups each side may say something else; within its own it is compared too.
        if given.is_empty() || communicator.is_inter() {
            return Ok(());
        }
        let words = self.ledger(local).arguments(context, number).unwrap_or_default();
        let theirs = agreed::read(&words, given.len()).unwrap_or_default();
        let Some((argument, theirs)) =
            given.iter().zip(theirs).find(|(argument, theirs)| !argument.goes_with(me, (member.0, theirs)))
        else {
            return Ok(());
        };
        let (on, call, name) = (name_of(communicator), self.function(mine), argument.name);
        let (mine, theirs) = (argument.in_words(communicator), argument.told(theirs, communicator));
        let sentence = format!(
            "as collective operation number {number} on {on} both ranks call {call}, but rank {me} gives {name} {mine}, and \
             rank {member} gives {name} {theirs}; the ranks must agree on this argument (SERRIED_CHECK)"
        );
        Err(Error::new(Class::NotSame, sentence).in_context(context))
    }

    fn ledger(&self, local_rank: u32) -> Ledger<'static> {
        self.job.node.ledger(local_rank)
    }

    /// The function without the mark of its form for large counts.
    fn function(&self, call: Call) -> String {
        let name = self.job.node.name(call.name).unwrap_or_default();
        name.strip_suffix("_c").map(str::to_owned).unwrap_or(name)
    }

    fn difference(
        &self,
        communicator: &Communicator,
        mine: Call,
        theirs: Call,
    ) -> Option<(Class, &'static str)> {
        if mine.name != theirs.name && self.function(mine) != self.function(theirs) {
            return Some((Class::Other, "function"));
        }
        // Between groups each side says something else of the same operation.
        if communicator.is_inter() {
            return None;
        }
        if mine.root != theirs.root {
            return Some((Class::Root, "root"));
        }
        if mine.operator != theirs.operator {
            return Some((Class::Op, "operator"));
        }
        (mine.bytes != theirs.bytes).then_some((Class::Count, "number of bytes"))
    }

    fn differs(
        &self,
        communicator: &Communicator,
        (member, number): (JobRank, u64),
        (mine, theirs): (Call, Call),
        (class, what): (Class, &str),
    ) -> Error {
        let on = name_of(communicator);
        let sentence = format!(
            "as collective operation number {number} on {on} rank {} calls {}, but rank {member} calls {}; all ranks of a \
             communicator must call the same operations in the same order, and here the {what} differs (SERRIED_CHECK)",
            self.job.rank,
            self.in_words(mine),
            self.in_words(theirs)
        );
        Error::new(class, sentence).in_context(communicator.context())
    }

    fn in_words(&self, call: Call) -> String {
        let mut with = Vec::new();
        if call.root >= 0 {
            with.push(format!("root {}", call.root));
        }
        match call.operator {
            0 => {}
            USER => with.push("a function of the program".into()),
            number => with
                .extend(Builtin::all().nth(usize::from(number) - 1).map(|builtin| builtin.name().to_owned())),
        }
        if call.bytes > 0 {
            with.push(format!("{} bytes", call.bytes));
        }
        match with.is_empty() {
            true => self.function(call),
            false => format!("{} with {}", self.function(call), with.join(", ")),
        }
    }
}

fn name_of(communicator: &Communicator) -> String {
    match communicator.name() {
        name if name.is_empty() => "a communicator".into(),
        name => name,
    }
}

/// The number by which the ledger knows an operator.
pub(super) fn number_of(operator: &crate::reduce::Operator) -> u16 {
    match operator.as_builtin() {
        Some(builtin) => {
            Builtin::all().position(|other| other == builtin).map_or(USER, |place| place as u16 + 1)
        }
        None => USER,
    }
}
