//! Observes responses while they are read: times their items, or retains them.

use super::item_times::ItemTimer;
use super::retained::RetainedResponse;
use hyper::header::HeaderMap;

/// Looks at one answer after the other.
#[derive(Debug)]
pub(crate) enum ResponseObserver {
    /// Times their items.
    ItemTimes(ItemTimer),
    /// Keeps them whole.
    Retained(RetainedResponse),
}

impl ResponseObserver {
    /// Something came.
    pub(crate) fn came(&mut self) {
        if let ResponseObserver::ItemTimes(timed) = self {
            timed.came();
        }
    }

    /// The head of the answer, of HTTP/1.
    pub(crate) fn head(&mut self, head: &[u8]) {
        if let ResponseObserver::Retained(retained) = self {
            retained.head(head);
        }
    }

    /// The headers of the answer.
    pub(crate) fn headers(&mut self, headers: &HeaderMap) {
        if let ResponseObserver::Retained(retained) = self {
            retained.headers(headers);
        }
    }

    /// This part of its body.
    pub(crate) fn look(&mut self, part: &[u8]) {
        match self {
            ResponseObserver::ItemTimes(timed) => timed.look(part),
            ResponseObserver::Retained(retained) => retained.look(part),
        }
    }

    /// The answer is whole.
    pub(crate) fn end(&mut self) {
        if let ResponseObserver::ItemTimes(timed) = self {
            timed.end();
        }
    }

    /// Whether nobody waits for more of an answer than its head.
    pub(crate) fn is_head_enough(&self) -> bool {
        matches!(self, ResponseObserver::ItemTimes(timed) if timed.is_head_enough)
    }
}
