//! What is loaded: a target, its sessions, and what becomes of a call.

use super::details::{Details, SetUp};
use super::kind::FailureKind;
use super::shortage::Shortage;
pub use super::slot::Slot;
use crate::console::human;
use crate::load::stream_times::StreamTimes;
use nanopace::Nanos;
use std::any::type_name;
use std::error::Error;
use std::fmt::Display;

/// The most characters of an error that make up a kind of failure.
const LONGEST: usize = 120;

/// What is loaded: a database, a queue, a service.
///
/// Each session has a task of its own, and carries one call at a time. A task never waits for another
/// one's call: as many calls as there are sessions can be in flight.
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
    /// A connection, or whatever else carries calls one after the other.
    type Session: Send + 'static;

    /// Whether [`connect`](Target::connect) and [`call`](Target::call) block their thread. Then each session has a
    /// thread of its own, on which their futures are polled once. [`BlockingTarget`](crate::BlockingTarget) sets this
    /// for you.
    const BLOCKS: bool = false;

    /// Opens the session number `index`, counted from 0. Sessions are opened before the load begins,
    /// and again after a failure that has [broken](Failure::broken) one: then the slot that needs it
    /// waits, and the time is not part of its service time.
    ///
    /// It must not block its thread. The load begins without the sessions of a thread that has been held for
    /// longer than the timeout; they take part from when they are open.
    ///
    /// # Errors
    ///
    /// Why there is no session; the call that needs it fails by this kind. A session that can't be
    /// opened before the load begins is tried again by its first call.
    fn connect(&self, index: usize) -> impl Future<Output = Result<Self::Session, Failure>> + Send;

    /// Does one operation: the one with the slot's number.
    ///
    /// It is dropped when it takes longer than the timeout, and when the run is given up. It must not
    /// block its thread, which carries other sessions too and is left behind if the run is given up
    /// meanwhile: a call that has to is a [`BlockingTarget`](crate::BlockingTarget)'s. A panic counts as a
    /// failure. What it retries by itself is part of its service time.
    ///
    /// # Errors
    ///
    /// How it failed, and whether the session is still good.
    fn call(
        &self,
        session: &mut Self::Session,
        slot: Slot,
    ) -> impl Future<Output = Result<Done, Failure>> + Send;

    /// Sees whether the target is there, before the load begins: opens a session, unless this is
    /// implemented to do more. No figure includes it.
    ///
    /// # Errors
    ///
    /// Why it is not there. Then nothing is run.
    ///
    /// # Examples
    ///
    /// ```
    /// use nanopace_load::{Done, Failure, Load, Slot, Target};
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
    ///     async fn probe(&self) -> Result<(), Failure> {
    ///         Err(Failure::new("the table is missing"))
    ///     }
    ///
    ///     fn name(&self) -> String {
    ///         "my table".to_owned()
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), nanopace_load::LoadError> {
    /// let error = Load::new("1k/s".parse()?).run_blocking(Absent).unwrap_err();
    /// assert_eq!(error.to_string(), "no answer from my table: the table is missing");
    /// # Ok(())
    /// # }
    /// ```
    fn probe(&self) -> impl Future<Output = Result<(), Failure>> + Send {
        async { self.connect(0).await.map(drop) }
    }

    /// What reports call it: its type's name, unless this is implemented, as in the example above.
    fn name(&self) -> String {
        short_name::<Self>()
    }

    /// Where its calls note when the items of their answers came, if these are streams: see [`StreamTimes`]. None,
    /// unless this is implemented.
    fn stream_times(&self) -> Option<&StreamTimes> {
        None
    }
}

/// A call that succeeded, and what is counted of it besides its times.
///
/// # Examples
///
/// ```
/// use nanopace_load::Done;
///
/// let answered = Done::new().bytes(512, 80).items(3).status(200).label("read");
/// # let _ = answered;
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct Done {
    pub(crate) details: Details,
    pub(crate) sent: Option<Nanos>,
}

impl Done {
    /// Nothing is counted but the call.
    pub fn new() -> Done {
        Done::default()
    }

    /// Tells how many bytes were read and written. Their sums stop at `u64::MAX`.
    pub fn bytes(mut self, read: u64, written: u64) -> Done {
        (self.details.traffic.read, self.details.traffic.written) = (read, written);
        self
    }

    /// Tells how many things were in the answer: rows, or the messages of a stream. Reports tell how many there were
    /// per second. Their sum stops at `u64::MAX`.
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

    /// It is counted by this label, too: what kind of operation it was, such as `read`. A program has a few
    /// of them; with more than a hundred the others are one.
    pub fn label(mut self, label: &'static str) -> Done {
        self.details.label = Some(label);
        self
    }

    /// The answer had this status.
    pub fn status(mut self, status: u16) -> Done {
        self.details.status = Some(status);
        self
    }

    /// Its request was sent again, because the connection was closed while idle.
    pub(crate) fn retried(mut self) -> Done {
        self.details.traffic.retried = 1;
        self
    }

    /// It was sent then, after a connection was opened.
    pub(crate) fn sent(mut self, sent: Nanos, set_up: Option<SetUp>) -> Done {
        (self.sent, self.details.set_up) = (Some(sent), set_up);
        self
    }
}

/// A call that failed: of which kind, and whether its session is still good.
///
/// An error that is passed on by `?` is a failure whose kind is its text, and breaks the session. So
/// write kinds that many failures have in common: those with the same text are counted together, and
/// with more than a thousand of them the others are one.
///
/// An error passed on by `?` that was caused by a limit of the generator's machine, such as too many open files, is a
/// failure of the generator: the verdict says so.
///
/// # Examples
///
/// ```
/// use nanopace_load::{Done, Failure};
///
/// /// Of a server that answers `ok`, `busy` or nothing at all.
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
    /// Whether nothing was asked of the target, because it could not be connected to.
    pub(crate) is_unconnected: bool,
    pub(crate) done: Done,
}

impl Failure {
    /// A failure of this kind. The session is good: other calls may use it.
    pub fn new(kind: impl Display) -> Failure {
        Failure::of(FailureKind::new(&short(kind)))
    }

    /// The session can't be used any more. It is opened again for the next call.
    pub fn broken(mut self) -> Failure {
        self.is_broken = true;
        self
    }

    /// What is counted of the call all the same, its label for example.
    pub fn with(mut self, done: Done) -> Failure {
        self.done = done;
        self
    }

    /// A failure of this kind, as above.
    pub(crate) fn of(kind: FailureKind) -> Failure {
        Failure { kind, is_broken: false, is_unconnected: false, done: Done::new() }
    }

    /// The target could not be connected to.
    pub(crate) fn unconnected(mut self) -> Failure {
        self.is_unconnected = true;
        self
    }

    /// Its kind.
    #[must_use]
    pub(crate) fn kind(&self) -> FailureKind {
        self.kind
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        let own = Shortage::cause_of(&error).map(|shortage| Failure::of(shortage.kind()));
        own.unwrap_or_else(|| Failure::new(error)).broken()
    }
}

/// The name of a type without its path.
pub(crate) fn short_name<T: ?Sized>() -> String {
    let name = type_name::<T>();
    name.rsplit("::").next().unwrap_or(name).to_owned()
}

/// One line, which is not too long. Control characters in it are written out.
pub(crate) fn short(kind: impl Display) -> String {
    let text = kind.to_string();
    human::visible(text.lines().next().unwrap_or_default()).chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_the_machine_lacks_is_the_generators_failure() {
        let call = || -> Result<(), Failure> { Err(std::io::Error::from_raw_os_error(24))? };
        let failure = call().unwrap_err();
        assert_eq!((failure.kind().group(), failure.is_broken), ("generator", true));
        assert_eq!(failure.kind().to_string(), "too many open files (EMFILE)");
        let refused = Failure::from(std::io::Error::from_raw_os_error(
            rustix::io::Errno::CONNREFUSED.raw_os_error(),
        ));
        assert_eq!(refused.kind().group(), refused.kind().to_string());
    }

    #[test]
    fn a_kind_is_one_line_that_a_terminal_shows() {
        for (text, kind) in [("a\nb", "a"), ("\x1b[2J\tgone", r"\u{1b}[2J\tgone"), ("", "")] {
            assert_eq!(Failure::new(text).kind().to_string(), kind);
        }
    }
}
