//! Peers that are lost: what people are told of them.

use super::link::Loss;
use super::Wire;
use crate::transport::network::gone;
use crate::{Class, Error, JobRank};

impl Wire {
    /// Why what is for a lost peer cannot go.
    #[cold]
    pub(super) fn loss_of(&self, peer: JobRank) -> Error {
        let me = self.porter.me();
        let link = self.links.iter().find(|link| link.peer == peer);
        match link.and_then(|link| link.loss()) {
            Some(Loss::Unlike) => unlike(peer, me.is_sealed),
            Some(Loss::OutOfReach(seconds)) => {
                let card = me.directory.card(me.directory.place_of(peer).0);
                let addresses = card.map(|card| {
                    let ips: Vec<String> = card.addresses.iter().map(|one| one.ip.to_string()).collect();
                    format!(" ({}, port {})", ips.join(", "), card.port)
                });
                out_of_reach(peer, &addresses.unwrap_or_default(), seconds)
            }
            Some(Loss::Gone) | None => gone(peer),
        }
    }
}

fn name_of(peer: JobRank) -> String {
    match peer.is_foreign() {
        true => "a process of another job".to_owned(),
        false => format!("rank {peer}"),
    }
}

/// Connections of the peer are sealed, and those of this rank are not, or the other way round.
fn unlike(peer: JobRank, is_sealed: bool) -> Error {
    let who = name_of(peer);
    let (mine, others) = if is_sealed { ("has", "does not have it") } else { ("does not have", "has it") };
    let sentence = format!(
        "{who} cannot be talked with: this rank {mine} the setting SERRIED_TRANSPORT=wire:sealed, and that one, or \
         another rank of its node, {others}; set it for all ranks of a job and for all jobs that connect with each \
         other, or for none"
    );
    Error::new(Class::Other, sentence)
}

/// Nothing answers where the peer is.
fn out_of_reach(peer: JobRank, addresses: &str, seconds: u64) -> Error {
    let who = name_of(peer);
    let sentence = format!(
        "{who} cannot be reached: nothing has answered at its addresses{addresses} for {seconds} s; its host may be \
         down, or a firewall may stand between the hosts: ranks must be able to connect to any port of other hosts"
    );
    Error::new(Class::Other, sentence)
}
