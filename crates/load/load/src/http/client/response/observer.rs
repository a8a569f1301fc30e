//! Records when the items of responses arrive, or retains responses to extract values and cookies.

use super::item_times::ItemTimer;
use super::retained::RetainedResponse;
use hyper::header::HeaderMap;

#[derive(Debug)]
pub(crate) enum ResponseObserver {
    ItemTimes(ItemTimer),
    Retained(RetainedResponse),
}

impl ResponseObserver {
    pub(crate) fn came(&mut self) {
        if let ResponseObserver::ItemTimes(timed) = self {
            timed.came();
        }
    }

    pub(crate) fn head(&mut self, head: &[u8]) {
        if let ResponseObserver::Retained(retained) = self {
            retained.head(head);
        }
    }

    pub(crate) fn headers(&mut self, headers: &HeaderMap) {
        if let ResponseObserver::Retained(retained) = self {
            retained.headers(headers);
        }
    }

    pub(crate) fn observe_body(&mut self, part: &[u8]) {
        match self {
            ResponseObserver::ItemTimes(timed) => timed.observe_body(part),
            ResponseObserver::Retained(retained) => retained.observe_body(part),
        }
    }

    pub(crate) fn end(&mut self) {
        if let ResponseObserver::ItemTimes(timed) = self {
            timed.end();
        }
    }

    pub(crate) fn is_head_enough(&self) -> bool {
        matches!(self, ResponseObserver::ItemTimes(timed) if timed.is_head_enough)
    }
}
