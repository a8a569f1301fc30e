//! Leaves one after the other, and again and again.

use super::leaf::Leaf;
use crate::count::{Fine, MOST};
use crate::error::ShapeError;
use std::sync::Arc;

/// More leaves than this are refused, and more nodes within each other.
const MOST_LEAVES: usize = 1 << 16;
const DEEPEST: usize = 64;

/// A tree of leaves. Moments and counts are those since its own beginning.
#[derive(Clone, Debug)]
pub(super) enum Program {
    Leaf(Leaf),
    Row(Row),
    Cycle(Cycle),
}

/// One after the other.
#[derive(Clone, Debug)]
pub(super) struct Row {
    parts: Vec<Part>,
    extent: Extent,
}

#[derive(Clone, Debug)]
struct Part {
    program: Arc<Program>,
    start_ns: i64,
    /// The count of all parts before it.
    before: Fine,
}

/// The same, again and again.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    program: Arc<Program>,
    /// None: for ever.
    times: Option<u64>,
    extent: Extent,
}

/// How large a node is.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// `i64::MAX`: for ever.
    time_ns: i64,
    total: Fine,
    leaves: usize,
    depth: usize,
}

impl Extent {
    fn checked(self) -> Result<Extent, ShapeError> {
        if self.leaves > MOST_LEAVES || self.depth > DEEPEST {
            return Err(ShapeError::TooManyParts);
        }
        if self.total >= MOST && self.time_ns < i64::MAX {
            return Err(ShapeError::TooManySlots);
        }
        Ok(self)
    }
}

impl Program {
    pub(super) fn leaf(leaf: Leaf) -> Result<Program, ShapeError> {
        let program = Program::Leaf(leaf);
        program.extent().checked()?;
        Ok(program)
    }

    /// `parts` is not empty.
    pub(super) fn row(
        parts: impl IntoIterator<Item = Result<Program, ShapeError>>,
    ) -> Result<Program, ShapeError> {
        let mut row = Row {
            parts: Vec::new(),
            extent: Extent { time_ns: 0, total: Fine::ZERO, leaves: 0, depth: 1 },
        };
        for part in parts {
            row.push(Arc::new(part?))?;
        }
        Ok(Program::Row(row))
    }

    /// This one, then `next`.
    pub(super) fn then(self, next: Program) -> Result<Program, ShapeError> {
        let mut row = match self {
            Program::Row(row) => row,
            other => return Program::row([Ok(other), Ok(next)]),
        };
        match next {
            Program::Row(next) => {
                for part in next.parts {
                    row.push(part.program)?;
                }
            }
            next => row.push(Arc::new(next))?,
        }
        Ok(Program::Row(row))
    }

    /// `times` is positive; none: for ever.
    pub(super) fn cycle(self, times: Option<u64>) -> Result<Program, ShapeError> {
        let inner = self.extent();
        if inner.time_ns == i64::MAX {
            return Err(ShapeError::Endless);
        }
        let time_ns = match times {
            Some(times) => i64::try_from(times)
                .ok()
                .and_then(|times| inner.time_ns.checked_mul(times))
                .filter(|&time_ns| time_ns < i64::MAX)
                .ok_or(ShapeError::TooLong)?,
            None => i64::MAX,
        };
        let mut cycle = Cycle {
            program: Arc::new(self),
            times,
            extent: Extent { time_ns, depth: inner.depth + 1, ..inner },
        };
        cycle.extent.total = match times {
            Some(times) => repeated(inner.total, times),
            None => cycle.count_at(i64::MAX - 1),
        };
        cycle.extent.checked()?;
        Ok(Program::Cycle(cycle))
    }

    /// Backwards in time.
    pub(super) fn reversed(&self) -> Result<Program, ShapeError> {
        match self {
            _ if self.time_ns() == i64::MAX => Err(ShapeError::Endless),
            Program::Leaf(leaf) => Ok(Program::Leaf(leaf.reversed())),
            Program::Row(row) => {
                Program::row(row.parts.iter().rev().map(|part| part.program.reversed()))
            }
            Program::Cycle(cycle) => cycle.program.reversed()?.cycle(cycle.times),
        }
    }

    fn extent(&self) -> Extent {
        match self {
            Program::Leaf(leaf) => {
                Extent { time_ns: leaf.time_ns(), total: leaf.total(), leaves: 1, depth: 1 }
            }
            Program::Row(row) => row.extent,
            Program::Cycle(cycle) => cycle.extent,
        }
    }

    /// `i64::MAX`: for ever.
    pub(super) fn time_ns(&self) -> i64 {
        self.extent().time_ns
    }

    /// The count of all the time there is.
    pub(super) fn total(&self) -> Fine {
        self.extent().total
    }

    pub(super) fn count_at(&self, time_ns: i64) -> Fine {
        match self {
            _ if time_ns <= 0 => Fine::ZERO,
            Program::Leaf(leaf) => leaf.count_at(time_ns),
            Program::Row(row) => row.count_at(time_ns),
            Program::Cycle(cycle) => cycle.count_at(time_ns),
        }
    }

    /// The first nanosecond at which there are `count` slots; `i64::MAX`: never.
    pub(super) fn time_of(&self, count: Fine) -> i64 {
        match self {
            _ if count == Fine::ZERO => 0,
            _ if count > self.total() => i64::MAX,
            Program::Leaf(leaf) => leaf.time_of(count),
            Program::Row(row) => row.time_of(count),
            Program::Cycle(cycle) => cycle.time_of(count),
        }
    }

    /// The leaf at a moment, and how long the leaf has lasted by then. None behind the end.
    pub(super) fn leaf_at(&self, time_ns: i64) -> Option<(&Leaf, i64)> {
        match self {
            _ if time_ns >= self.time_ns() => None,
            Program::Leaf(leaf) => Some((leaf, time_ns)),
            Program::Row(row) => {
                let part = row.part_at(time_ns);
                part.program.leaf_at(time_ns - part.start_ns)
            }
            Program::Cycle(cycle) => cycle.program.leaf_at(time_ns % cycle.program.time_ns()),
        }
    }

    /// The highest rate.
    pub(super) fn peak_hz(&self) -> f64 {
        match self {
            Program::Leaf(leaf) => leaf.peak_hz(),
            Program::Row(row) => {
                row.parts.iter().map(|part| part.program.peak_hz()).fold(0.0, f64::max)
            }
            Program::Cycle(cycle) => cycle.program.peak_hz(),
        }
    }
}

impl Row {
    fn push(&mut self, program: Arc<Program>) -> Result<(), ShapeError> {
        let (all, next) = (self.extent, program.extent());
        if all.time_ns == i64::MAX {
            return Err(ShapeError::Endless);
        }
        let time_ns = all.time_ns.saturating_add(next.time_ns);
        if time_ns == i64::MAX && next.time_ns < i64::MAX {
            return Err(ShapeError::TooLong);
        }
        self.extent = Extent {
            time_ns,
            total: (all.total + next.total).min(MOST),
            leaves: all.leaves + next.leaves,
            depth: all.depth.max(next.depth + 1),
        }
        .checked()?;
        self.parts.push(Part { program, start_ns: all.time_ns, before: all.total });
        Ok(())
    }

    fn part_at(&self, time_ns: i64) -> &Part {
        &self.parts[self.parts.partition_point(|part| part.start_ns <= time_ns) - 1]
    }

    fn count_at(&self, time_ns: i64) -> Fine {
        let part = self.part_at(time_ns);
        (part.before + part.program.count_at(time_ns - part.start_ns)).min(MOST)
    }

    /// The last part that begins before the count is complete has the slot.
    fn time_of(&self, count: Fine) -> i64 {
        let part = &self.parts[self.parts.partition_point(|part| part.before < count) - 1];
        part.start_ns.saturating_add(part.program.time_of(count - part.before))
    }
}

impl Cycle {
    fn count_at(&self, time_ns: i64) -> Fine {
        if self.times.is_some() && time_ns >= self.extent.time_ns {
            return self.extent.total;
        }
        let cycle_ns = self.program.time_ns();
        let whole = repeated(self.program.total(), (time_ns / cycle_ns).unsigned_abs());
        (whole + self.program.count_at(time_ns % cycle_ns)).min(MOST)
    }

    fn time_of(&self, count: Fine) -> i64 {
        let total = self.program.total();
        let cycles = (count - Fine::ONE) / total;
        let rest = self.program.time_of(count - cycles * total);
        i64::try_from(cycles)
            .ok()
            .and_then(|cycles| cycles.checked_mul(self.program.time_ns()))
            .map_or(i64::MAX, |start_ns| start_ns.saturating_add(rest))
    }
}

/// At most [`MOST`].
fn repeated(total: Fine, times: u64) -> Fine {
    total.checked_mul(Fine::from(times)).unwrap_or(MOST).min(MOST)
}
