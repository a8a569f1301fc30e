//! Publishes the part of the schedule that callers read without the lock: the stretch on which the next slots lie, and
//! the first slot that is not known to be due.
//!
//! A *state*, with or without a stretch, is written under the timeline's lock. Readers load the *version*, the words,
//! and the version again, so that they read one state and not a mixture of two. The cold path reads a [`Snapshot`],
//! the hot path a [`Window`].
//!
//! # Orderings
//!
//! This is a sequence lock without fences (Boehm, "Can seqlocks get along with programming language memory models?",
//! 2012). A writer makes the version [`BUSY`]. Then it stores the words, swaps in the new *horizon* and stores the new
//! version, all with `Release`. A reader loads everything with `Acquire`, except for the last load.
//!
//! * If a word was read from a newer writer, the `Release`/`Acquire` pair of that word makes the writer's first store
//!   visible to the reader's last load, whose result then differs from that of the first load.
//! * If all words are older than the next writer, they are those that the `Acquire` of the first load made visible.
//!
//! The version counts states with 47 bits. At half a million states per second, the count wraps around after almost 9
//! years. The two loads therefore return the same state or different numbers, unless a thread is halted for years
//! between them.
//!
//! # The horizon
//!
//! The horizon is the first slot that is not known to be due. In a new state it is the first slot after the anchor. The
//! horizon also moves without the lock, as long as the state stays the same. If it moved only under the lock, a thread
//! that is preempted while it has the lock would make every other thread read the clock until the preempted thread runs
//! again. Within a state the horizon only moves forwards, by compare-and-swap. `reading` and `claimed`, which record
//! when the clock was read and which position claims had reached at that reading, move before the horizon does. A
//! thread that reads the new horizon, with `Acquire`, gets these values or later ones, so no grant is stamped with a
//! time before its slot was known to be due.
//!
//! The lowest 16 bits of the horizon are a *tag*, from the number of its state, so that a reading of the clock that was
//! made in an earlier state does not move the horizon. A thread that moves the horizon loads it, then checks with all
//! 47 bits that its own state is still the current one, and then replaces the horizon only if the horizon is still the
//! word that it loaded.
//!
//! The tag repeats after 65 536 states. A thread that is halted before the last of these steps for exactly this many
//! states (or a multiple), and then finds the same horizon, moves the horizon of a newer state. No slot starts early
//! because of that: slots that were due before a change of the schedule stay due, unless a late policy forfeits time in
//! between. If slots that were given back caused the changes of state, the wait time of a slot may be too short.

use super::reading;
use super::window::{BentWindow, Formula, Snapshot, Window};
use crate::position::{SLOT, after, first_after, slots_between, ticks_between};
use crate::scale::Scale;
use crate::schedule::{Line, Numbering, Stretch};
use crate::sync::{Acquire, AtomicU64, Relaxed, Release};
use crossbeam_utils::CachePadded;

/// The bits of a version that contain the [`shifts`](Scale::shifts) of the stretch's scale, six in each byte.
const SHIFTS: u64 = 0x3f3f;
/// The bit that is set while a writer is storing.
const BUSY: u64 = 1 << 6;
/// Set if a slot at the anchor lies on the stretch, which then begins a tick before its anchor.
const WITH_ANCHOR: u64 = 1 << 7;
/// The bit that is set in [`State::Guarded`], and with [`DRAWABLE`] in [`State::Uneven`].
const WITHOUT_STRETCH: u64 = 1 << 14;
const CLOSED: u64 = 1 << 15;
const BENT: u64 = 1 << 16;
/// The bit that is set with [`WITHOUT_STRETCH`] if slots may be drawn: the next slot does not lie on a line, and no
/// start moves another slot. The bit is one of [`SHIFTS`], which are not needed without a stretch.
const DRAWABLE: u64 = 1;
const UNEVEN: u64 = WITHOUT_STRETCH | DRAWABLE;
/// The lowest of the bits that count the states. These bits lie above all others.
const STATE: u64 = 1 << 17;

const NOT_OPEN: u64 = BUSY | WITHOUT_STRETCH | CLOSED;

/// The bits of a horizon that are its tag. In a slot's position these bits are zero.
const TAG: u64 = SLOT - 1;

#[derive(Debug)]
pub(super) struct Published {
    /// The version changes with every write. Some data of the stretch is in its lower bits, which saves readers a word.
    version: CachePadded<AtomicU64>,
    hot: CachePadded<Hot>,
}

/// The words that change without the lock, and the stretch. The hot path reads the first 64 bytes, a cache line.
#[derive(Debug)]
#[repr(C)] // The order matters.
struct Hot {
    /// The first slot that is not known to be due. Its lowest bits are the [`TAG`].
    horizon: AtomicU64,
    /// The latest reading of the clock that any thread has reported, in nanoseconds.
    reading: AtomicU64,
    /// The next position to be claimed, as it was when the clock was read.
    claimed: AtomicU64,
    /// The time of the stretch's anchor plus one nanosecond (the bits of an `i64`).
    time: AtomicU64,
    anchor: AtomicU64,
    mantissa: AtomicU64,
    base: AtomicU64,
    stride: AtomicU64,
    /// The last position of the stretch. It is on another cache line, because the hot path does not need it.
    ends_at: AtomicU64,
    /// The [`bend`](Stretch::bend) of the stretch (the bits of an `i64`). The hot path needs it only on a bent stretch.
    bend: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open(Stretch),
    /// The next slot does not lie on a line, for example because slots are unevenly spaced or not known yet. No start
    /// moves another slot. With an arrival process, slots are drawn under the lock, and may then be claimed without it.
    Uneven,
    /// Every claim and start is decided under the lock.
    Guarded,
    Closed,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LastReading {
    reading: i64,
    claimed: u64,
}

impl Published {
    pub(super) fn new() -> Published {
        let word = |value| AtomicU64::new(value);
        let hot = Hot {
            horizon: word(0),
            reading: word(0),
            claimed: word(0),
            time: word(0),
            anchor: word(0),
            mantissa: word(0),
            ends_at: word(0),
            base: word(0),
            stride: word(0),
            bend: word(0),
        };
        Published { version: CachePadded::new(word(WITHOUT_STRETCH)), hot: CachePadded::new(hot) }
    }

    #[inline]
    pub(crate) fn version(&self) -> u64 {
        // Relaxed: the data of a new version is read by `snapshot`, or under the lock. Partner: the stores of
        // `withdraw` and `write`. Models: `no_wake_up_is_lost`, `nothing_bursts_at_the_old_speed`.
        self.version.load(Relaxed)
    }

    #[inline]
    pub(super) fn claimed(&self) -> u64 {
        // Relaxed: the value is only a guess. If it is wrong, the caller claims a slot that it may have to give back,
        // or reads the clock once more. No model checks that.
        self.hot.claimed.load(Relaxed)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.version() & CLOSED != 0
    }

    pub(super) fn is_open(&self) -> bool {
        self.version() & NOT_OPEN == 0
    }

    pub(super) fn is_uneven(&self) -> bool {
        flags(self.version()) == UNEVEN
    }

    #[inline]
    pub(super) fn is_open_at(&self, version: u64) -> bool {
        self.version() == version && version & NOT_OPEN == 0
    }

    #[inline]
    pub(super) fn reading(&self) -> u64 {
        // Acquire: a caller that gets a reading which was made after a change also sees the change. Partner:
        // `report_at`. The result is never before a start that the caller knows of, because the word only grows; this
        // needs no ordering. Models: `a_reading_comes_with_its_change`, `now_is_never_before_a_start`.
        self.hot.reading.load(Acquire)
    }

    #[inline]
    pub(super) fn snapshot(&self) -> Option<Snapshot> {
        // Acquire, all but the last: see *Orderings* above. Model: `a_snapshot_is_read_whole`.
        let version = self.version.load(Acquire);
        let stretch = self.hot.stretch(version);
        // Relaxed: the Acquire loads of the words keep this load after them. Partner: the stores of `withdraw` and
        // `write`. Model: `a_snapshot_is_read_whole`.
        let is_whole = self.version.load(Relaxed) == version;
        (version & NOT_OPEN == 0 && is_whole).then_some(Snapshot { version, stretch })
    }

    #[inline]
    pub(super) fn window(&self) -> Option<Window> {
        // Acquire: see *Orderings* above. Models: as in `Hot::window`.
        let version = self.version.load(Acquire);
        if version & (NOT_OPEN | BENT) != 0 {
            return None;
        }
        let window = self.hot.window(version);
        // Relaxed: the Acquire loads of the words keep this load after them. Partner: the stores of `withdraw` and
        // `write`. Model: `a_window_is_read_whole`.
        (self.version.load(Relaxed) == version).then_some(window)
    }

    #[inline]
    pub(super) fn bent_window(&self) -> Option<BentWindow> {
        // Acquire, all but the last: see *Orderings* above. Model: `a_bent_window_is_read_whole`.
        let version = self.version.load(Acquire);
        let window = self.hot.window(version);
        let bend = self.hot.bend.load(Acquire);
        // Relaxed: the Acquire loads of the words keep this load after them. Partner: the stores of `withdraw` and
        // `write`. Model: `a_bent_window_is_read_whole`.
        let is_whole = self.version.load(Relaxed) == version;
        let is_bent = version & (NOT_OPEN | BENT) == BENT;
        (is_bent && is_whole).then_some(BentWindow { window, bend })
    }

    /// The caller holds the lock. Threads that read the state after this call start no slot by it.
    pub(super) fn withdraw(&self) {
        // Relaxed: only writers store, and the lock orders them; so no model.
        let old = self.version.load(Relaxed);
        if old & BUSY != 0 {
            return;
        }
        // Relaxed: this store only has to come before the stores of the words, which their Release ensures. Partners:
        // `snapshot`, `window`, `bent_window`. Models: `a_snapshot_is_read_whole`, `a_window_is_read_whole`,
        // `a_window_closes_with_a_pause`.
        self.version.store(old | BUSY, Relaxed);
    }

    pub(super) fn shows(&self, state: &State) -> bool {
        // Relaxed: only writers store, and the lock orders them; so no model.
        let flags = flags(self.version.load(Relaxed));
        match *state {
            State::Closed => flags == CLOSED,
            State::Guarded => flags == WITHOUT_STRETCH,
            State::Uneven => flags == UNEVEN,
            State::Open(stretch) => self.snapshot().is_some_and(|shown| shown.stretch == stretch),
        }
    }

    /// The caller holds the lock. `next` is the next position to be claimed at `now`.
    pub(super) fn write(&self, state: &State, next: u64, now: i64) {
        self.withdraw();
        // Relaxed: only writers store, and the lock orders them; so no model.
        let old = self.version.load(Relaxed) & !(STATE - 1);
        let rest = match state {
            State::Open(stretch) => pack(stretch),
            State::Uneven => UNEVEN,
            State::Guarded => WITHOUT_STRETCH,
            State::Closed => CLOSED,
        };
        let version = old.wrapping_add(STATE) | rest;
        if let State::Open(stretch) = state {
            self.hot.store(stretch);
            self.report_at(next, now);
            // Nothing is known to be due, not even claimed slots, because they may be given back. Model:
            // `a_slot_that_comes_back_is_not_due`.
            let horizon = first_after(stretch.line.position) | tag(version);
            // Release: see *Orderings* above. A store would be enough: the compare-and-swap of `advance_horizon_to`
            // comes before the store, or fails after it. The code uses a swap because loom does not order a store in
            // that way. No model checks this.
            self.hot.horizon.swap(horizon, Release);
        }
        // Release: see *Orderings* above. Models: `a_snapshot_is_read_whole`,
        // `a_window_is_read_whole`.
        self.version.store(version, Release);
    }

    /// Returns the latest reading that was reported before.
    pub(super) fn report_and_advance(&self, snapshot: &Snapshot, claimed: u64, now: i64) -> i64 {
        let last = self.last_reading();
        if !reading::is_the_same(
            slots_between(last.claimed, claimed),
            now.saturating_sub(last.reading),
        ) {
            self.report_at(claimed, now);
        }
        self.advance_horizon(snapshot, claimed, now, last);
        last.reading
    }

    /// Returns how many slots from `claimed` on may start with the reading `now`, at the pace since the last reading.
    pub(super) fn report_more(&self, claimed: u64, now: i64) -> u64 {
        let last = self.last_reading();
        let used = slots_between(last.claimed, claimed);
        let elapsed_ns = now.saturating_sub(last.reading);
        if !reading::is_the_same(used, elapsed_ns) {
            self.report_at(claimed, now);
        }
        reading::more(used, elapsed_ns)
    }

    pub(super) fn last_reading(&self) -> LastReading {
        // Acquire, and Relaxed after it: `report_at` stores the two words in the opposite order, so a newer `reading`
        // comes with a `claimed` that is as new or newer, and no pace is overestimated. No model checks this, because
        // the numbers in models are too small for a pace; the order is kept because the argument needs it.
        let reading = self.hot.reading.load(Acquire).cast_signed();
        LastReading { reading, claimed: self.hot.claimed.load(Relaxed) }
    }

    /// Lets due slots from `claimed` on start with the reading `now`, as many as the pace since `last` allows.
    pub(super) fn advance_horizon(
        &self,
        snapshot: &Snapshot,
        claimed: u64,
        now: i64,
        last: LastReading,
    ) {
        let elapsed_ns = now.saturating_sub(last.reading);
        let more = reading::more(slots_between(last.claimed, claimed), elapsed_ns);
        let due = slots_between(claimed, snapshot.first_ahead(now)).min(more);
        if due > 0 {
            self.advance_horizon_to(after(claimed, due), snapshot.version);
        }
    }

    fn advance_horizon_to(&self, position: u64, version: u64) {
        let horizon = position | tag(version);
        // Acquire: if the horizon belongs to a newer state, the version shows that. Partner: the swap of `write`. No
        // model checks that.
        let old = self.hot.horizon.load(Acquire);
        if self.version() == version && ticks_between(old, horizon) > 0 {
            // Release: for the words that `report_at` has stored. A failure means that another thread has moved the
            // horizon, which is as good; the value found is not used, so Relaxed. Model: `the_reading_never_goes_back`.
            let _ = self.hot.horizon.compare_exchange(old, horizon, Release, Relaxed);
        }
    }

    /// Returns false only if the hot path can't grant the slot.
    pub(super) fn is_known_due(&self, position: u64) -> bool {
        // Relaxed: a thread that moves the horizon during this call has just read the clock. No model checks that.
        let horizon = self.hot.horizon.load(Relaxed);
        self.is_open() && ticks_between(position, horizon & !TAG) > 0
    }

    /// `claimed` is the position that claims had reached at `now`. Returns the latest reading that was reported before.
    pub(super) fn report_at(&self, claimed: u64, now: i64) -> i64 {
        let moved_on = |old| (ticks_between(old, claimed) > 0).then_some(claimed);
        // Relaxed: the reading is stored after this word, with Release; see `last_reading`. No model checks this.
        let _ = self.hot.claimed.fetch_update(Relaxed, Relaxed, moved_on);
        // Release: partner of `window`'s load; see *Orderings* above. Model:
        // `a_window_closes_with_a_pause`.
        self.hot.reading.fetch_max(now.max(0).unsigned_abs(), Release).cast_signed()
    }
}

impl Hot {
    #[inline]
    fn window(&self, version: u64) -> Window {
        // Acquire, all of them: see *Orderings* above. Models: `a_window_is_read_whole`, for `anchor`
        // `a_window_that_goes_back_is_read_whole`, `a_window_closes_with_a_pause`, `the_reading_never_goes_back`.
        let horizon = self.horizon.load(Acquire);
        let reading = self.reading.load(Acquire);
        let time = self.time.load(Acquire);
        let anchor = self.anchor.load(Acquire);
        let mantissa = self.mantissa.load(Acquire);
        let base = self.base.load(Acquire);
        let stride = self.stride.load(Acquire);
        let formula = Formula::new(time, mantissa, shifts(version));
        Window::new(anchor, horizon & !TAG, formula, Numbering { base, stride }, reading)
    }

    fn stretch(&self, version: u64) -> Stretch {
        // Acquire, all of them: see *Orderings* above. Models: `a_snapshot_is_read_whole`, for `ends_at`
        // `a_chord_is_read_whole`, and for `bend` `a_parabola_is_read_whole`.
        let time = self.time.load(Acquire).wrapping_sub(1).cast_signed();
        let position = self.anchor.load(Acquire);
        let mantissa = self.mantissa.load(Acquire);
        let ends_at = self.ends_at.load(Acquire);
        let numbers =
            Numbering { base: self.base.load(Acquire), stride: self.stride.load(Acquire) };
        let bend = self.bend.load(Acquire).cast_signed();
        let line = Line { time, position, scale: Scale::with_shifts(mantissa, shifts(version)) };
        let before = u64::from(version & WITH_ANCHOR != 0);
        Stretch { line, bend, begins_after: position.wrapping_sub(before), ends_at, numbers }
    }

    fn store(&self, stretch: &Stretch) {
        let Line { time, position, scale } = stretch.line;
        // Release, all of them: see *Orderings* above. Models: `a_snapshot_is_read_whole`,
        // `a_window_is_read_whole`, `a_chord_is_read_whole`, `a_parabola_is_read_whole`.
        self.time.store(time.cast_unsigned().wrapping_add(1), Release);
        self.anchor.store(position, Release);
        self.mantissa.store(scale.mantissa, Release);
        self.ends_at.store(stretch.ends_at, Release);
        self.base.store(stretch.numbers.base, Release);
        self.stride.store(stretch.numbers.stride, Release);
        self.bend.store(stretch.bend.cast_unsigned(), Release);
    }
}

fn tag(version: u64) -> u64 {
    (version / STATE) & TAG
}

/// In an open state, the lowest of these bits belongs to the shifts.
fn flags(version: u64) -> u64 {
    version & (NOT_OPEN | DRAWABLE)
}

/// `begins_after` is the anchor or a tick before it, which takes one bit.
fn pack(stretch: &Stretch) -> u64 {
    let [pre, post] = stretch.line.scale.shifts();
    let with_anchor = if stretch.begins_after == stretch.line.position { 0 } else { WITH_ANCHOR };
    let bent = if stretch.bend == 0 { 0 } else { BENT };
    u64::from(pre) | u64::from(post) << 8 | with_anchor | bent
}

#[inline]
fn shifts(version: u64) -> [u8; 2] {
    let [pre, post, ..] = (version & SHIFTS).to_le_bytes();
    [pre, post]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(time: i64, rate: &str) -> Line {
        let scale = rate.parse::<crate::Rate>().unwrap().scale_at(1 << 32);
        Line { time, position: 0, scale }
    }

    fn open(line: Line) -> State {
        State::Open(Stretch {
            line,
            bend: 0,
            begins_after: line.position.wrapping_sub(1),
            ends_at: after(0, 1 << 40),
            numbers: Numbering { base: 0, stride: 1 },
        })
    }

    #[test]
    fn a_thread_that_slept_through_all_numbers_of_states_moves_nothing() {
        let published = Published::new();
        published.write(&open(line(0, "1G/s")), 0, 0);
        let snapshot = published.snapshot().unwrap();
        let slower = open(line(0, "1/s"));
        for _ in 0..=TAG {
            published.write(&slower, 0, 0);
        }
        assert_eq!(tag(published.version()), tag(snapshot.version));
        published.report_and_advance(&snapshot, after(0, 1), 1_000);
        published.report_and_advance(&snapshot, after(0, 1_000), 2_000);
        assert!(!published.is_known_due(after(0, 1_001)));
        let window = published.window().unwrap();
        assert!((1..3_000).all(|slot| window.grant(after(0, slot)).is_none()));
    }
}
