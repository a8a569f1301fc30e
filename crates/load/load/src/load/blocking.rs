//! Defines targets whose calls block their thread.

use super::about::About;
use super::target::{Done, Failure, Slot, Target};

/// A target for drivers without an async interface. Every `BlockingTarget` is also a [`Target`].
///
/// Each session has a thread of its own, which waits for a slot, makes the call and waits for the response. The number
/// of threads is therefore the number of sessions; a requested number of threads has no effect. The time inside a call
/// is attributed to the target.
///
/// A call that blocks cannot be canceled, so the timeout does not apply. Set the timeout of the driver instead. A call
/// that still hangs when the run is given up is counted as unfinished, and its thread is not joined.
///
/// The load begins when all sessions are open or have failed to open, or when the timeout has passed. A session that
/// opens later takes slots at once. If a session is still not open when the schedule ends, its thread is not joined.
///
/// A function or closure that takes a [`Slot`] and returns `Result<Done, Failure>` is a blocking target. Its sessions
/// hold no data:
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
    message = "`{Self}` is not a target: implement `Target`, or `BlockingTarget` if its calls block"
)]
pub trait BlockingTarget: Send + Sync + 'static {
    /// A connection, or another object that carries one call at a time.
    type Session: Send + 'static;

    /// Opens session number `index`, counted from 0, on the thread that will use the session. The method is called
    /// before the load begins, and for the next call after a failure that has [broken](Failure::broken) the session. A
    /// session with the number 0 is opened and closed before that, to check that the target is available.
    ///
    /// # Errors
    ///
    /// Returns a failure if the session cannot be opened. If the check of availability fails, the load does not run. If
    /// another attempt before the load fails, `connect` is called again for the session's first call. If `connect`
    /// fails for a call, that call fails with the same kind of failure.
    fn connect(&self, index: usize) -> Result<Self::Session, Failure>;

    /// Performs the operation for a slot. A panic counts as a failure. Retries inside the call are part of its service
    /// time.
    ///
    /// # Errors
    ///
    /// Returns a failure if the operation failed. The failure contains its kind, and whether the session is still
    /// usable.
    fn call(&self, session: &mut Self::Session, slot: Slot) -> Result<Done, Failure>;

    /// Prepares the target before the load begins. See [`Target::setup`].
    ///
    /// # Errors
    ///
    /// Returns a failure if the target is not available. The load then does not run.
    fn setup(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// With `Some`, closes the session on its thread, without a timeout. With `None`, cleans up after the load. See
    /// [`Target::teardown`].
    ///
    /// # Errors
    ///
    /// Returns a failure if the session cannot be closed or the cleanup fails. A failure for `None` becomes a warning.
    fn teardown(&self, session: Option<Self::Session>) -> Result<(), Failure> {
        drop(session);
        Ok(())
    }

    /// Returns the name that reports use, and the measurements that the target makes itself. See [`Target::about`].
    fn about(&self) -> About<'_> {
        About::new()
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

    async fn setup(&self) -> Result<(), Failure> {
        BlockingTarget::setup(self)
    }

    async fn teardown(&self, session: Option<T::Session>) -> Result<(), Failure> {
        BlockingTarget::teardown(self, session)
    }

    fn about(&self) -> About<'_> {
        BlockingTarget::about(self)
    }
}
