//! What the leader does until all parties are there.

use super::super::guard::Guard;
use super::super::say;
use super::place::Lead;
use super::talk::{self, Party};
use super::{wait, Meeting};
use std::os::fd::AsFd;
use std::time::Instant;

/// Waits for all parties; they come back in their order, this one among them.
///
/// # Errors
/// A sentence; if somebody is missing, those who have come have been told too.
pub fn gather(
    meeting: &Meeting,
    own: Party,
    lead: Lead,
    until: Instant,
    guard: &mut Guard,
) -> Result<Vec<Party>, String> {
    let wanted = meeting.parties.unwrap_or(1) as usize;
    let mut parties = vec![own];
    while parties.len() < wanted {
        let streams: Vec<&dyn AsFd> =
            [&lead.listener as &dyn AsFd].into_iter().chain(parties.iter().filter_map(as_source)).collect();
        let ready = wait(&streams, guard, until);
        // Who says something before all are there has gone.
        let mut of_others = ready[1..].iter();
        parties.retain(|party| {
            let has_gone = party.stream.is_some() && *of_others.next().unwrap_or(&false);
            if has_gone {
                say(&format!("serried: the party on {} has gone before the job began\n", party.host));
            }
            !has_gone
        });
        if ready[0] {
            if let Ok((stream, _)) = lead.listener.accept() {
                match talk::receive(stream, &lead.key, meeting) {
                    Ok(party) => admit(party, &mut parties, meeting),
                    Err(why) => say(&format!("serried: --meet: {why}\n")),
                }
            }
        }
        if guard.wants_the_end() {
            // The others find another one to lead them.
            return Err("ended before all parties had come".to_owned());
        }
        if Instant::now() >= until && parties.len() < wanted {
            let why = who_is_missing(meeting, &parties);
            let streams = parties.iter().filter_map(|party| party.stream.as_ref());
            streams.for_each(|stream| talk::refuse(stream, &why));
            return Err(why);
        }
    }
    Ok(in_order(parties))
}

fn as_source(party: &Party) -> Option<&dyn AsFd> {
    party.stream.as_ref().map(|stream| stream as &dyn AsFd)
}

/// Takes a party in, unless it wants a place that there is not, or that another has.
fn admit(party: Party, parties: &mut Vec<Party>, meeting: &Meeting) {
    let wanted = meeting.parties.unwrap_or(1);
    let why = match party.own {
        Some(own) if own >= wanted => {
            format!("--party {own}: with --parties {wanted} they are 0 to {}", wanted - 1)
        }
        Some(own) => match parties.iter().find(|known| known.own == Some(own)) {
            Some(known) => format!("--party {own} is there already, on {}", known.host),
            None => return parties.push(party),
        },
        None => return parties.push(party),
    };
    say(&format!("serried: the party on {} cannot take part: {why}\n", party.host));
    party.stream.iter().for_each(|stream| talk::refuse(stream, &why));
}

/// A sentence for the user.
fn who_is_missing(meeting: &Meeting, parties: &[Party]) -> String {
    let wanted = meeting.parties.unwrap_or(1);
    let come: Vec<String> = parties.iter().map(told).collect();
    let missing: Vec<String> = (0..wanted)
        .filter(|&number| parties.iter().all(|party| party.own != Some(number)))
        .map(|number| number.to_string())
        .collect();
    let all_numbered = parties.iter().all(|party| party.own.is_some());
    let who = match wanted as usize - parties.len() {
        _ if all_numbered => format!("there is no --party {}", missing.join(", ")),
        1 => "1 is missing".to_owned(),
        count => format!("{count} are missing"),
    };
    format!(
        "{} of {wanted} parties of the job `{}` have come to {} within {} s ({}); {who}. Each needs the same folder (also the \
         same one behind the mount), user, --job and --parties",
        parties.len(),
        meeting.name,
        meeting.folder.display(),
        meeting.patience.as_secs_f64(),
        come.join(", "),
    )
}

fn told(party: &Party) -> String {
    let this = if party.stream.is_none() { ", this one" } else { "" };
    match party.own {
        Some(own) => format!("--party {own} on {}{this}", party.host),
        None => format!("{}{this}", party.host),
    }
}

/// Those who have said which party they are get that place; the others those that are left, as they have come.
fn in_order(mut parties: Vec<Party>) -> Vec<Party> {
    let count = parties.len() as u32;
    let taken: Vec<u32> = parties.iter().filter_map(|party| party.own).collect();
    let mut free = (0..count).filter(|number| !taken.contains(number));
    for party in &mut parties {
        party.own = party.own.or_else(|| free.next());
    }
    parties.sort_by_key(|party| party.own);
    parties
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parties(list: &[(&str, Option<u32>)]) -> Vec<Party> {
        let party = |&(host, own): &(&str, Option<u32>)| Party {
            host: host.into(),
            programs: Vec::new(),
            own,
            stream: None,
        };
        list.iter().map(party).collect()
    }

    #[test]
    fn who_says_which_party_it_is_gets_that_place() {
        let order =
            |list| in_order(parties(list)).into_iter().map(|party| party.host).collect::<Vec<_>>().join("");
        assert_eq!(order(&[("a", None), ("b", None), ("c", None)]), "abc");
        assert_eq!(order(&[("a", Some(2)), ("b", None), ("c", Some(0))]), "cba");
        assert_eq!(order(&[("a", None), ("b", Some(0))]), "ba");
    }

    #[test]
    fn places_are_given_once_and_those_who_miss_are_named() {
        let meeting = Meeting { parties: Some(3), ..Meeting::default() };
        let mut come = parties(&[("a", Some(0))]);
        for (own, count) in [(Some(0), 1), (Some(3), 1), (Some(2), 2)] {
            admit(parties(&[("b", own)]).remove(0), &mut come, &meeting);
            assert_eq!(come.len(), count);
        }
        let text = who_is_missing(&meeting, &come);
        assert!(text.contains("2 of 3 parties") && text.contains("there is no --party 1"), "{text}");
        assert!(who_is_missing(&meeting, &parties(&[("a", None)])).contains("2 are missing"));
    }
}
