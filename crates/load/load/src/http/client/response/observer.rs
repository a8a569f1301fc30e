//! Observes responses while they are read: times their items, or retains them for the extraction of values.

use super::item_times::ItemTimer;
use super::retained::RetainedResponse;
use hyper::header::HeaderMap;

/// An observer of responses, which is used for one response after the other.
#[derive(Debug)]
pub(crate) enum ResponseObserver {
    /// Times the items of streamed responses.
    ItemTimes(ItemTimer),
    /// Retains responses, so that values can be extracted.
    Retained(RetainedResponse),
}

impl ResponseObserver {
    /// Notifies the observer that bytes have arrived.
    pub(crate) fn came(&mut self) {
        if let ResponseObserver::ItemTimes(timed) = self {
            timed.came();
        }
    }

    /// Passes the head of an HTTP/1 response to the observer.
    pub(crate) fn head(&mut self, head: &[u8]) {
        if let ResponseObserver::Retained(retained) = self {
            retained.head(head);
        }
    }

    /// Passes the headers of an HTTP/2 response to the observer.
    pub(crate) fn headers(&mut self, headers: &HeaderMap) {
        if let ResponseObserver::Retained(retained) = self {
            retained.headers(headers);
        }
    }

    /// Passes a part of the body to the observer.
    pub(crate) fn look(&mut self, part: &[u8]) {
        match self {
            ResponseObserver::ItemTimes(timed) => timed.look(part),
            ResponseObserver::Retained(retained) => retained.look(part),
        }
    }

    /// Notifies the observer that the response is complete.
    pub(crate) fn end(&mut self) {
        if let ResponseObserver::ItemTimes(timed) = self {
            timed.end();
        }
    }

    /// Returns whether only the head of the response is of interest from now on.
    pub(crate) fn is_head_enough(&self) -> bool {
        matches!(self, ResponseObserver::ItemTimes(timed) if timed.is_head_enough)
    }
}
