//! A load without a command line: what is asked for, by a builder.

use super::report::Report;
use crate::load::schedule::table::WrittenShape;
use crate::load::target::Target;
use crate::running::args::RunArgs;
use crate::running::message::Message;
use crate::running::outlets::Outlets;
use crate::running::run::{self, Ran};
use crate::running::setup::Setup;
use crate::shown::live::Live;
use nanopace::Rate;
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// A load that is asked for without a command line. It runs quietly and returns its report.
///
/// # Examples
///
/// ```
/// use nanopace_load::{Done, Failure, Load, Slot, Target};
///
/// struct Nothing;
///
/// impl Target for Nothing {
///     type Session = ();
///
///     async fn connect(&self, _index: usize) -> Result<(), Failure> {
///         Ok(())
///     }
///
///     async fn call(&self, _session: &mut (), _slot: Slot) -> Result<Done, Failure> {
///         Ok(Done::new())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), nanopace_load::LoadError> {
/// let load = Load::new("500/s".parse()?).sessions(4).requests(100);
/// let report = load.run(Nothing).await?;
/// assert_eq!(report.started(), 100);
/// assert_eq!(report.completed(), 100);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a load does nothing until it is run"]
pub struct Load {
    args: RunArgs,
}

impl Load {
    /// A constant rate, for ten seconds, over 16 sessions.
    pub fn new(rate: Rate) -> Load {
        let mut args = RunArgs::by_default();
        args.schedule.rate = Some(rate);
        Load { args }
    }

    /// A rate over time, as in `ramp 100/s..5k/s 30s, hold 60s`.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    ///
    /// # Examples
    ///
    /// ```
    /// use nanopace_load::{Done, Load, Slot};
    ///
    /// # fn main() -> Result<(), nanopace_load::LoadError> {
    /// let load = Load::shaped("ramp 0/s..1k/s 200ms")?;
    /// let report = load.run_blocking(|_: Slot| Ok(Done::new()))?;
    /// assert_eq!(report.started() + report.unstarted(), 100);
    /// # Ok(())
    /// # }
    /// ```
    pub fn shaped(shape: &str) -> Result<Load, LoadError> {
        let mut args = RunArgs::by_default();
        args.schedule.rate = None;
        args.schedule.shape = Some(shape.parse::<WrittenShape>().map_err(LoadError::boxed)?);
        Ok(Load { args })
    }

    /// How slots lie around the rate: `even`, `poisson`, `exact-poisson:1000`, `gamma:0.25`, `jitter:0.3`
    /// or `replay:FILE`.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    ///
    /// # Examples
    ///
    /// ```
    /// use nanopace_load::{Done, Load, Slot};
    ///
    /// # fn main() -> Result<(), nanopace_load::LoadError> {
    /// let load = Load::new("1k/s".parse()?).arrivals("poisson", 42)?.requests(100);
    /// let report = load.run_blocking(|_: Slot| Ok(Done::new()))?;
    /// assert_eq!(report.started(), 100);
    /// # Ok(())
    /// # }
    /// ```
    pub fn arrivals(mut self, process: &str, seed: u64) -> Result<Load, LoadError> {
        self.args.schedule.arrivals = process.parse().map_err(LoadError::text)?;
        self.args.schedule.seed = seed;
        self.args.schedule.settle(self.args.schedule.rate.is_some());
        Ok(self)
    }

    /// How many calls may be in flight, from 1 to a million.
    pub fn sessions(mut self, sessions: u32) -> Load {
        self.args.connections = sessions.clamp(1, 1_000_000);
        self
    }

    /// How long it is, without the warm-up.
    ///
    /// # Examples
    ///
    /// ```
    /// use nanopace_load::{Done, Load, Slot};
    /// use std::time::Duration;
    ///
    /// # fn main() -> Result<(), nanopace_load::LoadError> {
    /// let load = Load::new("1k/s".parse()?).duration(Duration::from_millis(100));
    /// let report = load.run_blocking(|_: Slot| Ok(Done::new()))?;
    /// assert_eq!(report.started() + report.unstarted(), 100);
    /// # Ok(())
    /// # }
    /// ```
    pub fn duration(mut self, duration: Duration) -> Load {
        self.args.duration = Some(duration);
        self
    }

    /// It ends with so many calls, if it does not end earlier.
    pub fn requests(mut self, requests: u64) -> Load {
        self.args.requests = Some(requests.max(1));
        self
    }

    /// So long nothing is recorded; zero by default.
    ///
    /// # Examples
    ///
    /// ```
    /// use nanopace_load::{Done, Load, Slot};
    /// use std::time::Duration;
    ///
    /// # fn main() -> Result<(), nanopace_load::LoadError> {
    /// let load = Load::new("1k/s".parse()?).warmup(Duration::from_millis(50)).requests(100);
    /// let report = load.run_blocking(|_: Slot| Ok(Done::new()))?;
    /// assert_eq!(report.started(), 100);
    /// # Ok(())
    /// # }
    /// ```
    pub fn warmup(mut self, warmup: Duration) -> Load {
        self.args.warmup = warmup;
        self
    }

    /// A call is given up after this time, and fails; ten seconds by default.
    ///
    /// # Examples
    ///
    /// ```
    /// use nanopace_load::{Done, Failure, Load, Slot, Target};
    /// use std::time::Duration;
    ///
    /// struct Hangs;
    ///
    /// impl Target for Hangs {
    ///     type Session = ();
    ///
    ///     async fn connect(&self, _index: usize) -> Result<(), Failure> {
    ///         Ok(())
    ///     }
    ///
    ///     async fn call(&self, _session: &mut (), _slot: Slot) -> Result<Done, Failure> {
    ///         std::future::pending().await
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), nanopace_load::LoadError> {
    /// let load = Load::new("1k/s".parse()?).threads(1).sessions(4).requests(4);
    /// let report = load.timeout(Duration::from_millis(20)).run_blocking(Hangs)?;
    /// assert_eq!(report.failures().collect::<Vec<_>>(), [("timeout".to_owned(), 4)]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn timeout(mut self, timeout: Duration) -> Load {
        self.args.timeout = timeout;
        self
    }

    /// How many threads carry the sessions; one for each core by default.
    pub fn threads(mut self, threads: u16) -> Load {
        self.args.threads = Some(threads.max(1));
        self
    }

    /// What the results must be like, as in `p99 response < 50ms`; may be called again. What does not
    /// hold is in [`Report::missed`].
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    ///
    /// # Examples
    ///
    /// ```
    /// use nanopace_load::{Done, Load, Slot};
    ///
    /// # fn main() -> Result<(), nanopace_load::LoadError> {
    /// let load = Load::new("1k/s".parse()?).requests(100).fail_if("p50 service < 1ns")?;
    /// let report = load.run_blocking(|_: Slot| {
    ///     std::hint::black_box(vec![0_u8; 1_000]);
    ///     Ok(Done::new())
    /// })?;
    /// assert_eq!(report.missed().len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn fail_if(mut self, requirement: &str) -> Result<Load, LoadError> {
        self.args.fail_if.push(requirement.parse().map_err(LoadError::text)?);
        Ok(self)
    }

    /// Runs to its end, on threads of its own. When the future is dropped, the run is given up.
    ///
    /// # Errors
    ///
    /// When the target is not there, or the load can't be run.
    pub async fn run<T: Target>(self, target: T) -> Result<Report, LoadError> {
        let (sender, messages) = mpsc::channel();
        let (done, report) = oneshot::channel();
        let stop = Stop(sender.clone());
        let run = move || drop(done.send(self.run_here(target, &sender, &messages)));
        thread::Builder::new().name("load".to_owned()).spawn(run).map_err(LoadError::boxed)?;
        let report = report.await;
        drop(stop);
        report.unwrap_or_else(|_| Err(LoadError::text("the run has panicked")))
    }

    /// The same, on this thread, which must not be one of a runtime.
    ///
    /// # Errors
    ///
    /// When the target is not there, or the load can't be run.
    ///
    /// # Examples
    ///
    /// ```
    /// use nanopace_load::{Done, Load, Slot};
    ///
    /// # fn main() -> Result<(), nanopace_load::LoadError> {
    /// let report = Load::new("1k/s".parse()?).requests(10).run_blocking(|_: Slot| Ok(Done::new()))?;
    /// assert_eq!(report.completed(), 10);
    /// # Ok(())
    /// # }
    /// ```
    pub fn run_blocking<T: Target>(self, target: T) -> Result<Report, LoadError> {
        let (sender, messages) = mpsc::channel();
        self.run_here(target, &sender, &messages)
    }

    fn run_here<T: Target>(
        self,
        target: T,
        sender: &Sender<Message>,
        messages: &Receiver<Message>,
    ) -> Result<Report, LoadError> {
        let setup = Setup::new(self.args, &[], |_| Ok(target))?;
        let outlets = Outlets::only(Live::Nowhere);
        let Ran { summary, .. } = run::perform(&setup, None, outlets, sender, messages)?;
        Ok(Report::new(summary))
    }
}

/// Ends the run when nobody waits for its report any more.
struct Stop(Sender<Message>);

impl Drop for Stop {
    fn drop(&mut self) {
        // The first one ends the schedule, the second one the waiting for answers.
        for _ in 0..run::INTERRUPTS {
            let _ = self.0.send(Message::Stop);
        }
    }
}

/// Why a load can't be run.
///
/// # Examples
///
/// ```
/// use nanopace_load::Load;
///
/// let error = Load::shaped("ramp up").unwrap_err();
/// println!("no such load: {error}");
/// ```
#[derive(Debug)]
pub struct LoadError(anyhow::Error);

impl LoadError {
    fn text(text: impl Display) -> LoadError {
        LoadError(anyhow::Error::msg(text.to_string()))
    }

    fn boxed(error: impl Into<Box<dyn Error + Send + Sync>>) -> LoadError {
        LoadError(anyhow::Error::from_boxed(error.into()))
    }
}

impl From<anyhow::Error> for LoadError {
    fn from(error: anyhow::Error) -> LoadError {
        LoadError(error)
    }
}

impl From<nanopace::RateError> for LoadError {
    fn from(error: nanopace::RateError) -> LoadError {
        LoadError(error.into())
    }
}

impl Display for LoadError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl Error for LoadError {}
