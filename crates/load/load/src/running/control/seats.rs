//! Who is connected. Nobody is kept out by clients that say nothing: when all seats are taken, whoever
//! has been silent for longest makes room. But everybody has the time to say what is wanted.

use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// As many clients at once.
const SEATS: usize = 128;

/// How long a client may be silent in any case.
const GRACE: Duration = Duration::from_millis(20);

/// How long to wait before looking for a seat again.
const RESPITE: Duration = Duration::from_millis(10);

/// The place of a client.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    /// Since when nothing was heard of it; none while it waits for us.
    silent_since: watch::Sender<Option<Instant>>,
}

impl Seat {
    fn new() -> Seat {
        Seat { silent_since: watch::Sender::new(Some(Instant::now())) }
    }

    /// The client has said something.
    pub(super) fn heard(&self) {
        self.silent_since.send_replace(Some(Instant::now()));
    }

    /// Does what the client waits for, which keeps its seat meanwhile.
    pub(super) async fn wait_for<T>(&self, work: impl Future<Output = T>) -> T {
        self.silent_since.send_replace(None);
        let done = work.await;
        self.heard();
        done
    }
}

/// All seats that are taken, and what is done for those who sit there.
#[derive(Debug, Default)]
pub(super) struct Seats(Vec<(Seat, JoinHandle<()>)>);

impl Seats {
    /// Gives a seat to a client, for which `converse` is done.
    pub(super) async fn give<F>(&mut self, converse: impl FnOnce(Seat) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        while !self.has_room() {
            sleep(RESPITE).await;
        }
        let seat = Seat::new();
        self.0.push((seat.clone(), tokio::spawn(converse(seat))));
    }

    /// Waits until all have gone by themselves.
    pub(super) async fn leave(self) {
        for (_, conversation) in self.0 {
            // One that panicked has said so.
            let _ = conversation.await;
        }
    }

    fn has_room(&mut self) -> bool {
        self.0.retain(|(_, conversation)| !conversation.is_finished());
        if self.0.len() == SEATS {
            self.send_away();
        }
        self.0.len() < SEATS
    }

    /// Ends the conversation with whoever was silent for longest, if that was long enough.
    fn send_away(&mut self) {
        let silent_since = |(seat, _): &(Seat, _)| *seat.silent_since.borrow();
        let all = self.0.iter().enumerate();
        let silent = all.filter_map(|(at, taken)| Some((silent_since(taken)?, at))).min();
        if let Some((_, at)) = silent.filter(|(since, _)| since.elapsed() >= GRACE) {
            self.0.remove(at).1.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::time::timeout;

    const SECOND: Duration = Duration::from_secs(1);

    /// All seats, taken one second after the other. Each client says nothing, or waits.
    async fn taken(waits: impl Fn(usize) -> bool) -> Seats {
        let mut seats = Seats::default();
        for number in 0..SEATS {
            let waits = waits(number);
            seats.give(|seat| talk(seat, waits)).await;
            sleep(SECOND).await;
        }
        seats
    }

    async fn talk(seat: Seat, waits: bool) {
        if waits { seat.wait_for(pending()).await } else { pending().await }
    }

    /// Which of those who had a seat at first have lost it.
    fn gone(before: &[Seat], seats: &Seats) -> Vec<usize> {
        let is_there = |seat: &Seat| {
            seats.0.iter().any(|(other, _)| other.silent_since.same_channel(&seat.silent_since))
        };
        (0..before.len()).filter(|&number| !is_there(&before[number])).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_silent_for_longest_makes_room() {
        let mut seats = taken(|number| number == 1).await;
        let before: Vec<_> = seats.0.iter().map(|(seat, _)| seat.clone()).collect();
        before[2].heard();
        for expected in [&[0][..], &[0, 3], &[0, 3, 4]] {
            seats.give(|seat| talk(seat, false)).await;
            assert_eq!((gone(&before, &seats), seats.0.len()), (expected.to_vec(), SEATS));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn everybody_has_time_to_speak() {
        let mut seats = Seats::default();
        let begin = Instant::now();
        for _ in 0..=2 * SEATS {
            seats.give(|seat| talk(seat, false)).await;
        }
        assert!(begin.elapsed() >= 2 * GRACE, "{:?}", begin.elapsed());
        assert!(begin.elapsed() < 3 * GRACE, "{:?}", begin.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_the_run_keeps_the_seat() {
        let mut seats = taken(|_| true).await;
        let given = timeout(SECOND, seats.give(|seat| talk(seat, false))).await;
        assert!(given.is_err() && seats.0.len() == SEATS);
        // One has gone by itself.
        seats.0[5].1.abort();
        seats.give(|seat| talk(seat, false)).await;
        assert_eq!(seats.0.len(), SEATS);
    }
}
