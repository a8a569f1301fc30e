//! Observes responses while they are read: times their items, or retains them for searching.

use super::item_times::ItemTimer;
use super::retained::RetainedResponse;
use hyper::header::HeaderMap;

/// An observer, used for one response after the other.
#[derive(Debug)]
pub(crate) enum ResponseObserver {
    /// Times the items of streamed responses.
    ItemTimes(ItemTimer),
    /// Retains responses for searching.
    Retained(RetainedResponse),
}

impl ResponseObserver {
    /// Reports that bytes have arrived.
    pub(crate) fn came(&mut self) {
        if let ResponseObserver::ItemTimes(timed) = self {
            timed.came();
        }
    }

    /// Passes on the head of an HTTP/1 response.
    pub(crate) fn head(&mut self, head: &[u8]) {
        if let ResponseObserver::Retained(retained) = self {
            retained.head(head);
        }
    }

    /// Passes on the headers of an HTTP/2 response.
    pub(crate) fn headers(&mut self, headers: &HeaderMap) {
        if let ResponseObserver::Retained(retained) = self {
            retained.headers(headers);
        }
    }

    /// Passes on a part of the body.
    pub(crate) fn look(&mut self, part: &[u8]) {
        match self {
            ResponseObserver::ItemTimes(timed) => timed.look(part),
            ResponseObserver::Retained(retained) => retained.look(part),
        }
    }

    /// Reports that the response is complete.
    pub(crate) fn end(&mut self) {
        if let ResponseObserver::ItemTimes(timed) = self {
            timed.end();
        }
    }

    /// Returns whether only the head of the response is still of interest.
    pub(crate) fn is_head_enough(&self) -> bool {
        matches!(self, ResponseObserver::ItemTimes(timed) if timed.is_head_enough)
    }
}
