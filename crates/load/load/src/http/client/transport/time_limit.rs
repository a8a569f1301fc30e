//! Limits how long a request waits.

use crate::http::client::failure::Failure;
use crate::running::workers::deadline::Deadline;
use std::future::poll_fn;
use std::task::{Context, Poll};

pub(crate) fn before<T>(
    deadline: &mut Deadline,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> impl Future<Output = Result<T, Failure>> {
    poll_fn(move |cx| match poll(cx) {
        Poll::Ready(output) => Poll::Ready(Ok(output)),
        Poll::Pending => deadline.poll_passed(cx).map(|()| Err(Failure::Timeout)),
    })
}
