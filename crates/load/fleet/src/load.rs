//! Divides the load of a run into frames.

use crate::error::FleetError;
use crate::frames::Frames;
use crate::message::{FleetRun, Version};
use crate::track_ownership::TrackSet;
use nanopace::driver::Lease;
use nanopace::{Arrivals, Level, Shape, Shard};
use std::time::Duration;

/// The number of frames without slots at the beginning of a run. During these frames, all nodes learn of the start and
/// make their first claims.
const HEAD: u64 = 8;

#[derive(Debug)]
pub(crate) struct Load {
    frames: Frames,
    arrivals: (String, u64),
    process: Arrivals,
    body: Shape,
    shape: Shape,
    /// The shape that continues after the pause, or `None` if the load is not paused.
    rest: Option<Shape>,
    /// A cache of recently used frames, each with its first slot.
    known: Vec<(u64, u64)>,
}

impl Load {
    pub(crate) fn new(
        frames: Frames,
        arrivals: &str,
        seed: u64,
        shape: &str,
    ) -> Result<Load, FleetError> {
        Load::with(frames, (arrivals.to_owned(), seed), parse(shape)?, None)
    }

    pub(crate) fn of(run: &FleetRun) -> Result<Load, FleetError> {
        let (first, changes) = run.versions.split_first().ok_or(FleetError::Damaged)?;
        let shape = first.shape.as_deref().ok_or(FleetError::Damaged)?;
        let first = Load::new(run.frames, &run.arrivals, run.seed, shape)?;
        changes.iter().try_fold(first, |load, change| load.changed(change))
    }

    fn with(
        frames: Frames,
        arrivals: (String, u64),
        body: Shape,
        rest: Option<Shape>,
    ) -> Result<Load, FleetError> {
        let process = process(&arrivals.0, arrivals.1)?;
        let shape = nothing(Duration::from_nanos(frames.begins(HEAD)))?.then(body.clone())?;
        Ok(Load { frames, arrivals, process, body, shape, rest, known: Vec::new() })
    }

    pub(crate) fn changed(&self, change: &Version) -> Result<Load, FleetError> {
        let next = change.shape.as_deref().map(parse).transpose()?;
        let body = match (self.up_to(change.from)?, next) {
            (Some(before), Some(next)) => before.then(next)?,
            (Some(body), None) | (None, Some(body)) => body,
            (None, None) => nothing(Duration::from_nanos(self.frames.frame_ns))?,
        };
        let rest = change.rest.as_deref().map(parse).transpose()?;
        Load::with(self.frames, self.arrivals.clone(), body, rest)
    }

    pub(crate) fn text(&self) -> String {
        self.body.to_string()
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the shape that the pacer follows. It has no end, because the load can still be changed before its end,
    /// even if it has no slots left. The pacer ends with its last lease.
    pub(crate) fn followed(&self) -> Result<Shape, FleetError> {
        let shape = self.shape.clone();
        match shape.duration() {
            Some(_) => Ok(shape.then(Shape::constant(Level::ZERO))?),
            None => Ok(shape),
        }
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.rest.is_some()
    }

    pub(crate) fn rest(&self) -> Option<&Shape> {
        self.rest.as_ref()
    }

    pub(crate) fn arrivals(&self) -> Result<Arrivals, FleetError> {
        process(&self.arrivals.0, self.arrivals.1)
    }

    pub(crate) fn end(&self) -> Option<u64> {
        let time = u64::try_from(self.shape.duration()?.as_nanos()).ok()?;
        Some(time.div_ceil(self.frames.frame_ns))
    }

    /// Returns the first slot of a frame. For a frame after the end of the load, returns the total number of slots in
    /// the load.
    pub(crate) fn first(&mut self, frame: u64) -> u64 {
        if let Some(&(_, first)) = self.known.iter().find(|&&(known, _)| known == frame) {
            return first;
        }
        let first = self.slot_at(self.frames.begins(frame));
        self.known.truncate(15);
        self.known.insert(0, (frame, first));
        first
    }

    pub(crate) fn slot_at(&self, moment_ns: u64) -> u64 {
        let moment = Duration::from_nanos(moment_ns);
        self.process.starts_before(moment, &self.shape, &all())
    }

    pub(crate) fn slots(&mut self, frame: u64, tracks: &TrackSet) -> u64 {
        if tracks.is_empty() {
            return 0;
        }
        let (first, end) = (self.first(frame), self.first(frame + 1));
        self.slots_between(first, end, tracks)
    }

    pub(crate) fn slots_on(&mut self, frame: u64, track: u32) -> u64 {
        let (first, end) = (self.first(frame), self.first(frame + 1));
        self.between(first, end, track)
    }

    /// Returns the number of slots on these tracks before `moment_ns`, in the frame that contains this time.
    pub(crate) fn slots_by(&mut self, moment_ns: u64, tracks: &TrackSet) -> u64 {
        let first = self.first(self.frames.at(moment_ns));
        self.slots_between(first, self.slot_at(moment_ns), tracks)
    }

    pub(crate) fn slots_between(&self, first: u64, end: u64, tracks: &TrackSet) -> u64 {
        tracks.iter().map(|track| self.between(first, end, track)).sum()
    }

    fn between(&self, first: u64, end: u64, track: u32) -> u64 {
        let cycle = u64::from(self.frames.tracks);
        let before = |slot: u64| (slot + cycle - 1 - u64::from(track)) / cycle;
        before(end) - before(first)
    }

    pub(crate) fn lease(&mut self, frame: u64, tracks: &TrackSet) -> Lease {
        let until = self.first(frame + 1);
        let shard = Shard::of(self.frames.tracks, tracks.as_slice());
        shard.map_or(Lease::nothing(until), |shard| Lease::of(shard, until))
    }

    pub(crate) fn behind(&self, from: u64) -> Option<Shape> {
        self.shape.clone().skip(Duration::from_nanos(self.frames.begins(from))).ok()
    }

    /// Returns the load before a frame, without the empty frames at the beginning of the run. Returns `None` if nothing
    /// is left.
    fn up_to(&self, from: u64) -> Result<Option<Shape>, FleetError> {
        let time = Duration::from_nanos(self.frames.begins(from.saturating_sub(HEAD)));
        if time.is_zero() {
            return Ok(None);
        }
        let shape = self.body.clone().take(time)?;
        let missing = time.saturating_sub(shape.duration().unwrap_or(time));
        Ok(Some(if missing.is_zero() { shape } else { shape.then(nothing(missing)?)? }))
    }
}

pub(crate) fn nothing(time: Duration) -> Result<Shape, FleetError> {
    Ok(Shape::hold(Level::ZERO, time)?)
}

fn all() -> Shard {
    Shard::of(1, &[0]).expect("a shard that is the whole load")
}

fn parse(shape: &str) -> Result<Shape, FleetError> {
    Ok(shape.parse::<Shape>()?)
}

fn process(arrivals: &str, seed: u64) -> Result<Arrivals, FleetError> {
    Ok(arrivals.parse::<Arrivals>()?.with_seed(seed))
}

pub(crate) fn head_frames() -> u64 {
    HEAD
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace::driver::{Drive as _, leased};
    use nanopace::{ManualClock, Nanos, Pacer, Refused};
    use std::iter;

    fn load(shape: &str) -> Load {
        let frames = Frames { frame_ns: 20_000_000, tracks: 16 };
        Load::new(frames, "even", 0, shape).unwrap()
    }

    #[test]
    fn a_change_begins_at_its_frame_if_the_load_was_over_before() {
        let shape = Some("hold 1k/s 1s".to_owned());
        let change = Version { change: 1, from: HEAD + 15, shape, rest: None };
        let mut load = load("hold 1k/s 100ms").changed(&change).unwrap();
        let firsts = [5, 14, 15, 16].map(|frame| load.first(HEAD + frame));
        assert_eq!(firsts, [100, 100, 100, 120]);
    }

    #[test]
    fn a_load_that_is_followed_has_no_end_of_its_own() {
        for shape in ["hold 1k/s 1s", "hold 1k/s 1s forever"] {
            assert_eq!(load(shape).followed().unwrap().duration(), None, "{shape}");
        }
    }

    /// A node that was cut off may get leases after the end of the load, and a new version may then continue the load.
    #[test]
    fn a_pacer_that_follows_a_load_starts_all_that_is_leased_after_its_end() {
        let (mut short, mut long) = (load("hold 1k/s 1s"), load("hold 1k/s 1s, hold 500/s 1s"));
        let clock = ManualClock::new();
        let builder = Pacer::shaped(short.followed().unwrap()).arrivals(short.arrivals().unwrap());
        let pacer = leased(builder).clock(clock.clone()).build();
        let tracks: TrackSet = (0..16).collect();
        let started = || iter::from_fn(|| pacer.try_acquire().ok()).count();
        pacer.lease(0, &[short.lease(HEAD + 9, &tracks)]).unwrap();
        clock.advance(Duration::from_secs(1));
        assert_eq!(started(), 200);
        clock.advance(Duration::from_secs(9));
        assert_eq!(pacer.lease_rest(200, &[short.lease(HEAD + 49, &tracks)]), 200);
        assert_eq!(started(), 800);
        assert_eq!(pacer.try_acquire(), Err(Refused::NotUntil(Nanos::MAX)));
        assert_eq!(pacer.lease_rest(1_000, &[]), 1_000);
        pacer.correct_shape(long.followed().unwrap());
        assert_eq!(pacer.lease_rest(1_000, &[long.lease(HEAD + 99, &tracks)]), 1_000);
        assert_eq!(started(), 500);
        assert_eq!(pacer.try_acquire(), Err(Refused::NotUntil(Nanos::MAX)));
        assert_eq!(pacer.lease_rest(1_500, &[Lease::nothing(u64::MAX)]), 1_500);
        assert_eq!(pacer.try_acquire(), Err(Refused::Finished));
    }
}
