//! Parses a response as its bytes arrive. The caller reads them from the connection.

use super::body::Body;
use super::head::{self, ExpectedResponse, Head};
use crate::http::client::failure::{Failure, LONGEST_HEAD};
use crate::http::client::response::observer::ResponseObserver;
use hyper::StatusCode;

#[derive(Debug)]
pub(crate) struct Answer {
    asked: ExpectedResponse,
    place: Place,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// The head is incomplete. The search for its end has covered this number of its bytes, without success.
    Head(usize),
    Body(Head, Body),
}

impl Answer {
    pub(crate) fn to(asked: ExpectedResponse) -> Answer {
        Answer { asked, place: Place::Head(0) }
    }

    /// Returns the number of consumed bytes. The caller passes the other bytes again, followed by more bytes.
    pub(crate) fn take(
        &mut self,
        bytes: &[u8],
        mut observer: Option<&mut ResponseObserver>,
    ) -> Result<usize, Failure> {
        let mut taken = 0;
        while taken < bytes.len() && self.status().is_none() {
            let rest = &bytes[taken..];
            let more = match &mut self.place {
                Place::Head(seen) => {
                    let seen = *seen;
                    let taken = self.take_head(seen, rest)?;
                    if let (Some(observer), Place::Body(..)) =
                        (observer.as_deref_mut(), &self.place)
                    {
                        observer.head(&rest[..taken]);
                    }
                    taken
                }
                Place::Body(_, body) => {
                    let is_content = body.is_content();
                    let taken = body.take(rest)?;
                    if let Some(observer) = observer.as_deref_mut().filter(|_| is_content) {
                        observer.observe_body(&rest[..taken]);
                    }
                    taken
                }
            };
            if more == 0 {
                break;
            }
            taken += more;
        }
        Ok(taken)
    }

    fn take_head(&mut self, seen: usize, bytes: &[u8]) -> Result<usize, Failure> {
        let bytes = &bytes[..bytes.len().min(LONGEST_HEAD)];
        let is_full = bytes.len() == LONGEST_HEAD;
        self.place = Place::Head(bytes.len());
        // A head that arrives in many parts is parsed only when it is complete, not after each part.
        if seen > 0 && !is_full && !has_blank_line(&bytes[seen.saturating_sub(2)..]) {
            return Ok(0);
        }
        let Some(head) = head::read_or_reuse(bytes, self.asked)? else {
            return if is_full { Err(Failure::TooLarge) } else { Ok(0) };
        };
        let body = || Place::Body(head, Body::new(head.length));
        self.place = if head.is_interim() { Place::Head(0) } else { body() };
        Ok(head.size)
    }

    pub(crate) fn status(&self) -> Option<StatusCode> {
        match self.place {
            Place::Body(head, body) if body.is_complete() => Some(head.status),
            _ => None,
        }
    }

    pub(crate) fn status_so_far(&self) -> Option<StatusCode> {
        match self.place {
            Place::Body(head, _) => Some(head.status),
            Place::Head(_) => None,
        }
    }

    pub(crate) fn is_kept(&self) -> bool {
        matches!(self.place, Place::Body(head, _) if head.is_kept)
    }

    /// Returns the status if the end of the stream completes the response. `left` contains the unconsumed bytes.
    pub(crate) fn end(&self, left: &[u8]) -> Result<StatusCode, Failure> {
        match self.place {
            Place::Body(head, Body::UntilEnd) => Ok(head.status),
            Place::Body(..) => Err(self.cut_by(Failure::HungUp)),
            // If the incomplete head is malformed, the parse error is the failure.
            Place::Head(_) => Head::read(left, self.asked).and(Err(Failure::HungUp)),
        }
    }

    pub(crate) fn cut_by(&self, failure: Failure) -> Failure {
        self.status_so_far().map_or(failure, |status| failure.after(status))
    }
}

fn has_blank_line(bytes: &[u8]) -> bool {
    let mut lines = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    lines.any(|(end, _)| {
        let next = &bytes[end + 1..];
        next.starts_with(b"\n") || next.starts_with(b"\r\n")
    })
}
