//! An answer that is being read, whatever it is read from.

use super::body::Body;
use super::head::{ExpectedResponse, Head};
use crate::http::client::failure::{Failure, LONGEST_HEAD};
use crate::http::client::response::observer::ResponseObserver;
use hyper::StatusCode;

/// An answer that is being read.
#[derive(Debug)]
pub(crate) struct Answer {
    asked: ExpectedResponse,
    place: Place,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// In a head, whose end is not among so many bytes.
    Head(usize),
    /// After a head.
    Body(Head, Body),
}

impl Answer {
    /// The answer to a request that asks for this.
    pub(crate) fn to(asked: ExpectedResponse) -> Answer {
        Answer { asked, place: Place::Head(0) }
    }

    /// Takes what belongs to it off the front of `bytes`, and returns how many these are. What is not
    /// taken, and not after its end, has to be there again next time, with more. What is of its body is
    /// looked at.
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
                        observer.look(&rest[..taken]);
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
        // A head that comes in many parts is not read from its beginning for each.
        if seen > 0 && !is_full && !has_blank_line(&bytes[seen.saturating_sub(2)..]) {
            return Ok(0);
        }
        let Some(head) = Head::read(bytes, self.asked)? else {
            return if is_full { Err(Failure::TooLarge) } else { Ok(0) };
        };
        let is_last =
            !head.status.is_informational() || head.status == StatusCode::SWITCHING_PROTOCOLS;
        self.place =
            if is_last { Place::Body(head, Body::new(head.length)) } else { Place::Head(0) };
        Ok(head.size)
    }

    /// Its status, if it is complete.
    pub(crate) fn status(&self) -> Option<StatusCode> {
        match self.place {
            Place::Body(head, body) if body.is_complete() => Some(head.status),
            _ => None,
        }
    }

    /// Its status, if its head is complete.
    pub(crate) fn status_so_far(&self) -> Option<StatusCode> {
        match self.place {
            Place::Body(head, _) => Some(head.status),
            Place::Head(_) => None,
        }
    }

    /// Whether it lets another request follow on its connection.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self.place, Place::Body(head, _) if head.is_kept)
    }

    /// Its status, if it ends with the connection. `left` is what was not taken.
    pub(crate) fn end(&self, left: &[u8]) -> Result<StatusCode, Failure> {
        match self.place {
            Place::Body(head, Body::UntilEnd) => Ok(head.status),
            Place::Body(..) => Err(self.cut_by(Failure::HungUp)),
            // Or it was wrong before its end.
            Place::Head(_) => Head::read(left, self.asked).and(Err(Failure::HungUp)),
        }
    }

    /// The failure of its request, if this has ended the connection.
    pub(crate) fn cut_by(&self, failure: Failure) -> Failure {
        self.status_so_far().map_or(failure, |status| failure.after(status))
    }
}

/// Whether a head can end here.
fn has_blank_line(bytes: &[u8]) -> bool {
    let mut lines = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    lines.any(|(end, _)| {
        let next = &bytes[end + 1..];
        next.starts_with(b"\n") || next.starts_with(b"\r\n")
    })
}
