//! Builds and runs a load in code, without a command line.

use super::report::Report;
use crate::load::schedule::table::WrittenShape;
use crate::load::target::Target;
use crate::running::args::{MOST_THREADS, RunArgs};
use crate::running::message::Message;
use crate::running::outputs::Outputs;
use crate::running::pool_size::{MOST_CONNECTIONS, PoolSize};
use crate::running::run::{self, Ran};
use crate::running::setup::Setup;
use crate::shown::live::Live;
use nanopace::Rate;
use std::fmt::Display;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::oneshot;

const PANICKED: &str = "the run has panicked; the message of the panic is on standard error";

/// A load that is configured in code instead of on a command line. It returns a [`Report`]. It prints nothing, except
/// the first panic at each place in the code and, if the run itself fails, a failure of the target's teardown.
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
    pub(super) args: RunArgs,
}

impl Load {
    /// Creates a load with a constant rate. By default, it lasts for ten seconds and uses 16 sessions.
    pub fn new(rate: Rate) -> Load {
        let mut args = RunArgs::by_default();
        args.schedule.rate = Some(rate);
        Load { args }
    }

    /// Creates a load whose rate changes over time, such as `ramp 100/s..5k/s 30s, hold 60s`.
    ///
    /// # Errors
    ///
    /// Returns an error if the string is not a valid shape.
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

    /// Sets the arrival process, which spaces the slots: `even`, `poisson`, `exact-poisson:1000`, `gamma:0.25`,
    /// `jitter:0.3`, `replay:FILE` or `har:FILE`. `seed` determines the random gaps and delays. For a recording, the
    /// rate is the playback speed: 1/s replays at the recorded speed.
    ///
    /// # Errors
    ///
    /// Returns an error if the string is not a valid arrival process.
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

    /// Sets the number of sessions, from 1 to a million. Each session carries one call at a time. The number is checked
    /// when the load runs, like all numbers and times of a `Load`.
    ///
    /// # Examples
    ///
    /// ```
    /// use nanopace_load::{Done, Load, Slot};
    ///
    /// # fn main() -> Result<(), nanopace_load::LoadError> {
    /// let load = Load::new("1k/s".parse()?).sessions(0);
    /// let refused = load.run_blocking(|_: Slot| Ok(Done::new())).unwrap_err();
    /// assert_eq!(refused.to_string(), "sessions(0): write a number from 1 to 1000000");
    /// # Ok(())
    /// # }
    /// ```
    pub fn sessions(mut self, sessions: u32) -> Load {
        let size = &mut self.args.connections;
        let most = if size.grows() { size.most } else { sessions };
        *size = PoolSize { first: sessions, most };
        self
    }

    /// Lets the number of sessions grow up to `most`, which must be at least the number that
    /// [`sessions`](Load::sessions) sets. A session is added while a slot is due and all sessions are busy. Blocking
    /// targets and closures cannot use this.
    ///
    /// # Examples
    ///
    /// ```
    /// use nanopace_load::{Done, Failure, Load, Slot, Target};
    /// use std::time::Duration;
    ///
    /// struct Slow;
    ///
    /// impl Target for Slow {
    ///     type Session = ();
    ///
    ///     async fn connect(&self, _index: usize) -> Result<(), Failure> {
    ///         Ok(())
    ///     }
    ///
    ///     async fn call(&self, _session: &mut (), _slot: Slot) -> Result<Done, Failure> {
    ///         tokio::time::sleep(Duration::from_millis(20)).await;
    ///         Ok(Done::new())
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), nanopace_load::LoadError> {
    /// let load = Load::new("500/s".parse()?).sessions(1).sessions_up_to(50).requests(100);
    /// println!("{}", load.run_blocking(Slow)?); // about 10 sessions are needed
    /// # Ok(())
    /// # }
    /// ```
    pub fn sessions_up_to(mut self, most: u32) -> Load {
        self.args.connections.most = most;
        self
    }

    /// Sets the duration of the load, not including the warm-up. It must be longer than zero.
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

    /// Runs the load until both ends of the 95 % confidence interval of a percentile are within a given share of the
    /// percentile. The goal is a string such as `p99 5%` or `p99.9 service 10%`. The run ends after `longest` at the
    /// latest, not including the warm-up. The load must have a constant rate, and [`duration`](Load::duration) and
    /// [`requests`](Load::requests) must not be set. These conditions are checked when the load runs.
    ///
    /// # Errors
    ///
    /// Returns an error if the string is not a valid goal.
    ///
    /// # Examples
    ///
    /// ```
    /// use nanopace_load::{Done, Load, Slot};
    /// use std::time::Duration;
    ///
    /// # fn main() -> Result<(), nanopace_load::LoadError> {
    /// let load = Load::new("1k/s".parse()?).until_confident("p50 100%", Duration::from_millis(300))?;
    /// let report = load.run_blocking(|_: Slot| Ok(Done::new()))?;
    /// assert_eq!(report.started() + report.unstarted(), 300);
    /// # Ok(())
    /// # }
    /// ```
    pub fn until_confident(mut self, goal: &str, longest: Duration) -> Result<Load, LoadError> {
        self.args.until_confident = Some(goal.parse().map_err(LoadError::text)?);
        self.args.longest = Some(longest);
        self.args.given.insert("until-confident".to_owned());
        Ok(self)
    }

    /// Sets the number of calls, not including those of the [`warmup`](Load::warmup). It must be at least 1. The load
    /// can end earlier, for example with its [`duration`](Load::duration) or its shape.
    pub fn requests(mut self, requests: u64) -> Load {
        self.args.requests = Some(requests);
        self
    }

    /// Sets the length of the warm-up, during which nothing is recorded. The default is zero.
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

    /// Sets the time after which a call is given up and counts as failed. It must be longer than zero. The default is
    /// ten seconds. Calls of blocking targets and closures cannot be given up, as
    /// [`BlockingTarget`](crate::BlockingTarget) explains.
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

    /// Sets the number of threads that run the sessions, from 1 to 1024. The default is one thread per core, but at
    /// most one per session. A [`BlockingTarget`](crate::BlockingTarget) always has one thread per session.
    pub fn threads(mut self, threads: u16) -> Load {
        self.args.threads = Some(threads);
        self
    }

    /// Gives the load threads priority over other programs: `SCHED_RR` if the system allows it, otherwise a nice value
    /// of -15 if the system allows that, otherwise no priority. The report names the priority. A thread that uses more
    /// than 80 % of a core for a second returns to the normal class. [`run`](Load::run) returns an error for blocking
    /// targets and closures, and on systems other than Linux.
    pub fn realtime(mut self) -> Load {
        self.args.realtime = true;
        self
    }

    /// Adds a requirement for the results, such as `p99 response < 50ms`. Can be called repeatedly. After the run,
    /// [`Report::missed`] lists the requirements that were not met.
    ///
    /// # Errors
    ///
    /// Returns an error if the string is not a valid requirement.
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

    /// Ends the run as soon as a [requirement](Load::fail_if) is certain to be missed, even if all remaining calls have
    /// the best possible results. If the load has no requirement, [`run`](Load::run) returns an error.
    pub fn fail_fast(mut self) -> Load {
        self.args.fail_fast = true;
        self.args.given.insert("fail-fast".to_owned());
        self
    }

    /// Sets the time after which the load starts, for a load that is one of several [`Loads`](crate::Loads). The time
    /// is counted from the moment when the sessions of all loads are open. The default is zero.
    pub fn start_after(mut self, time: Duration) -> Load {
        self.args.start = time;
        self
    }

    /// Runs the load to its end, on threads of its own. If the future is dropped, the run is given up.
    ///
    /// # Errors
    ///
    /// Returns an error if the target cannot be reached, if a number or a time of the load is out of range, or if the
    /// load cannot be run for another reason.
    pub async fn run<T: Target>(self, target: T) -> Result<Report, LoadError> {
        in_background(move |sender, messages| self.run_here(target, sender, messages)).await
    }

    /// Does the same as [`run`](Load::run), but blocks the calling thread. Inside an async runtime, use `run` instead,
    /// so that other tasks are not delayed.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`run`](Load::run).
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
        on_own_thread(move |sender, messages| self.run_here(target, sender, messages))
    }

    pub(super) fn checked(self) -> Result<RunArgs, LoadError> {
        self.check()?;
        Ok(self.args)
    }

    fn run_here<T: Target>(
        self,
        target: T,
        sender: &Sender<Message>,
        messages: &Receiver<Message>,
    ) -> Result<Report, LoadError> {
        let mut setup = Setup::new(self.checked()?, &[], |_| Ok(target))?;
        let outputs = Outputs::only(Live::Nowhere);
        let Ran { mut summary, .. } = run::perform(&setup, None, outputs, sender, messages)?;
        summary.warnings.extend(setup.prepared.tear_down());
        Ok(Report::new(summary))
    }

    /// Checks the numbers and times. For a command line, the parser of the options checks them.
    fn check(&self) -> Result<(), LoadError> {
        let RunArgs { connections, threads, requests, duration, longest, timeout, .. } = self.args;
        let time = "write a time longer than zero";
        let ranges = [
            (
                (1..=MOST_CONNECTIONS).contains(&connections.first),
                format!(
                    "sessions({}): write a number from 1 to {MOST_CONNECTIONS}",
                    connections.first
                ),
            ),
            (
                (connections.first..=MOST_CONNECTIONS).contains(&connections.most),
                format!(
                    "sessions_up_to({}): write a number from {} to {MOST_CONNECTIONS}",
                    connections.most, connections.first
                ),
            ),
            (
                (1..=MOST_THREADS).contains(&threads.unwrap_or(1)),
                format!(
                    "threads({}): write a number from 1 to {MOST_THREADS}",
                    threads.unwrap_or(1)
                ),
            ),
            (requests != Some(0), "requests(0): write 1 or more".to_owned()),
            (duration != Some(Duration::ZERO), format!("duration(0s): {time}")),
            (longest != Some(Duration::ZERO), format!("until_confident(.., 0s): {time}")),
            (timeout != Duration::ZERO, format!("timeout(0s): {time}")),
        ];
        let wrong = ranges.into_iter().find(|(holds, _)| !holds);
        wrong.map_or(Ok(()), |(_, told)| Err(LoadError::text(told)))
    }
}

pub(super) async fn in_background<R: Send + 'static>(
    run: impl FnOnce(&Sender<Message>, &Receiver<Message>) -> Result<R, LoadError> + Send + 'static,
) -> Result<R, LoadError> {
    let (sender, messages) = mpsc::channel();
    let (done, report) = oneshot::channel();
    let stop = Stop(sender.clone());
    let run = move || drop(done.send(run(&sender, &messages)));
    thread::Builder::new().name("load".to_owned()).spawn(run).map_err(LoadError::boxed)?;
    let report = report.await;
    drop(stop);
    report.unwrap_or_else(|_| Err(LoadError::text(PANICKED)))
}

/// Runs a load on a new thread, because a thread that is inside a Tokio runtime cannot enter another runtime.
pub(super) fn on_own_thread<R: Send>(
    run: impl FnOnce(&Sender<Message>, &Receiver<Message>) -> Result<R, LoadError> + Send,
) -> Result<R, LoadError> {
    let run = move || {
        let (sender, messages) = mpsc::channel();
        run(&sender, &messages)
    };
    let ran = thread::scope(|scope| scope.spawn(run).join());
    ran.unwrap_or_else(|_| Err(LoadError::text(PANICKED)))
}

/// Stops the run when it is dropped. The future that waits for the report owns it, so dropping the future stops the
/// run.
struct Stop(Sender<Message>);

impl Drop for Stop {
    fn drop(&mut self) {
        for _ in 0..run::INTERRUPTS {
            let _ = self.0.send(Message::Stop);
        }
    }
}

/// The error for a load that is invalid or that cannot be run.
///
/// # Examples
///
/// ```
/// use nanopace_load::Load;
///
/// let error = Load::shaped("ramp up").unwrap_err();
/// println!("invalid load: {error}");
/// ```
#[derive(Debug, Error)]
#[error("{0:#}")]
pub struct LoadError(anyhow::Error);

impl LoadError {
    pub(super) fn text(text: impl Display) -> LoadError {
        LoadError(anyhow::Error::msg(text.to_string()))
    }

    fn boxed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> LoadError {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::about::About;
    use crate::load::blocking::BlockingTarget;
    use crate::load::stream_times::StreamTimes;
    use crate::load::target::{Done, Failure, Slot};
    use std::thread;

    /// Answers each slot of the target that most tests share. For each other type of target, the workers would be
    /// compiled again.
    #[expect(clippy::unnecessary_wraps, reason = "a call that could fail")]
    fn answers(_: Slot) -> Result<Done, Failure> {
        Ok(Done::new())
    }

    fn refused(load: impl FnOnce(Load) -> Load) -> String {
        let load = load(Load::new(Rate::per_second(1_000).unwrap()).requests(10));
        load.run_blocking(answers).unwrap_err().to_string()
    }

    #[test]
    fn what_is_out_of_range_is_refused_with_its_method_and_not_changed() {
        let numbers = [
            refused(|load| load.sessions(0)),
            refused(|load| load.sessions(1_000_001)),
            refused(|load| load.sessions(20).sessions_up_to(10)),
            refused(|load| load.threads(0)),
            refused(|load| load.threads(1_025)),
        ];
        let told = [
            "sessions(0): write a number from 1 to 1000000",
            "sessions(1000001): write a number from 1 to 1000000",
            "sessions_up_to(10): write a number from 20 to 1000000",
            "threads(0): write a number from 1 to 1024",
            "threads(1025): write a number from 1 to 1024",
        ];
        assert_eq!(numbers, told);
        assert_eq!(refused(|load| load.requests(0)), "requests(0): write 1 or more");
        let time = ": write a time longer than zero";
        let duration = refused(|load| load.duration(Duration::ZERO));
        assert_eq!(duration, format!("duration(0s){time}"));
        assert_eq!(refused(|load| load.timeout(Duration::ZERO)), format!("timeout(0s){time}"));
        let longest = refused(|load| load.until_confident("p99 5%", Duration::ZERO).unwrap());
        assert_eq!(longest, format!("until_confident(.., 0s){time}"));
        let second = Duration::from_secs(1);
        let warmup = refused(|load| load.duration(second).warmup(Duration::MAX));
        assert_eq!(
            warmup,
            "the load does not last longer than its warm-up, so nothing would be recorded: write a shorter warm-up"
        );
    }

    #[test]
    fn what_the_target_does_not_time_is_refused_with_what_would_time_it() {
        for (figure, advice) in [
            ("item-gap", "pass the target's StreamTimes to About::stream_times in about()"),
            ("first-byte", "only the HTTP client of nanopace run measures them"),
            ("reading", "only the HTTP client of nanopace run measures them"),
        ] {
            let requirement = format!("p99 {figure} < 1s");
            let told = refused(|load| load.fail_if(&requirement).unwrap());
            let untimed = format!("{requirement}: these times are not measured");
            assert_eq!(told, format!("{untimed}; {advice}"));
        }
    }

    #[derive(Default)]
    struct Pairs(StreamTimes);

    const BETWEEN: Duration = Duration::from_millis(20);

    impl BlockingTarget for Pairs {
        type Session = ();

        fn connect(&self, _index: usize) -> Result<(), Failure> {
            Ok(())
        }

        fn call(&self, _session: &mut (), slot: Slot) -> Result<Done, Failure> {
            let mut stream = self.0.watch(slot);
            stream.item();
            thread::sleep(BETWEEN);
            stream.item();
            Ok(Done::new().items(stream.items()))
        }

        fn about(&self) -> About<'_> {
            About::new().stream_times(&self.0)
        }
    }

    /// The third call is due at 2 ms, but it starts only after two calls of 20 ms each.
    #[test]
    fn a_target_that_blocks_times_its_streams_too() {
        let load = Load::new(Rate::per_second(1_000).unwrap()).requests(3).sessions(1);
        let load = load.fail_if("count first-item = 3").unwrap();
        let report = load.fail_if("count item-gap = 3").unwrap();
        let report = report.run_blocking(Pairs::default()).unwrap();
        assert_eq!((report.items(), report.missed().len()), (6, 0));
        assert!(report.item_gap_time(0.0) >= Some(BETWEEN.mul_f64(0.99)));
        let late = report.first_item_response_time(1.0).unwrap();
        assert!(late >= BETWEEN && late >= report.first_item_time(1.0).unwrap(), "{late:?}");
    }

    #[tokio::test]
    async fn a_load_runs_inside_of_a_runtime() {
        let load = || Load::new(Rate::per_second(1_000).unwrap()).requests(10);
        let report = load().run(answers).await.unwrap();
        assert_eq!(report.completed(), 10);
        let report = load().run_blocking(answers).unwrap();
        assert_eq!(report.completed(), 10);
    }
}
