//! Builds and runs several loads in code, without a command line.

use super::builder::{Load, LoadError, in_background, on_own_thread};
use super::report::Report;
use crate::load::target::Target;
use crate::running::args::RunArgs;
use crate::running::loads::{GivenLoad, LoadsSetup};
use crate::running::message::Message;
use crate::running::setup::boxed;
use crate::running::versus;
use std::fmt::{self, Debug, Formatter};
use std::sync::mpsc::{Receiver, Sender};

type Give = Box<dyn FnOnce() -> Result<GivenLoad<'static>, LoadError> + Send>;

/// Several loads that run at once. Each load has its own schedule, sessions, target and results. The targets may have
/// different types.
///
/// # Examples
///
/// ```
/// use nanopace_load::{Done, Load, Loads, Slot};
/// use std::time::Duration;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let reads = Load::new("2k/s".parse()?).sessions(4).requests(200);
/// let writes = Load::new("500/s".parse()?).sessions(1).requests(50);
/// let whole = Loads::new()
///     .add("reads", reads, |_: Slot| Ok(Done::new()))
///     .add("writes", writes.start_after(Duration::from_millis(20)), |_: Slot| Ok(Done::new()))
///     .threads(1)
///     .fail_if("writes: completed = 50")?
///     .run_blocking()?;
/// assert_eq!((whole.completed(), whole.missed().len()), (250, 0));
/// assert_eq!(whole.load("reads").map(|reads| reads.completed()), Some(200));
/// assert_eq!(whole.loads().map(|(name, _)| name).collect::<Vec<_>>(), ["reads", "writes"]);
/// # Ok(())
/// # }
/// ```
#[must_use = "loads do nothing until they are run"]
pub struct Loads {
    args: RunArgs,
    loads: Vec<Give>,
}

impl Loads {
    /// Creates a run without loads.
    #[expect(clippy::new_without_default, reason = "a run without loads is not useful")]
    pub fn new() -> Loads {
        Loads { args: RunArgs::by_default(), loads: Vec::new() }
    }

    /// Adds a load with a name of letters, digits, `-`, `_` and `.`. The requirements of the load apply to its own
    /// results. The load's own number of [`threads`](Load::threads) and its own [`realtime`](Load::realtime) have no
    /// effect: set them with [`Loads::threads`] and [`Loads::realtime`].
    pub fn add<T: Target>(mut self, name: &str, load: Load, target: T) -> Loads {
        let name = name.to_owned();
        self.loads.push(Box::new(move || {
            let args = RunArgs { name, ..load.checked()? };
            Ok(GivenLoad { args, inputs: Vec::new(), make: boxed(|_| Ok(target)) })
        }));
        self
    }

    /// Creates a run that compares two targets under one load. Slots 0 and 1, slots 2 and 3, and so on are pairs. Each
    /// target gets one random slot of each pair, so both targets are called at about the same times. Each target also
    /// gets half of the sessions, so the number of sessions must be even. The loads of the targets have the names `A`
    /// and `B`.
    ///
    /// The report has a table of the differences with their 95 % confidence intervals. A requirement such as `p99
    /// response slower by 5%` compares `B` with `A`.
    ///
    /// # Examples
    ///
    /// ```
    /// use nanopace_load::{Done, Failure, Load, Loads, Slot};
    ///
    /// # fn main() -> Result<(), nanopace_load::LoadError> {
    /// let call = |work: u64| move |_: Slot| -> Result<Done, Failure> {
    ///     Ok(Done::new().items(std::hint::black_box(0..work).sum()))
    /// };
    /// let load = Load::new("2k/s".parse()?).sessions(4).requests(1_000);
    /// let report = Loads::versus(load, call(10), call(1_000)).run_blocking()?;
    /// assert_eq!(report.load("A").map(|a| a.started()), Some(500));
    /// println!("{report}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn versus<T: Target>(load: Load, a: T, b: T) -> Loads {
        let divided = load.checked().and_then(|args| Ok(versus::divided(args)?));
        let (args, sides) = match divided {
            Ok(divided) => divided,
            Err(error) => {
                return Loads { args: RunArgs::by_default(), loads: vec![Box::new(|| Err(error))] };
            }
        };
        let give = |(args, target): (RunArgs, T)| -> Give {
            let given = |args, make| GivenLoad { args, inputs: Vec::new(), make };
            Box::new(move || Ok(given(args, boxed(|_| Ok(target)))))
        };
        Loads { args, loads: sides.into_iter().zip([a, b]).map(give).collect() }
    }

    /// Sets the number of threads, from 1 to 1024, for all loads except those with a
    /// [`BlockingTarget`](crate::BlockingTarget). By default, there is at most one thread per core.
    pub fn threads(mut self, threads: u16) -> Loads {
        self.args.threads = Some(threads);
        self
    }

    /// Gives the load threads of all loads priority over other programs, as [`Load::realtime`] does for one load. If a
    /// load has a [`BlockingTarget`](crate::BlockingTarget), or if the system is not Linux, [`run`](Loads::run) returns
    /// an error.
    pub fn realtime(mut self) -> Loads {
        self.args.realtime = true;
        self
    }

    /// Adds a requirement for the sum of all results, such as `errors < 1%`, or for one load, such as `writes: p99
    /// response < 50ms`.
    ///
    /// # Errors
    ///
    /// Returns an error if the string is not a valid requirement.
    pub fn fail_if(mut self, requirement: &str) -> Result<Loads, LoadError> {
        self.args.fail_if.push(requirement.parse().map_err(LoadError::text)?);
        Ok(self)
    }

    /// Runs all loads to their ends, on threads of their own. If the future is dropped, the run is given up. The report
    /// covers the whole run, and [`Report::load`] returns the report of one load.
    ///
    /// # Errors
    ///
    /// Fails for the reasons of [`Load::run`], and if there is no load, if the name of a load is invalid or used twice,
    /// or if a requirement names an unknown load.
    pub async fn run(self) -> Result<Report, LoadError> {
        in_background(move |sender, messages| self.run_here(sender, messages)).await
    }

    /// Does the same as [`run`](Loads::run), but blocks the calling thread.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`run`](Loads::run).
    pub fn run_blocking(self) -> Result<Report, LoadError> {
        on_own_thread(move |sender, messages| self.run_here(sender, messages))
    }

    fn run_here(
        self,
        sender: &Sender<Message>,
        messages: &Receiver<Message>,
    ) -> Result<Report, LoadError> {
        let args = Load { args: self.args }.checked()?;
        if self.loads.is_empty() {
            return Err(LoadError::text("a run needs at least one load: call add"));
        }
        let given = self.loads.into_iter().map(|give| give());
        let mut setup = LoadsSetup::new(args, given.collect::<Result<_, _>>()?)?;
        Ok(Report::new(setup.run_quietly(sender, messages)?.summary))
    }
}

impl Debug for Loads {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loads").field("count", &self.loads.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::target::{Done, Failure, Slot};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    #[derive(Clone, Default)]
    struct Starts(Arc<Mutex<Vec<u64>>>);

    impl Target for Starts {
        type Session = ();

        async fn connect(&self, _index: usize) -> Result<(), Failure> {
            Ok(())
        }

        async fn call(&self, _session: &mut (), slot: Slot) -> Result<Done, Failure> {
            self.0.lock().unwrap().push(slot.intended_start().as_nanos());
            Ok(Done::new())
        }
    }

    fn load(rate: &str, requests: u64) -> Load {
        Load::new(rate.parse().unwrap()).sessions(3).requests(requests)
    }

    #[test]
    fn all_loads_start_exactly_on_one_axis_of_time() {
        let [reads, writes] = [(); 2].map(|()| Starts::default());
        let blocks = (Arc::clone(&writes.0), |starts: &Mutex<Vec<u64>>, slot: Slot| {
            starts.lock().unwrap().push(slot.intended_start().as_nanos());
        });
        let delay = Duration::from_micros(12_345);
        let report = Loads::new()
            .add("reads", load("1k/s", 60), reads.clone())
            .add("writes", load("250/s", 20).start_after(delay), move |slot: Slot| {
                (blocks.1)(&blocks.0, slot);
                Ok(Done::new())
            })
            .run_blocking()
            .unwrap();
        let counts = report.loads().map(|(name, report)| (name.to_owned(), report.completed()));
        let expected = [("reads".to_owned(), 60), ("writes".to_owned(), 20)];
        assert_eq!((counts.collect::<Vec<_>>(), report.started()), (expected.to_vec(), 80));
        let begin = *reads.0.lock().unwrap().iter().min().unwrap();
        for (starts, first, interval, slots) in
            [(reads, 0, 1_000_000, 60), (writes, 12_345_000, 4_000_000, 20)]
        {
            let mut starts = starts.0.lock().unwrap().clone();
            starts.sort_unstable();
            let expected = (0..slots).map(|slot| begin + first + slot * interval);
            assert_eq!(starts, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_sides_of_a_comparison_share_the_slots_of_one_load() {
        let [a, b] = [(); 2].map(|()| Starts::default());
        let load = load("1k/s", 101).sessions(4).warmup(Duration::from_millis(7));
        let report = Loads::versus(load, a.clone(), b.clone()).run_blocking().unwrap();
        let [a, b] = [a, b].map(|side| side.0.lock().unwrap().clone());
        let mut starts = [a, b].concat();
        starts.sort_unstable();
        let expected = (0..108).map(|slot| starts[0] + slot * 1_000_000);
        assert_eq!(starts, expected.collect::<Vec<_>>());
        let of = |name| report.load(name).map(|side| side.completed()).unwrap_or_default();
        assert_eq!((report.completed(), of("A") + of("B")), (101, 101));
    }

    #[test]
    fn wrong_loads_are_refused() {
        let both = |name: &str| {
            let loads = Loads::new().add("a", load("9/s", 1), Starts::default());
            loads.add(name, load("9/s", 1), Starts::default())
        };
        for (loads, told) in [
            (Loads::new(), "at least one load"),
            (both("a"), "two loads have the name \"a\""),
            (both(""), "cannot be the name of a load"),
            (both("b").threads(0), "threads(0): write a number from 1 to 1024"),
            (both("b").threads(1_025), "threads(1025): write a number from 1 to 1024"),
            (
                both("b").add("c", load("9/s", 1), |_: Slot| Ok(Done::new())).realtime(),
                "load c: --realtime works only on Linux and with calls that do not block",
            ),
            (both("b").fail_if("c: failed = 0").unwrap(), "write one of a, b"),
            (
                both("b").fail_if("p99 first-item < 1s").unwrap(),
                "p99 first-item < 1s: these times are not measured",
            ),
            (
                Loads::versus(load("9/s", 9), Starts::default(), Starts::default()),
                "--connections 3: each side gets half",
            ),
            (both("b").add("c", load("9/s", 0), Starts::default()), "write 1 or more"),
        ] {
            let error = loads.run_blocking().unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
