//! Defines the settings of a pacer.

use crate::ffi::maybe_text;
use crate::status::Failure;
use nanopace::{Arrivals, ManualClock, MonotonicClock, PacerBuilder, Strictness};
use std::ffi::c_char;
use std::time::Duration;

/// The clock of a pacer, for `nanopace_options.clock`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// `CLOCK_MONOTONIC`. Its times can be compared with those of other programs.
    Monotonic = 0,
    /// The processor's counter. A reading takes half as long as one of `CLOCK_MONOTONIC`, but the times have their own
    /// origin.
    Counter = 1,
    /// A clock for tests, which stays at 0 until `nanopace_advance` moves it.
    Manual = 2,
    /// A clock for tests. It differs from the manual clock in that a caller that waits moves the clock to the end of
    /// the wait.
    Jumping = 3,
}

/// The event at which the schedule starts, for `nanopace_options.start`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum Start {
    /// The creation of the pacer.
    Now = 0,
    /// The first `nanopace_resume`.
    Resume = 1,
    /// The first time that a caller tries to claim a slot, or the first `nanopace_resume`, whichever comes first.
    FirstUse = 2,
}

/// The settings of a pacer. Zero, or null, in a field except `size` means its default. Begin with
/// `nanopace_options_default()`, and set the fields that you need.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The size of this struct in the header that you compile with. Later versions may add fields at the end.
    pub size: usize,
    /// The distribution of slots over time: "even" (the default), "poisson", "exact-poisson:1000", "gamma:0.25"
    /// or "jitter:0.3".
    pub arrivals: *const c_char,
    /// This process's part of the load: "1/3" is the first of three equal parts, and "2/3:1" the second of two, of
    /// which the first is three times as large. The default is the whole load.
    pub shard: *const c_char,
    /// The way in which callers wait for their slots: "sleep" (the default), "hybrid", "yield" or "spin".
    pub pause: *const c_char,
    /// The seed of random arrivals. 0 is a valid seed.
    pub seed: u64,
    /// The strictness, which sets how much lateness is made up for: 0 (the default) makes up for all of it, and 1 for
    /// none of it. A number above 1 is a burst ratio.
    pub strictness: f64,
    /// The maximum lateness that is made up for. No limit by default. To make up for nearly no lateness, write 1.
    pub max_backlog_ns: u64,
    /// The lateness beyond which slots are skipped and counted. By default no slot is skipped.
    pub skip_later_than_ns: u64,
    /// The delay below which callers do not pause, so a slot may start early by less than this time. 0 by default.
    pub sleep_threshold_ns: u64,
    /// The lateness up to which time is made up for at once under every strictness except 1. 100000 by default.
    pub tolerance_ns: u64,
    /// The share of a core that each thread may spend on going to sleep and waking up, from 0 to 1. 0.1 by default.
    pub sleep_share: f64,
    /// The share of a core that each thread may spend on spinning when the pause is "hybrid", from 0 to
    /// 1. 0.25 by default.
    pub spin_share: f64,
    /// The number of slots after which the schedule ends permanently. No end by default.
    pub slots: u64,
    /// The schedule time, without pauses, after which the schedule ends permanently. No end by default.
    pub until_ns: u64,
    /// A value of `nanopace_clock`.
    pub clock: u32,
    /// A value of `nanopace_start`.
    pub start: u32,
}

impl Options {
    /// # Safety
    /// The pointer is null or points to options.
    pub(crate) unsafe fn read(options: *const Options) -> Result<Options, Failure> {
        if options.is_null() {
            return Ok(Options::default());
        }
        // SAFETY: the pointer is not null, so it points to options, whose first field is the size.
        let size = unsafe { options.cast::<usize>().read() };
        if size != size_of::<Options>() {
            return Err(Failure::wrong(format!(
                "options.size is {size}: it must be sizeof(nanopace_options), {}",
                size_of::<Options>()
            )));
        }
        // SAFETY: the size field says that the value is as large as `Options`.
        Ok(unsafe { options.read() })
    }

    /// Applies these settings to the builder. Returns the clock if `nanopace_advance` can move it.
    ///
    /// # Safety
    /// Each string pointer is null or points to a C string.
    pub(crate) unsafe fn apply(
        &self,
        builder: PacerBuilder,
    ) -> Result<(PacerBuilder, Option<ManualClock>), Failure> {
        // SAFETY: the caller meets the requirements of this function.
        let builder = unsafe { self.apply_texts(builder) }?;
        let builder = self.apply_numbers(builder)?;
        let builder = match self.start {
            0 => builder,
            1 => builder.start_paused(),
            2 => builder.start_on_first_use(),
            other => {
                return Err(Failure::wrong(format!(
                    "options.start is {other}: write NANOPACE_START_NOW, _RESUME or _FIRST_USE"
                )));
            }
        };
        let manual = |clock: ManualClock| (clock.clone(), Some(clock));
        let (clock, kept) = match self.clock {
            0 => return Ok((builder.clock(MonotonicClock), None)),
            1 => return Ok((builder, None)),
            2 => manual(ManualClock::new()),
            3 => manual(ManualClock::jumping()),
            other => {
                return Err(Failure::wrong(format!(
                    "options.clock is {other}: write NANOPACE_CLOCK_MONOTONIC, _COUNTER, _MANUAL or _JUMPING"
                )));
            }
        };
        Ok((builder.clock(clock), kept))
    }

    /// # Safety
    /// The requirement is that of [`apply`](Options::apply).
    unsafe fn apply_texts(&self, mut builder: PacerBuilder) -> Result<PacerBuilder, Failure> {
        // SAFETY: the caller meets the requirements of this function.
        if let Some(text) = unsafe { maybe_text(self.arrivals) }? {
            let arrivals: Arrivals = text.parse().map_err(Failure::wrong)?;
            builder = builder.arrivals(arrivals.with_seed(self.seed));
        }
        // SAFETY: the caller meets the requirements of this function.
        if let Some(text) = unsafe { maybe_text(self.shard) }? {
            builder = builder.shard(text.parse().map_err(Failure::wrong)?);
        }
        // SAFETY: the caller meets the requirements of this function.
        if let Some(text) = unsafe { maybe_text(self.pause) }? {
            builder = builder.pause(text.parse().map_err(Failure::wrong)?);
        }
        Ok(builder)
    }

    fn apply_numbers(&self, builder: PacerBuilder) -> Result<PacerBuilder, Failure> {
        let span = |ns: u64| Some(Duration::from_nanos(ns)).filter(|span| !span.is_zero());
        let sleep_share = share("sleep_share", self.sleep_share)?;
        let spin_share = share("spin_share", self.spin_share)?;
        let strictness = Strictness::new(self.strictness).map_err(Failure::wrong)?;
        let builder = builder.strictness(strictness);
        let builder = with(builder, span(self.max_backlog_ns), PacerBuilder::max_backlog);
        let builder = with(builder, span(self.skip_later_than_ns), PacerBuilder::skip_later_than);
        let builder = with(builder, span(self.sleep_threshold_ns), PacerBuilder::sleep_threshold);
        let builder = with(builder, span(self.tolerance_ns), PacerBuilder::tolerance);
        let builder = with(builder, sleep_share, PacerBuilder::sleep_share);
        let builder = with(builder, spin_share, PacerBuilder::spin_share);
        let builder = with(builder, span(self.until_ns), PacerBuilder::until);
        Ok(if self.slots == 0 { builder } else { builder.slots(self.slots) })
    }
}

fn share(field: &str, share: f64) -> Result<Option<f64>, Failure> {
    if !(0.0..=1.0).contains(&share) {
        return Err(Failure::wrong(format!(
            "options.{field} is {share:?}: write a share of a core, from 0 to 1, such as 0.1"
        )));
    }
    Ok(Some(share).filter(|&share| share != 0.0))
}

fn with<T>(
    builder: PacerBuilder,
    setting: Option<T>,
    set: fn(PacerBuilder, T) -> PacerBuilder,
) -> PacerBuilder {
    match setting {
        Some(value) => set(builder, value),
        None => builder,
    }
}

impl Default for Options {
    fn default() -> Options {
        use std::ptr::null;
        Options {
            size: size_of::<Options>(),
            arrivals: null(),
            shard: null(),
            pause: null(),
            seed: 0,
            strictness: 0.0,
            max_backlog_ns: 0,
            skip_later_than_ns: 0,
            sleep_threshold_ns: 0,
            tolerance_ns: 0,
            sleep_share: 0.0,
            spin_share: 0.0,
            slots: 0,
            until_ns: 0,
            clock: Clock::Monotonic as u32,
            start: Start::Now as u32,
        }
    }
}
