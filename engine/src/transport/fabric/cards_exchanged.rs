//! How two ranks find each other on a fabric.
//!
//! Each sends the other its card over the wire. When a rank has the card of a peer, it tells it over the wire that it changes
//! over, and its packets go over the fabric from then on. What comes over the fabric before that word waits for it: so all
//! packets keep their order.

use super::fabric_card::{self, FabricCard, Protocol};
use super::fabric_partner::Way;
use super::fabric_port::Port;
use super::{Fabric, InHand};
use crate::transport::{Letter, OWN_KINDS};
use crate::{JobRank, Result};

/// Kind of a packet over the wire that is a card; its header names who sends it.
const CARD: u8 = OWN_KINDS + 1;
/// Kind of the last packet over the wire; its header names who sends it.
const CHANGES_OVER: u8 = OWN_KINDS + 3;

impl Port {
    fn protocol(&self) -> Protocol {
        let domain = self.endpoint.domain();
        // SAFETY: an offer of the library's has all its parts.
        let attributes = unsafe { &*domain.offer().info().endpoint };
        let numbers = [attributes.protocol, attributes.protocol_version];
        Protocol { provider: domain.provider.clone(), numbers }
    }

    fn card_for(&self, index: usize) -> FabricCard {
        let (seal, address) = (self.partners[index].seal, self.endpoint.name.clone());
        FabricCard { protocol: self.protocol(), seal, address }
    }

    /// A partner has sent its card. With one that has no fabric in common with this rank, or none that the provider can reach,
    /// the wire goes on.
    fn is_told(&mut self, index: usize, card: Option<FabricCard>) {
        let common = card.filter(|card| card.protocol == self.protocol());
        let known = common.and_then(|card| Some((self.endpoint.know(&card.address).ok()?, card.seal)));
        let partner = &mut self.partners[index];
        match known {
            Some((address, seal)) => (partner.address, partner.others_seal) = (Some(address), seal),
            None => partner.way = Way::Wire,
        }
        // What has been asked of it meanwhile.
        self.read_on();
    }
}

impl Fabric {
    /// A peer to which packets may soon go over the fabric: each is told what the other has to know.
    #[cold]
    pub(super) fn meet(&mut self, peer: JobRank, index: usize) -> Result<()> {
        if self.in_hand == InHand::Nothing {
            self.look_at_wire();
        }
        self.show_card(peer)?;
        let Some(port) = &mut self.port else { return Ok(()) };
        let partner = &mut port.partners[index];
        if partner.address.is_some() && partner.has_card && partner.wire_loads == 0 {
            let letter = Letter { kind: CHANGES_OVER, header: [u64::from(self.me.0), 0], payload: &[] };
            if self.wire.push(peer, &letter)? {
                partner.way = Way::Fabric;
            }
        }
        Ok(())
    }

    /// Sends a peer the card of this rank, once; later if there is no room now.
    fn show_card(&mut self, peer: JobRank) -> Result<()> {
        let card = match &mut self.port {
            Some(port) => {
                let index = port.partner(peer);
                if port.partners[index].has_card {
                    return Ok(());
                }
                port.card_for(index).to_bytes()
            }
            None => fabric_card::none(),
        };
        let letter = Letter { kind: CARD, header: [u64::from(self.me.0), 0], payload: &card };
        let went = self.wire.push(peer, &letter)?;
        if let Some(port) = &mut self.port {
            let index = port.partner(peer);
            port.partners[index].has_card = went;
        }
        if !went && !self.unanswered.contains(&peer) {
            self.unanswered.push(peer);
        }
        Ok(())
    }

    /// Reads what has come over the wire and is the fabric's own; a packet behind that is in hand then.
    pub(super) fn look_at_wire(&mut self) {
        if self.in_hand == InHand::Wire {
            return;
        }
        for peer in std::mem::take(&mut self.unanswered) {
            // If it is gone, it needs no answer.
            let _ = self.show_card(peer);
        }
        while let Some(arrival) = self.wire.peek() {
            let peer = JobRank(arrival.header[0] as u32);
            match (arrival.kind, &mut self.port) {
                (CARD, _) => {
                    // SAFETY: the packet lies there until it is advanced over.
                    let card =
                        unsafe { std::slice::from_raw_parts(arrival.payload(), arrival.bytes as usize) };
                    let card = FabricCard::from_bytes(card);
                    self.wire.advance(&arrival);
                    self.card_has_come(peer, card);
                }
                (CHANGES_OVER, Some(port)) => {
                    let index = port.partner(peer);
                    port.has_changed_over(index);
                    self.wire.advance(&arrival);
                }
                _ => {
                    self.in_hand = InHand::Wire;
                    return;
                }
            }
        }
    }

    fn card_has_come(&mut self, peer: JobRank, card: Option<FabricCard>) {
        let is_answer = self.port.as_mut().is_some_and(|port| {
            let index = port.partner(peer);
            port.is_told(index, card);
            port.partners[index].has_card
        });
        if !is_answer {
            // A peer that is gone needs no answer.
            let _ = self.show_card(peer);
        }
    }
}
