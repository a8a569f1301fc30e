//! Defines a target, its sessions, and the results of calls.

use super::about::About;
use super::details::{Details, SetUp};
use super::kind::FailureKind;
use super::shortage::Shortage;
pub use super::slot::Slot;
use crate::console::human;
use nanopace::Nanos;
use std::any::type_name;
use std::error::Error;
use std::fmt::Display;

/// The maximum number of characters of an error's text in a kind of failure.
const LONGEST: usize = 120;

/// The system under load: a database, a queue, a service.
///
/// Each session has a task of its own and carries one call at a time, so the maximum number of calls in flight is the
/// number of sessions.
///
/// # Examples
///
/// ```
/// use nanopace_load::{Done, Failure, Slot, Target};
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// use tokio::net::TcpStream;
///
/// /// A server that sends back what it gets.
/// struct Echo {
///     address: String,
/// }
///
/// impl Target for Echo {
///     type Session = TcpStream;
///
///     async fn connect(&self, _index: usize) -> Result<TcpStream, Failure> {
///         Ok(TcpStream::connect(&self.address).await?)
///     }
///
///     async fn call(&self, stream: &mut TcpStream, slot: Slot) -> Result<Done, Failure> {
///         let sent = slot.number().to_le_bytes();
///         stream.write_all(&sent).await?;
///         let mut answer = [0; 8];
///         stream.read_exact(&mut answer).await?;
///         if answer != sent {
///             return Err(Failure::new("another answer"));
///         }
///         Ok(Done::new().bytes(8, 8))
///     }
/// }
/// ```
pub trait Target: Send + Sync + 'static {
    /// A connection, or another object that carries one call at a time.
    type Session: Send + 'static;

    /// Whether [`connect`](Target::connect), [`call`](Target::call) and [`teardown`](Target::teardown) block their
    /// thread. If so, each session has a thread of its own, on which the futures of these methods are polled once. The
    /// constant is `true` for each [`BlockingTarget`](crate::BlockingTarget).
    const BLOCKS: bool = false;

    /// Opens session number `index`, counted from 0. Sessions are opened before the load begins; with a growing pool
    /// (`--connections 8..64`), further sessions are opened during the load. A session is opened again after a timeout,
    /// and after a failure that has [broken](Failure::broken) it. The session's next slot then waits until the session
    /// is open; this wait is not part of the slot's service time.
    ///
    /// `connect` must not block its thread. If a thread is blocked for over a second longer than the timeout, the load
    /// begins without the sessions of that thread. Those sessions take slots as soon as all of them are open.
    ///
    /// # Errors
    ///
    /// Returns a failure if the session cannot be opened. If the check after [`setup`](Target::setup) fails, the load
    /// does not run. If another attempt before the load fails, `connect` is called again for the session's first call.
    /// If `connect` fails for a call, that call fails with the same kind of failure.
    fn connect(&self, index: usize) -> impl Future<Output = Result<Self::Session, Failure>> + Send;

    /// Performs the operation for a slot.
    ///
    /// The future is dropped when it takes longer than the timeout, and when the run is given up. The future must not
    /// block its thread, which carries other sessions too; implement [`BlockingTarget`](crate::BlockingTarget) for
    /// calls that block. If the run is given up while a call blocks its thread, the thread is not joined. A panic
    /// counts as a failure. Retries inside the call are part of its service time.
    ///
    /// # Errors
    ///
    /// Returns a failure if the operation failed. The failure contains its kind, and whether the session is still
    /// usable.
    fn call(
        &self,
        session: &mut Self::Session,
        slot: Slot,
    ) -> impl Future<Output = Result<Done, Failure>> + Send;

    /// Prepares the target before the load begins, for example by creating a table. The default does nothing. Each
    /// process calls `setup` once; in a search, before the first step. `setup` has no timeout, and may block its
    /// thread. The library then opens a session within the timeout to check that the target is available. Reports do
    /// not include the time of `setup` and of this check.
    ///
    /// # Errors
    ///
    /// Returns a failure if the target is not available. The load then does not run, and `teardown` is not called.
    ///
    /// # Examples
    ///
    /// ```
    /// use nanopace_load::{About, Done, Failure, Load, Slot, Target};
    ///
    /// struct Absent;
    ///
    /// impl Target for Absent {
    ///     type Session = ();
    ///
    ///     async fn connect(&self, _index: usize) -> Result<(), Failure> {
    ///         Ok(())
    ///     }
    ///
    ///     async fn call(&self, _session: &mut (), _slot: Slot) -> Result<Done, Failure> {
    ///         Ok(Done::new())
    ///     }
    ///
    ///     async fn setup(&self) -> Result<(), Failure> {
    ///         Err(Failure::new("the table is missing"))
    ///     }
    ///
    ///     fn about(&self) -> About<'_> {
    ///         About::new().name("my table")
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), nanopace_load::LoadError> {
    /// let error = Load::new("1k/s".parse()?).run_blocking(Absent).unwrap_err();
    /// assert_eq!(error.to_string(), "the setup of my table failed: the table is missing");
    /// # Ok(())
    /// # }
    /// ```
    fn setup(&self) -> impl Future<Output = Result<(), Failure>> + Send {
        async { Ok(()) }
    }

    /// With `Some`, closes the session. With `None`, cleans up after the load. The default drops the session.
    ///
    /// At the end of the load, `teardown` is called for each open session, within the timeout. After the load, each
    /// process calls `teardown` once with `None` and without a timeout, even if the load failed or was interrupted. A
    /// session is dropped without this call if a failure has [broken](Failure::broken) it, or if the run is given up.
    ///
    /// # Errors
    ///
    /// Returns a failure if the session cannot be closed or the cleanup fails. A failure for `None` becomes a warning;
    /// failures for sessions have no effect.
    ///
    /// # Examples
    ///
    /// ```
    /// use nanopace_load::{Done, Failure, Load, Slot, Target};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicI64, Ordering};
    ///
    /// /// Counts the sessions that are open at a server.
    /// struct Counting(Arc<AtomicI64>);
    ///
    /// impl Target for Counting {
    ///     type Session = &'static str;
    ///
    ///     async fn connect(&self, _index: usize) -> Result<&'static str, Failure> {
    ///         self.0.fetch_add(1, Ordering::Relaxed);
    ///         Ok("a connection")
    ///     }
    ///
    ///     async fn call(&self, _session: &mut &'static str, _slot: Slot) -> Result<Done, Failure> {
    ///         Ok(Done::new())
    ///     }
    ///
    ///     async fn teardown(&self, session: Option<&'static str>) -> Result<(), Failure> {
    ///         match session {
    ///             Some(_connection) => drop(self.0.fetch_sub(1, Ordering::Relaxed)),
    ///             None => println!("drop the table"),
    ///         }
    ///         Ok(())
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), nanopace_load::LoadError> {
    /// let open = Arc::new(AtomicI64::new(0));
    /// Load::new("1k/s".parse()?).requests(100).run_blocking(Counting(Arc::clone(&open)))?;
    /// assert_eq!(open.load(Ordering::Relaxed), 0);
    /// # Ok(())
    /// # }
    /// ```
    fn teardown(
        &self,
        session: Option<Self::Session>,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        async {
            drop(session);
            Ok(())
        }
    }

    /// Returns the name that reports use, and the measurements that the target makes itself (see [`About`]). The
    /// default is the name of the type, without measurements.
    fn about(&self) -> About<'_> {
        About::new()
    }
}

/// The result of a call that succeeded: its counts, such as bytes and items.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct Done {
    pub(crate) details: Details,
    pub(crate) sent: Option<Nanos>,
}

impl Done {
    /// Returns a success without counts.
    pub fn new() -> Done {
        Done::default()
    }

    /// Sets the numbers of bytes read and written. Sums saturate at `u64::MAX`.
    pub fn bytes(mut self, read: u64, written: u64) -> Done {
        (self.details.traffic.read, self.details.traffic.written) = (read, written);
        self
    }

    /// Sets the number of items in the response, such as rows or the messages of a stream. Reports show the items per
    /// second. Sums saturate at `u64::MAX`.
    ///
    /// ```
    /// use nanopace_load::Done;
    ///
    /// let rows = ["a", "b", "c"];
    /// let done = Done::new().items(rows.len() as u64).label("select");
    /// ```
    pub fn items(mut self, items: u64) -> Done {
        self.details.traffic.items = items;
        self
    }

    /// Sets a label for the kind of operation, such as `read`. The call is counted under its label, and in the total.
    /// Use at most 100 labels: each thread counts its calls with further labels together, so with more labels, the
    /// counts of all labels can be too low.
    pub fn label(mut self, label: &'static str) -> Done {
        self.details.label = Some(label);
        self
    }

    /// Sets the status of the response.
    pub fn status(mut self, status: u16) -> Done {
        self.details.status = Some(status);
        self
    }

    pub(crate) fn retried(mut self) -> Done {
        self.details.traffic.retried = 1;
        self
    }

    pub(crate) fn sent(mut self, sent: Nanos, set_up: Option<SetUp>) -> Done {
        (self.sent, self.details.set_up) = (Some(sent), set_up);
        self
    }
}

/// The result of a call that failed: the kind of failure, and whether the session is still usable.
///
/// The operator `?` converts an error to a failure that breaks the session. The kind of this failure is the first line
/// of the error's text, cut to 120 characters. Failures with the same text are counted together, so use texts that many
/// failures share. After the first 1000 texts, failures with further texts are counted as one kind.
///
/// If `?` converts a system error that a limit of the generator's machine caused, such as the limit of open files, the
/// verdict attributes the failure to the generator.
///
/// # Examples
///
/// ```
/// use nanopace_load::{Done, Failure};
///
/// /// Judges a server that answers `ok`, `busy` or nothing at all.
/// fn judged(answer: &str) -> Result<Done, Failure> {
///     match answer {
///         "ok" => Ok(Done::new().label("read")),
///         "" => Err(Failure::new("no answer").broken()),
///         _ => Err(Failure::new("refused").with(Done::new().label("read"))),
///     }
/// }
/// assert!(judged("ok").is_ok() && judged("busy").is_err() && judged("").is_err());
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) is_broken: bool,
    /// Whether no request was sent because no connection to the target could be opened.
    pub(crate) is_unconnected: bool,
    pub(crate) done: Done,
}

impl Failure {
    /// Returns a failure of this kind. The session stays usable for other calls.
    pub fn new(kind: impl Display) -> Failure {
        Failure::of(FailureKind::new(&short(kind)))
    }

    /// Marks the session as unusable. The session is opened again before its next call.
    pub fn broken(mut self) -> Failure {
        self.is_broken = true;
        self
    }

    /// Sets what is known about the failed call, such as its label and its counts.
    pub fn with(mut self, done: Done) -> Failure {
        self.done = done;
        self
    }

    pub(crate) fn of(kind: FailureKind) -> Failure {
        Failure { kind, is_broken: false, is_unconnected: false, done: Done::new() }
    }

    pub(crate) fn unconnected(mut self) -> Failure {
        self.is_unconnected = true;
        self
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        let own = Shortage::cause_of(&error).map(|shortage| Failure::of(shortage.kind()));
        own.unwrap_or_else(|| Failure::new(error)).broken()
    }
}

pub(crate) fn short_name<T: ?Sized>() -> String {
    let name = type_name::<T>();
    name.rsplit("::").next().unwrap_or(name).to_owned()
}

pub(crate) fn short(kind: impl Display) -> String {
    let text = kind.to_string();
    human::visible(text.lines().next().unwrap_or_default()).chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_shortage_is_a_failure_of_the_generator() {
        let call = || -> Result<(), Failure> { Err(std::io::Error::from_raw_os_error(24))? };
        let failure = call().unwrap_err();
        assert_eq!((failure.kind.group(), failure.is_broken), ("generator", true));
        assert_eq!(failure.kind.to_string(), "too many open files (EMFILE)");
        let refused = Failure::from(std::io::Error::from_raw_os_error(
            rustix::io::Errno::CONNREFUSED.raw_os_error(),
        ));
        assert_eq!(refused.kind.group(), refused.kind.to_string());
    }

    #[test]
    fn a_kind_is_one_printable_line() {
        for (text, kind) in [("a\nb", "a"), ("\x1b[2J\tgone", r"\u{1b}[2J\tgone"), ("", "")] {
            assert_eq!(Failure::new(text).kind.to_string(), kind);
        }
    }
}
