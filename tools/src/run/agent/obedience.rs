//! What an agent does when the launcher orders it.

use super::super::across::agent_plan::AgentPlan;
use super::super::across::orders::{News, Order};
use super::super::descendants::signal_all;
use super::super::descriptors;
use super::super::CANNOT_START;
use super::{Agent, Here};
use crate::system::signals;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::Relaxed;

impl Agent {
    pub(super) fn obey(&mut self, order: Order) {
        match order {
            Order::Alive => {}
            Order::Plan(bytes) if self.plan.is_none() => match AgentPlan::from_bytes(&bytes) {
                Some(plan) => self.plan(plan),
                None => self.refuse("the plan of the launcher makes no sense"),
            },
            Order::Plan(_) => {}
            Order::Begin(cards) => self.begin(&cards),
            Order::Paused(is) => self.is_paused = is,
            Order::Leave(status) => self.may_leave = Some(status),
            Order::Signal(signal) => {
                let targets = self.here.as_ref().map(Here::targets).unwrap_or_default();
                targets.into_iter().for_each(|target| signals::send(target, signal));
            }
            Order::Sweep(signal) => {
                let targets = self.here.as_ref().map(Here::targets).unwrap_or_default();
                signal_all(signal, &targets, &self.crew.processes());
                if self.here.is_none() {
                    // The job ends before it has begun.
                    self.goes = Some(if self.own.is_some() { CANNOT_START } else { 0 });
                }
            }
            order => self.obey_for_ranks(order),
        }
    }

    fn obey_for_ranks(&mut self, order: Order) {
        let Some(here) = &mut self.here else { return };
        match order {
            Order::Input(bytes) => {
                here.input_ended |= bytes.is_empty();
                here.typed.extend(bytes);
                self.pass_typed();
            }
            Order::Credit(bytes) => here.credit += bytes as usize,
            Order::Ending => here.node.ending().store(1, Relaxed),
            Order::Reply { rank, text } => {
                let Some(speaker) = here.local(rank).map(|local| &mut here.ranks[local]) else { return };
                speaker.answer(&text);
            }
            Order::Ask { rank, number } => self.ask(rank, number),
            Order::Failed(rank) => here.outlive(rank),
            Order::Revoked(context) => here.revoke(context),
            Order::Decided(ballot, decision) => here.decide(ballot, decision),
            _ => {}
        }
    }

    /// Gives rank 0 what it is to read, as far as it takes it.
    pub(super) fn pass_typed(&mut self) {
        let Some(here) = &mut self.here else { return };
        let Some(input) = &here.input else { return };
        let taken = match descriptors::write(input.as_raw_fd(), &here.typed) {
            _ if here.typed.is_empty() => 0,
            Ok(count) => count,
            Err(cause) if matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => 0,
            // It reads no more: the rest is lost, as in a pipe.
            Err(_) => here.typed.len(),
        };
        here.typed.drain(..taken);
        if here.input_ended && here.typed.is_empty() {
            here.input = None;
        }
        if taken > 0 {
            self.tell(&News::InputTaken(taken as u32));
        }
    }
}
