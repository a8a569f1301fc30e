//! Targets whose calls block their thread.

use super::stream_times::StreamTimes;
use super::target::{Done, Failure, Slot, Target, short_name};

/// What is loaded, by a driver that has no async interface. It is a [`Target`], too: whatever takes one
/// takes this.
///
/// Each session has a thread of its own, which waits for a slot, makes the call for it and waits for its
/// answer: the number of threads is that of the sessions, whatever else was asked for. The time inside of a
/// call is the target's.
///
/// Nothing can end a call that blocks, so the timeout does not apply: set the driver's. A call that still
/// hangs when the run is given up is counted as unfinished, and its thread is left behind.
///
/// The load begins when all sessions are open, or after the timeout. A session that is open later takes part
/// from then on. One that is not open when the schedule ends is left behind, too.
///
/// A function or closure that takes a [`Slot`] and returns `Result<Done, Failure>` is one, too, without
/// sessions:
///
/// ```
/// use nanopace_load::{Done, Load, Slot};
///
/// # fn main() -> Result<(), nanopace_load::LoadError> {
/// let load = Load::new("2k/s".parse()?).sessions(2).requests(200);
/// let report = load.run_blocking(|slot: Slot| {
///     std::hint::black_box(slot.number().to_string());
///     Ok(Done::new())
/// })?;
/// assert_eq!(report.completed(), 200);
/// # Ok(())
/// # }
/// ```
///
/// # Examples
///
/// ```
/// use nanopace_load::{BlockingTarget, Done, Failure, Slot};
/// use std::io::{Read, Write};
/// use std::net::TcpStream;
/// use std::time::Duration;
///
/// /// A server that sends back what it gets.
/// struct Echo {
///     address: String,
/// }
///
/// impl BlockingTarget for Echo {
///     type Session = TcpStream;
///
///     fn connect(&self, _index: usize) -> Result<TcpStream, Failure> {
///         let stream = TcpStream::connect(&self.address)?;
///         stream.set_read_timeout(Some(Duration::from_secs(10)))?;
///         Ok(stream)
///     }
///
///     fn call(&self, stream: &mut TcpStream, slot: Slot) -> Result<Done, Failure> {
///         let sent = slot.number().to_le_bytes();
///         stream.write_all(&sent)?;
///         let mut answer = [0; 8];
///         stream.read_exact(&mut answer)?;
///         if answer != sent {
///             return Err(Failure::new("another answer"));
///         }
///         Ok(Done::new().bytes(8, 8))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no target: implement `Target`, or `BlockingTarget` if its calls block"
)]
pub trait BlockingTarget: Send + Sync + 'static {
    /// A connection, or whatever else carries calls one after the other.
    type Session: Send + 'static;

    /// Opens the session number `index`, counted from 0, on the thread that it will be used on: before the
    /// load begins, and again after a failure that has [broken](Failure::broken) it.
    ///
    /// # Errors
    ///
    /// Why there is no session; the call that needs it fails by this kind. A session that can't be
    /// opened before the load begins is tried again by its first call.
    fn connect(&self, index: usize) -> Result<Self::Session, Failure>;

    /// Does one operation: the one with the slot's number. A panic counts as a failure. What it retries by
    /// itself is part of its service time.
    ///
    /// # Errors
    ///
    /// How it failed, and whether the session is still good.
    fn call(&self, session: &mut Self::Session, slot: Slot) -> Result<Done, Failure>;

    /// What reports call it: its type's name, unless this is implemented. See [`Target::name`].
    fn name(&self) -> String {
        short_name::<Self>()
    }

    /// Where its calls note when the items of their answers came. See [`Target::stream_times`].
    fn stream_times(&self) -> Option<&StreamTimes> {
        None
    }
}

impl<T: BlockingTarget> Target for T {
    type Session = T::Session;

    const BLOCKS: bool = true;

    async fn connect(&self, index: usize) -> Result<T::Session, Failure> {
        BlockingTarget::connect(self, index)
    }

    async fn call(&self, session: &mut T::Session, slot: Slot) -> Result<Done, Failure> {
        BlockingTarget::call(self, session, slot)
    }

    fn stream_times(&self) -> Option<&StreamTimes> {
        BlockingTarget::stream_times(self)
    }

    fn name(&self) -> String {
        BlockingTarget::name(self)
    }
}
