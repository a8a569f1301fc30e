//! Observes responses while they are read: times their items, or retains them.

use super::item_times::ItemTimer;
use super::retained::RetainedResponse;
use hyper::header::HeaderMap;

/// Observes one response after the other.
#[derive(Debug)]
pub(crate) enum ResponseObserver {
    /// Times the items.
    ItemTimes(ItemTimer),
    /// Retains the responses.
    Retained(RetainedResponse),
}

impl ResponseObserver {
    /// Bytes arrived.
    pub(crate) fn came(&mut self) {
        if let ResponseObserver::ItemTimes(timed) = self {
            timed.came();
        }
    }

    /// The head of an HTTP/1 response.
    pub(crate) fn head(&mut self, head: &[u8]) {
        if let ResponseObserver::Retained(retained) = self {
            retained.head(head);
        }
    }

    /// The headers of an HTTP/2 response.
    pub(crate) fn headers(&mut self, headers: &HeaderMap) {
        if let ResponseObserver::Retained(retained) = self {
            retained.headers(headers);
        }
    }

    /// A part of the body.
    pub(crate) fn look(&mut self, part: &[u8]) {
        match self {
            ResponseObserver::ItemTimes(timed) => timed.look(part),
            ResponseObserver::Retained(retained) => retained.look(part),
        }
    }

    /// The response is complete.
    pub(crate) fn end(&mut self) {
        if let ResponseObserver::ItemTimes(timed) = self {
            timed.end();
        }
    }

    /// Whether only the head of a response is awaited.
    pub(crate) fn is_head_enough(&self) -> bool {
        matches!(self, ResponseObserver::ItemTimes(timed) if timed.is_head_enough)
    }
}
