//! Defines arrival processes, which spread the slots of a load over time.

mod chacha;
mod error;
mod exact;
mod jitter;
#[cfg(test)]
mod laws;
mod parse;
mod process;
mod random;
mod renewal;
mod replay;
#[cfg(test)]
mod statistics;
mod tree;

pub use error::ArrivalsError;
pub(crate) use process::Process;
use replay::Recording;
use std::num::NonZeroU32;
use std::time::Duration;

/// An arrival process, which determines whether the slots of a load are evenly spaced, random or recorded.
///
/// A rate or a [`Shape`](crate::Shape) sets how many slots are due by a given time on average. An arrival process, set
/// with [`PacerBuilder::arrivals`](crate::PacerBuilder::arrivals), determines the time of each single slot: it converts
/// the number of the slot to the *count* at which the slot is due. The slot's intended start is the time at which the
/// load reaches that count. At a rate of 100/s the count grows by 1 in 10 ms. Every process except a replay has one
/// slot per count in the long run, and so keeps the average rate of the load.
///
/// | process | string | slot `n` is due at count | variance of the gaps |
/// |---|---|---|---|
/// | [`even`](Arrivals::even) | `even` | `n` | 0 |
/// | [`poisson`](Arrivals::poisson) | `poisson` | the sum of `n + 1` exponential gaps | 1 |
/// | [`exact_poisson`](Arrivals::exact_poisson) | `exact-poisson:1000` | as Poisson, with exactly 1000 slots in every run of 1000 counts | just below 1 |
/// | [`gamma`](Arrivals::gamma) | `gamma:0.25` | the sum of `n + 1` gamma-distributed gaps | 1 / shape |
/// | [`jitter`](Arrivals::jitter) | `jitter:0.3` | `n + 0.3 u`, `u` uniform in [0, 1) | part² / 6 |
/// | [`replay`](Arrivals::replay) | | the recorded offset in seconds | as recorded |
///
/// # Seeds
///
/// A process and its seed determine every slot. Slots are the same on every machine, however often and in whatever
/// order they are computed. Two pacers with the same process and seed have the same arrivals. Arrivals with different
/// seeds are independent of each other. Processes with the same seed are independent only if they are of different
/// kinds. There are three kinds of random processes: gamma (Poisson is gamma of shape 1), exact Poisson and jitter. All
/// processes of a kind are computed from the same random numbers, whatever their parameters. The random numbers are the
/// key stream of `ChaCha8`, which never changes. Logarithms and exponentials come from the crate `libm`, not from the
/// platform. A later version of this crate or of `libm` may round the positions of some slots differently. A test
/// detects such a change, and the changelog reports it.
///
/// # Cost
///
/// Computing a slot takes about 10 to 60 ns if slots are computed in order, and some microseconds otherwise. The
/// process uses a few kilobytes of memory, however long the load is. A replay uses more, as
/// [`replay`](Arrivals::replay) describes. Uneven slots are computed under a lock. Without a late policy, up to 64 due
/// slots are computed together. A random process has 2^63 slots.
///
/// ```
/// use nanopace::Arrivals;
///
/// let arrivals = Arrivals::gamma(0.25, 7)?;
/// let same: Arrivals = "gamma:0.25".parse::<Arrivals>()?.with_seed(7);
/// assert_eq!(format!("{arrivals:?}"), format!("{same:?}"));
/// # Ok::<(), nanopace::ArrivalsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Arrivals(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Even,
    Gamma { shape: f64, seed: u64 },
    ExactPoisson { slots: NonZeroU32, seed: u64 },
    Jitter { part: f64, seed: u64 },
    Replay(Recording),
}

const GAMMA_SHAPES: std::ops::RangeInclusive<f64> = 0.01..=1e6;

impl Arrivals {
    /// Returns evenly spaced arrivals: slot `n` is due at count `n` exactly. This is the default.
    #[must_use]
    pub fn even() -> Arrivals {
        Arrivals(Kind::Even)
    }

    /// Returns a Poisson process, as from many independent users: gaps are independent and exponentially distributed,
    /// and the number of slots in any stretch of `c` counts has the Poisson distribution with mean `c`. The first slot
    /// is due after the first gap, not at count 0.
    ///
    /// A load that reaches the count `n` has a random number of slots, with mean `n` and with the square root of `n` as
    /// its standard deviation. If you need an exact number, use [`exact_poisson`](Arrivals::exact_poisson).
    ///
    /// Any slot can be computed without computing all those before it. Sums of gaps are drawn first and then split into
    /// parts with a beta distribution (Devroye, "Non-uniform random variate generation", 1986), from numbers that
    /// depend only on the seed and the position (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
    /// 2011).
    #[must_use]
    pub fn poisson(seed: u64) -> Arrivals {
        Arrivals(Kind::Gamma { shape: 1.0, seed })
    }

    /// Returns Poisson arrivals that are conditioned on their number: the counts are divided into consecutive runs of
    /// `slots` counts, and each run has exactly `slots` slots, whatever the seed.
    ///
    /// Within a run, positions are sorted uniform random numbers: a Poisson process has this distribution if the number
    /// of its arrivals is known (Cox and Lewis, "The statistical analysis of series of events", 1966). A run of any
    /// length takes a few kilobytes of memory at most. In runs of fewer than about ten slots, computing a slot takes
    /// longer.
    ///
    /// At a rate of 1000/s, runs of 1000 slots give every second the same number of slots.
    ///
    /// # Errors
    /// Returns [`ArrivalsError::NoSlots`] if `slots` is zero.
    pub fn exact_poisson(slots: u32, seed: u64) -> Result<Arrivals, ArrivalsError> {
        let slots = NonZeroU32::new(slots).ok_or(ArrivalsError::NoSlots)?;
        Ok(Arrivals(Kind::ExactPoisson { slots, seed }))
    }

    /// Returns a process with independent gamma-distributed gaps of mean 1 and variance `1 / shape`. With a shape below
    /// 1, arrivals are burstier than Poisson; with a shape of 1, they are Poisson; with a shape above 1, they are more
    /// even. Shapes range from 0.01 to 10^6. The first slot is due after the first gap, not at count 0.
    ///
    /// Over a long stretch, the variance of the number of slots is `1 / shape` times the mean of that number. Random
    /// numbers are drawn with the method of Marsaglia and Tsang ("A simple method for generating gamma variables", TOMS
    /// 2000) for shapes above 1, and with that of Ahrens and Dieter ("Computer methods for sampling from gamma, beta,
    /// Poisson and binomial distributions", Computing 1974) for shapes below 1.
    ///
    /// # Errors
    /// Returns [`ArrivalsError::Gamma`] for a shape outside the range from 0.01 to 10^6.
    pub fn gamma(shape: f64, seed: u64) -> Result<Arrivals, ArrivalsError> {
        if !GAMMA_SHAPES.contains(&shape) {
            return Err(ArrivalsError::Gamma);
        }
        Ok(Arrivals(Kind::Gamma { shape, seed }))
    }

    /// Returns a process of evenly spaced slots, each of which is delayed by a random part of a gap: slot `n` is due at
    /// `n + part * u`, where `u` is uniform in [0, 1) and independent for each slot. `part` ranges from 0 (even) to 1.
    ///
    /// # Errors
    /// Returns [`ArrivalsError::Jitter`] for a part outside the range from 0 to 1.
    pub fn jitter(part: f64, seed: u64) -> Result<Arrivals, ArrivalsError> {
        if !(0.0..=1.0).contains(&part) {
            return Err(ArrivalsError::Jitter);
        }
        Ok(Arrivals(Kind::Jitter { part, seed }))
    }

    /// Returns recorded arrivals. Each pacer calls `recorded`, which returns the offsets of the arrivals from the start
    /// of the recording in ascending order. An offset that is lower than an earlier one counts as equal to the highest
    /// offset before it.
    ///
    /// One count is one second, so the pacer's rate is the playback speed: 1/s replays at the recorded speed, 2/s twice
    /// as fast, and on a rising ramp the replay gets faster. The schedule ends with the last offset.
    ///
    /// Offsets are read when they are needed, and dropped when their slots are past, so a recording may have any
    /// length. At most 2^20 offsets are kept ahead of the slots that are in use, or as many as a caller requests at
    /// once. Up to 2^20 past offsets are kept while a caller holds a slot among them. If more than 2^20 arrivals pass
    /// while a caller holds a slot, the slot gets the time of a later arrival. The caller that claims a slot reads the
    /// offsets while other callers wait. The iterator must therefore not block for long, must not panic, and must not
    /// call the pacer.
    ///
    /// ```
    /// use nanopace::Arrivals;
    /// use std::time::Duration;
    ///
    /// let recorded = "0.0\n0.8\n0.9\n4.5";
    /// let offsets = || recorded.lines().map_while(|line| line.parse().ok());
    /// let arrivals = Arrivals::replay(move || offsets().map(Duration::from_secs_f64));
    /// ```
    pub fn replay<I>(recorded: impl Fn() -> I + Send + Sync + 'static) -> Arrivals
    where
        I: IntoIterator<Item = Duration, IntoIter: Send + 'static>,
    {
        Arrivals(Kind::Replay(Recording::new(recorded)))
    }

    /// Returns this process with the seed `new`. Even arrivals and a replay have no seed and do not change.
    #[must_use]
    pub fn with_seed(mut self, new: u64) -> Arrivals {
        match &mut self.0 {
            Kind::Gamma { seed, .. }
            | Kind::ExactPoisson { seed, .. }
            | Kind::Jitter { seed, .. } => {
                *seed = new;
            }
            Kind::Even | Kind::Replay(_) => {}
        }
        self
    }

    pub(crate) fn is_even(&self) -> bool {
        matches!(self.0, Kind::Even)
    }
}

/// The default is [`Arrivals::even`].
impl Default for Arrivals {
    fn default() -> Arrivals {
        Arrivals::even()
    }
}
