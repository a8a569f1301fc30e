//! Takes the next slot for a worker: the next slot of the load, or the next slot of the worker's own connection.

use super::connection_slots::ConnectionSlots;
use nanopace::{Grant, Nanos, Refused};
use nanopace_async::AsyncPacer;
use std::future::poll_fn;
use std::pin::pin;

/// Returns the next slot and the time. If slots belong to connections, `own` contains the slots of all connections,
/// and the number of the worker's connection. If there was no wait for the slot, the returned time may be `clock`,
/// which was read just before.
pub(super) async fn next_slot(
    line: &AsyncPacer,
    own: Option<(&ConnectionSlots, usize)>,
    mut clock: Option<Nanos>,
) -> Result<(Grant, Nanos), Refused> {
    let grant = if let Some((slots, connection)) = own {
        clock = None;
        line.await_claim(slots.claim(connection, line.pacer())?).await?
    } else {
        let mut acquired = pin!(line.acquire());
        let acquired = poll_fn(|cx| {
            let polled = acquired.as_mut().poll(cx);
            clock = clock.filter(|_| polled.is_ready());
            polled
        });
        acquired.await?
    };
    let now = clock.unwrap_or_else(|| line.pacer().now());
    Ok((grant, now.max(grant.actual_start())))
}
