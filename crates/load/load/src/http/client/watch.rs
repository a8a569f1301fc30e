//! What looks at answers as they come, if anything does.

use super::kept::Kept;
use super::timed::Timed;
use hyper::header::HeaderMap;

/// Looks at one answer after the other.
#[derive(Debug)]
pub(crate) enum Watch {
    /// Times their items.
    Timed(Timed),
    /// Keeps them whole.
    Kept(Kept),
}

impl Watch {
    /// Something came.
    pub(crate) fn came(&mut self) {
        if let Watch::Timed(timed) = self {
            timed.came();
        }
    }

    /// The head of the answer, of HTTP/1.
    pub(crate) fn head(&mut self, head: &[u8]) {
        if let Watch::Kept(kept) = self {
            kept.head(head);
        }
    }

    /// The headers of the answer.
    pub(crate) fn headers(&mut self, headers: &HeaderMap) {
        if let Watch::Kept(kept) = self {
            kept.headers(headers);
        }
    }

    /// This part of its body.
    pub(crate) fn look(&mut self, part: &[u8]) {
        match self {
            Watch::Timed(timed) => timed.look(part),
            Watch::Kept(kept) => kept.look(part),
        }
    }

    /// The answer is whole.
    pub(crate) fn end(&mut self) {
        if let Watch::Timed(timed) = self {
            timed.end();
        }
    }

    /// Whether nobody waits for more of an answer than its head.
    pub(crate) fn is_head_enough(&self) -> bool {
        matches!(self, Watch::Timed(timed) if timed.is_head_enough)
    }
}
