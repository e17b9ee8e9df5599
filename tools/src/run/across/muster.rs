//! The start of a job on several hosts, for one process of the tree: it gathers the cards of the nodes behind it, tells
//! them once when all are there, and passes the cards of all nodes on, once.
//!
//! So each agent gets one plan and one table, and sends one list of cards, however many nodes there are; and for each
//! agent that it has started it sends one of the former and gets one of the latter. Pure.

use serried_engine::job::NodeCard;
use std::ops::Range;

/// Whose cards are there.
#[derive(Debug)]
pub struct Muster {
    nodes: Range<u32>,
    cards: Vec<Option<NodeCard>>,
    missing: usize,
}

impl Muster {
    /// Waits for the cards of these nodes.
    pub fn new(nodes: Range<u32>) -> Muster {
        let missing = nodes.len();
        Muster { nodes, cards: vec![None; missing], missing }
    }

    /// Takes cards that have come; returns all, once, when none is missing any more.
    pub fn take(&mut self, cards: Vec<NodeCard>) -> Option<Vec<NodeCard>> {
        let was_missing = self.missing;
        for card in cards.into_iter().filter(|card| self.nodes.contains(&card.node)) {
            let place = &mut self.cards[(card.node - self.nodes.start) as usize];
            self.missing -= usize::from(place.is_none());
            *place = Some(card);
        }
        (self.missing == 0 && was_missing > 0).then(|| self.cards.iter().flatten().cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::branches::{below, divide};
    use super::super::orders::{News, Order, ALL};
    use super::*;
    use serried_engine::job::node_card::{Address, CARD_BYTES};
    use std::collections::VecDeque;

    /// What an agent, or the launcher, has sent and received while the job started.
    #[derive(Clone, Copy, Debug, Default)]
    struct Traffic {
        sent: u32,
        received: u32,
        bytes: usize,
    }

    fn card(node: u32) -> NodeCard {
        let address = Address { ip: "10.77.0.3".parse().unwrap(), prefix: 16 };
        NodeCard { node, ranks: 4, port: 40_000, addresses: vec![address; 4] }
    }

    /// Agents that are only pretended: the real tree, musters and frames, and queues in the place of links. The
    /// launcher is the last of those that are returned.
    fn start(nodes: u32, fanout: u32) -> Vec<Traffic> {
        let root = nodes as usize;
        let mut above = vec![root; root];
        let mut musters: Vec<Option<Muster>> = (0..=root).map(|_| None).collect();
        musters[root] = Some(Muster::new(0..nodes));
        let mut traffic = vec![Traffic::default(); root + 1];
        let mut queue = VecDeque::new();
        let mut send =
            |queue: &mut VecDeque<_>, from: usize, to: usize, frame: super::super::orders::Frame| {
                traffic[from].sent += 1;
                traffic[to].received += 1;
                traffic[to].bytes += frame.length();
                queue.push_back((from, to, frame));
            };
        let plan =
            |part: &Range<u32>| Order::Plan([part.start.to_le_bytes(), part.end.to_le_bytes()].concat());
        for part in divide(0..nodes, fanout) {
            send(&mut queue, root, part.start as usize, plan(&part).frame(part.start));
        }
        let mut begun = 0;
        while let Some((from, to, frame)) = queue.pop_front() {
            let children = |to: usize, musters: &[Option<Muster>]| match to == root {
                true => divide(0..nodes, fanout),
                false => below(&musters[to].as_ref().unwrap().nodes.clone(), fanout),
            };
            let complete = match (News::read(&frame), Order::read(&frame)) {
                (Ok(News::Ready(cards)), _) if from != above.get(to).copied().unwrap_or(usize::MAX) => {
                    musters[to].as_mut().unwrap().take(cards)
                }
                (_, Ok(Order::Plan(part))) => {
                    let number = |at: usize| u32::from_le_bytes(part[at..at + 4].try_into().unwrap());
                    above[to] = from;
                    musters[to] = Some(Muster::new(number(0)..number(4)));
                    for part in children(to, &musters) {
                        send(&mut queue, to, part.start as usize, plan(&part).frame(part.start));
                    }
                    musters[to].as_mut().unwrap().take(vec![card(to as u32)])
                }
                (_, Ok(Order::Begin(cards))) => {
                    assert!(cards.iter().zip(0..nodes).all(|(card, node)| card.node == node));
                    begun += 1;
                    for part in children(to, &musters) {
                        send(&mut queue, to, part.start as usize, Order::Begin(cards.clone()).frame(ALL));
                    }
                    None
                }
                other => panic!("{other:?}"),
            };
            match complete {
                Some(cards) if to == root => {
                    for part in children(root, &musters) {
                        send(&mut queue, root, part.start as usize, Order::Begin(cards.clone()).frame(ALL));
                    }
                }
                Some(cards) => send(&mut queue, to, above[to], News::Ready(cards).frame(to as u32)),
                None => {}
            }
        }
        assert_eq!(begun, nodes);
        traffic
    }

    #[test]
    fn a_node_gets_two_messages_and_sends_one_and_as_many_for_each_agent_that_it_starts() {
        for (nodes, fanout) in [(2, 32), (4, 32), (16, 32), (64, 32), (2, 4), (16, 4), (64, 4)] {
            let traffic = start(nodes, fanout);
            let children = |count: u32| count.min(fanout);
            for (node, told) in traffic.iter().enumerate() {
                let is_root = node as u32 == nodes;
                let most = (2 + children(nodes), 1 + 2 * children(nodes));
                assert!(
                    told.received <= most.0 && told.sent <= most.1,
                    "{nodes} {fanout} node {node}: {told:?}"
                );
                // A table that comes down, and cards of those behind it that come up.
                let bytes = 2 * nodes as usize * (CARD_BYTES + 4) + 64 * (1 + children(nodes) as usize);
                assert!(told.bytes <= bytes, "{nodes} {fanout} node {node}: {told:?}");
                if !is_root && fanout == 32 && nodes <= 32 {
                    assert_eq!((told.received, told.sent), (2, 1), "{nodes} node {node}");
                }
            }
            let messages: u32 = traffic.iter().map(|told| told.sent).sum();
            assert_eq!(messages, 3 * nodes, "{nodes} {fanout}");
        }
    }

    #[test]
    fn all_are_told_once_when_none_is_missing() {
        let mut muster = Muster::new(3..6);
        assert_eq!(muster.take(vec![card(4), card(9)]), None);
        assert_eq!(muster.take(vec![card(3), card(5)]).unwrap(), [card(3), card(4), card(5)]);
        assert_eq!(muster.take(vec![card(3)]), None);
    }
}
