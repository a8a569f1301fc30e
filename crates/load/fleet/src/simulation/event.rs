//! Stores the events of a simulation, sorted by time.

use crate::message::{Reply, Request};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// An event of a simulation. The ticket of a request is also that of its response. If several turns are queued for a
/// node, only the last one that was queued counts.
#[derive(Debug)]
pub(super) enum Event {
    Turn { machine: usize, number: u64 },
    Request { machine: usize, ticket: u64, request: Box<Request> },
    Reply { machine: usize, ticket: u64, reply: Box<Reply> },
    TimedOut { machine: usize, ticket: u64 },
    Fault(usize),
}

#[derive(Debug)]
struct Entry {
    at_ns: u64,
    number: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        (self.at_ns, self.number).cmp(&(other.at_ns, other.number))
    }
}

/// The events in the order of their times. Events at the same time keep the order in which they were queued.
#[derive(Debug, Default)]
pub(super) struct Events {
    heap: BinaryHeap<Reverse<Entry>>,
    number: u64,
}

impl Events {
    pub(super) fn push(&mut self, at_ns: u64, event: Event) {
        self.number += 1;
        self.heap.push(Reverse(Entry { at_ns, number: self.number, event }));
    }

    pub(super) fn pop(&mut self, until_ns: u64) -> Option<(u64, Event)> {
        let Reverse(next) = self.heap.peek()?;
        if next.at_ns >= until_ns {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| (entry.at_ns, entry.event))
    }
}
