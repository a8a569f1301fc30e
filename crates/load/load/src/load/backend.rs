//! Defines the operations that a run needs from its target: more than the public trait [`Target`] requires.

use super::details::SetUp;
use super::own_times::{OwnTimes, Part};
use super::target::{Done, Failure, Slot, Target, short_name};
use nanopace::{Nanos, Pacer};
use serde_json::Value;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// `set_up` and `close` correspond to [`Target::setup`] and [`Target::teardown`].
pub(crate) trait Backend: Send + Sync + 'static {
    type Session: Send + 'static
    where
        Self: Sized;

    fn connect(&self, index: usize) -> impl Future<Output = Result<Self::Session, Failure>> + Send
    where
        Self: Sized;

    fn call(
        &self,
        session: &mut Self::Session,
        slot: Slot,
    ) -> impl Future<Output = Result<Done, Failure>> + Send
    where
        Self: Sized;

    /// Prepares the target. Called before [`Backend::probe`].
    fn set_up(&self) -> impl Future<Output = Result<(), Failure>> + Send
    where
        Self: Sized,
    {
        async { Ok(()) }
    }

    /// Closes a session. If `session` is `None`, cleans up after all loads instead.
    fn close(
        &self,
        session: Option<Self::Session>,
    ) -> impl Future<Output = Result<(), Failure>> + Send
    where
        Self: Sized,
    {
        async {
            drop(session);
            Ok(())
        }
    }

    fn probe(&self) -> impl Future<Output = Result<(), Failure>> + Send
    where
        Self: Sized,
    {
        async {
            let session = self.connect(0).await?;
            self.close(Some(session)).await
        }
    }

    fn name(&self) -> String;

    /// Returns the text that is shown after the target's name during a run.
    fn remark(&self) -> &'static str {
        ""
    }

    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    fn absence(&self, failure: &Failure) -> String {
        format!("no response from {}: {}", self.name(), failure.kind)
    }

    /// Sets the pacer of the next load. The pacer's clock measures all times of that load.
    fn paced_by(&self, _pacer: &Pacer) {}

    fn counted_by(&self, _steps: Arc<dyn Steps>) {}

    fn schedule_starts(&self) {}

    /// Returns whether calls apply the timeout themselves, and are known not to block their thread.
    fn keeps_to_timeout(&self) -> bool {
        false
    }

    fn is_local(&self) -> bool {
        false
    }

    /// Returns how many calls per second one thread can make with capacity to spare, if known.
    fn calls_per_thread(&self) -> Option<f64> {
        None
    }

    /// Returns how long it took to open each connection of a newly opened session, or `None` if this is not measured.
    fn set_ups(&self, _session: &mut Self::Session) -> Option<Vec<SetUp>>
    where
        Self: Sized,
    {
        None
    }

    /// Returns how many files the sessions may have open at once. `sessions` contains the number for each thread.
    fn open_files(&self, sessions: &[usize]) -> u64 {
        sessions.iter().sum::<usize>() as u64
    }

    /// Returns the object that opens blocking sessions, each on its own thread, or `None` if calls do not block.
    fn blocking(self: Arc<Self>) -> Option<Arc<dyn BlockingSessions>> {
        None
    }

    /// Returns whether calls may have different labels. If so, a CSV log has a column for labels.
    fn has_labels(&self) -> bool {
        true
    }

    fn scenario_hash(&self) -> Option<String> {
        None
    }

    /// Returns the labels that reports show even if no operation with the label has ended.
    fn labels(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn may_have(&self, _label: &str) -> bool {
        true
    }

    fn most_slots(&self) -> Option<u64> {
        None
    }

    /// Returns a JSON object that describes the request of a slot, or `None` if the target cannot describe requests. If
    /// requests depend on earlier responses, returns a message for a user who wants to repeat requests.
    fn request(&self, _slot: u64) -> Result<Option<Value>, &'static str> {
        Ok(None)
    }

    fn take_own_times(&self) -> Vec<OwnTimes> {
        Vec::new()
    }

    fn has_timed(&self, part: Part) -> &'static str {
        part.of_own_target()
    }

    fn resolved_in(&self) -> Duration {
        Duration::ZERO
    }
}

impl<T: Target> Backend for T {
    type Session = T::Session;

    fn connect(&self, index: usize) -> impl Future<Output = Result<T::Session, Failure>> + Send {
        Target::connect(self, index)
    }

    fn call(
        &self,
        session: &mut T::Session,
        slot: Slot,
    ) -> impl Future<Output = Result<Done, Failure>> + Send {
        Target::call(self, session, slot)
    }

    fn set_up(&self) -> impl Future<Output = Result<(), Failure>> + Send {
        Target::setup(self)
    }

    fn close(
        &self,
        session: Option<T::Session>,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        Target::teardown(self, session)
    }

    fn name(&self) -> String {
        self.about().name.unwrap_or_else(short_name::<T>)
    }

    fn paced_by(&self, pacer: &Pacer) {
        self.about().paced_by(pacer);
    }

    fn most_slots(&self) -> Option<u64> {
        self.about().most_slots()
    }

    fn blocking(self: Arc<Self>) -> Option<Arc<dyn BlockingSessions>> {
        T::BLOCKS.then_some(self)
    }

    fn take_own_times(&self) -> Vec<OwnTimes> {
        self.about().take()
    }
}

pub(crate) trait BlockingSessions: Send + Sync {
    fn open(&self, index: usize) -> Result<Box<dyn BlockingSession + '_>, Failure>;
}

pub(crate) trait BlockingSession {
    fn call(&mut self, slot: Slot) -> Result<Done, Failure>;

    fn close(self: Box<Self>) -> Result<(), Failure>;
}

impl<T: Target> BlockingSessions for T {
    fn open(&self, index: usize) -> Result<Box<dyn BlockingSession + '_>, Failure> {
        let session = polled_once(Target::connect(self, index))?;
        Ok(Box::new(Opened { target: self, session }))
    }
}

struct Opened<'target, T: Target> {
    target: &'target T,
    session: T::Session,
}

impl<T: Target> BlockingSession for Opened<'_, T> {
    fn call(&mut self, slot: Slot) -> Result<Done, Failure> {
        polled_once(self.target.call(&mut self.session, slot))
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        polled_once(self.target.teardown(Some(self.session)))
    }
}

fn polled_once<R>(called: impl Future<Output = Result<R, Failure>>) -> Result<R, Failure> {
    match pin!(called).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(Failure::new("a target that blocks must not await").broken()),
    }
}

/// Counts each step of a call as soon as the step ends, because the rest of the call may take long or be given up.
pub(crate) trait Steps: Debug + Send + Sync {
    fn end(&self, session: usize, due: Nanos, end: Nanos, called: Result<Done, Failure>);

    /// Records that the call for `slot` has a think time: the call sends nothing until `until`.
    fn rest(&self, session: usize, slot: Slot, until: Nanos);

    /// Records that the think time has ended. Returns the current time.
    fn go_on(&self, session: usize, slot: Slot) -> Nanos;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    struct Awaits;

    impl Target for Awaits {
        type Session = ();

        const BLOCKS: bool = true;

        async fn connect(&self, _index: usize) -> Result<(), Failure> {
            Ok(())
        }

        async fn call(&self, _session: &mut (), _slot: Slot) -> Result<Done, Failure> {
            pending().await
        }
    }

    #[test]
    fn a_blocking_call_that_awaits_fails_and_does_not_hang() {
        let sessions = Arc::new(Awaits).blocking().unwrap();
        let failure = sessions.open(0).unwrap().call(Slot::ALONE).unwrap_err();
        assert_eq!(failure.kind.to_string(), "a target that blocks must not await");
        assert!(failure.is_broken);
    }
}
