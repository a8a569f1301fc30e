//! Defines programs: sequences of leaves, repeated programs, and parts of programs. The counts of a part are exact
//! differences of the whole program's counts.

use super::leaf::{Leaf, time_between};
use crate::count::{Count, Fine, MOST};
use crate::error::ShapeError;
use std::sync::Arc;

const MOST_LEAVES: usize = 1 << 16;
const DEEPEST: usize = 64;

/// A tree of leaves. Times and counts are relative to the beginning of the tree.
#[derive(Clone, Debug)]
pub(super) enum Program {
    Leaf(Leaf),
    Row(Row),
    Cycle(Cycle),
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    parts: Vec<Part>,
    extent: Extent,
}

#[derive(Clone, Debug)]
struct Part {
    program: Arc<Program>,
    start_ns: i64,
    before: Fine,
}

/// A repeated program, which may be cut at both ends.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    program: Arc<Program>,
    /// The offset in the program at which the cycle begins, less than the program's duration.
    from_ns: i64,
    before: Fine,
    extent: Extent,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Here<'a> {
    pub(super) leaf: &'a Leaf,
    pub(super) since_ns: i64,
    /// The time for which the leaf has applied. It is less than `since_ns` if a cycle begins within the leaf.
    pub(super) going_ns: i64,
    /// The time for which the leaf still applies. The end of a cycle may come before the end of the leaf.
    pub(super) rest_ns: i64,
}

#[derive(Clone, Copy, Debug)]
struct Extent {
    time_ns: i64,
    /// The count at the end of the program. For a program that never ends: its maximum count.
    total: Fine,
    /// The time for which the rate is zero at the beginning. `i64::MAX` means always.
    flat_ns: i64,
    leaves: usize,
    depth: usize,
}

impl Extent {
    const NONE: Extent =
        Extent { time_ns: 0, total: Fine::ZERO, flat_ns: i64::MAX, leaves: 0, depth: 1 };

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

    /// Returns the sequence of `parts`, which must not be empty.
    pub(super) fn row(
        parts: impl IntoIterator<Item = Result<Program, ShapeError>>,
    ) -> Result<Program, ShapeError> {
        let mut row = Row { parts: Vec::new(), extent: Extent::NONE };
        for part in parts {
            row.push(Arc::new(part?))?;
        }
        Ok(Program::Row(row))
    }

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

    /// `None` means forever. `times` must be positive.
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
        let total = times.map_or(MOST, |times| repeated(inner.total, times));
        let extent = Extent { time_ns, total, depth: inner.depth + 1, ..inner };
        Ok(Program::Cycle(Cycle::new(Arc::new(self), 0, extent.checked()?)))
    }

    /// `until_ns` is `i64::MAX` for a part that reaches the end. The part's count is at most `most`.
    pub(super) fn part(
        self: &Arc<Program>,
        from_ns: i64,
        until_ns: i64,
        most: Fine,
    ) -> Result<Arc<Program>, ShapeError> {
        let all = self.extent();
        let until_ns = until_ns.min(all.time_ns);
        if from_ns == 0 && until_ns == all.time_ns && all.total <= most {
            return Ok(Arc::clone(self));
        }
        let end = if until_ns == all.time_ns { all.total } else { self.count_at(until_ns) };
        if until_ns < all.time_ns && all.time_ns == i64::MAX && end >= all.total {
            return Err(ShapeError::TooManySlots);
        }
        let total = end.saturating_sub(self.count_at(from_ns)).min(most);
        Ok(Arc::new(match self.as_ref() {
            Program::Leaf(leaf) => Program::Leaf(leaf.part(from_ns, until_ns, total)),
            Program::Row(row) => return row.part(from_ns, until_ns, total),
            Program::Cycle(cycle) => Program::Cycle(cycle.part(from_ns, until_ns, total)),
        }))
    }

    pub(super) fn reversed(&self) -> Result<Program, ShapeError> {
        match self {
            _ if self.time_ns() == i64::MAX => Err(ShapeError::Endless),
            Program::Leaf(leaf) => Ok(Program::Leaf(leaf.reversed())),
            Program::Row(row) => {
                Program::row(row.parts.iter().rev().map(|part| part.program.reversed()))
            }
            Program::Cycle(cycle) => Ok(Program::Cycle(cycle.reversed()?)),
        }
    }

    fn extent(&self) -> Extent {
        match self {
            Program::Leaf(leaf) => Extent {
                time_ns: leaf.time_ns(),
                total: leaf.total(),
                flat_ns: if leaf.is_flat() { i64::MAX } else { 0 },
                leaves: 1,
                depth: 1,
            },
            Program::Row(row) => row.extent,
            Program::Cycle(cycle) => cycle.extent,
        }
    }

    pub(super) fn time_ns(&self) -> i64 {
        match self {
            Program::Leaf(leaf) => leaf.time_ns(),
            Program::Row(Row { extent, .. }) | Program::Cycle(Cycle { extent, .. }) => {
                extent.time_ns
            }
        }
    }

    pub(super) fn total(&self) -> Fine {
        self.extent().total
    }

    pub(super) fn count_at(&self, time_ns: i64) -> Fine {
        match self {
            Program::Leaf(leaf) => leaf.count_at(time_ns),
            _ if time_ns <= 0 => Fine::ZERO,
            _ if time_ns >= self.time_ns() && self.time_ns() < i64::MAX => self.total(),
            Program::Row(row) => row.count_at(time_ns),
            Program::Cycle(cycle) => cycle.count_at(time_ns),
        }
    }

    pub(super) fn time_of(&self, count: Fine) -> i64 {
        match self {
            _ if count == Fine::ZERO => 0,
            _ if count > self.total() => i64::MAX,
            Program::Leaf(leaf) => leaf.time_of(count),
            Program::Row(row) => row.time_of(count),
            Program::Cycle(cycle) => cycle.time_of(count),
        }
    }

    pub(super) fn steady_time_of(&self, count: Count) -> Option<i64> {
        match self {
            Program::Leaf(leaf) => leaf.steady_time_of(count),
            Program::Row(_) | Program::Cycle(_) => None,
        }
    }

    pub(super) fn leaf_at(&self, time_ns: i64) -> Option<Here<'_>> {
        match self {
            _ if time_ns >= self.time_ns() => None,
            Program::Leaf(leaf) => {
                let rest_ns = leaf.time_ns() - time_ns;
                Some(Here { leaf, since_ns: time_ns, going_ns: time_ns, rest_ns })
            }
            Program::Row(row) => {
                let part = row.part_at(time_ns);
                part.program.leaf_at(time_ns - part.start_ns)
            }
            Program::Cycle(cycle) => cycle.leaf_at(time_ns),
        }
    }

    /// Returns the first time at or after `time_ns` at which the rate is not zero, or `i64::MAX` if it stays zero.
    pub(super) fn flat_until(&self, time_ns: i64) -> i64 {
        match self {
            _ if time_ns >= self.time_ns() => i64::MAX,
            Program::Leaf(leaf) => {
                if leaf.is_flat() {
                    i64::MAX
                } else {
                    time_ns
                }
            }
            Program::Row(row) => row.flat_until(time_ns),
            Program::Cycle(cycle) => cycle.flat_until(time_ns),
        }
    }

    pub(super) fn peak_hz(&self, from_ns: i64, until_ns: i64) -> f64 {
        let until_ns = until_ns.min(self.time_ns());
        match self {
            Program::Leaf(leaf) => leaf.peak_hz(from_ns, until_ns),
            Program::Row(row) => row
                .within(from_ns, until_ns)
                .map(|(part, from_ns, until_ns)| part.peak_hz(from_ns, until_ns))
                .fold(0.0, f64::max),
            Program::Cycle(cycle) => cycle.peak_hz(from_ns, until_ns),
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
            flat_ns: if all.flat_ns < i64::MAX {
                all.flat_ns
            } else {
                all.time_ns.saturating_add(next.flat_ns)
            },
            leaves: all.leaves + next.leaves,
            depth: all.depth.max(next.depth + 1),
        }
        .checked()?;
        self.parts.push(Part { program, start_ns: all.time_ns, before: all.total });
        Ok(())
    }

    fn index_at(&self, time_ns: i64) -> usize {
        self.parts.partition_point(|part| part.start_ns <= time_ns) - 1
    }

    fn part_at(&self, time_ns: i64) -> &Part {
        &self.parts[self.index_at(time_ns)]
    }

    fn within(
        &self,
        from_ns: i64,
        until_ns: i64,
    ) -> impl Iterator<Item = (&Arc<Program>, i64, i64)> {
        let end = self.parts.partition_point(|part| part.start_ns < until_ns);
        self.parts[self.index_at(from_ns)..end].iter().map(move |part| {
            let until = Some(until_ns).filter(|&ns| ns < i64::MAX);
            let until_ns = until.map_or(i64::MAX, |ns| ns - part.start_ns);
            (&part.program, (from_ns - part.start_ns).max(0), until_ns)
        })
    }

    fn part(&self, from_ns: i64, until_ns: i64, most: Fine) -> Result<Arc<Program>, ShapeError> {
        let mut row = Row { parts: Vec::new(), extent: Extent::NONE };
        for (program, from_ns, until_ns) in self.within(from_ns, until_ns) {
            let rest = most.saturating_sub(row.extent.total);
            row.push(program.part(from_ns, until_ns, rest)?)?;
        }
        match &row.parts[..] {
            [only] => Ok(Arc::clone(&only.program)),
            _ => Ok(Arc::new(Program::Row(row))),
        }
    }

    fn flat_until(&self, time_ns: i64) -> i64 {
        let mut untils = self.parts[self.index_at(time_ns)..].iter().map(|part| {
            let until_ns = part.program.flat_until((time_ns - part.start_ns).max(0));
            until_ns.saturating_add(part.start_ns)
        });
        untils.find(|&until_ns| until_ns < i64::MAX).unwrap_or(i64::MAX)
    }

    fn count_at(&self, time_ns: i64) -> Fine {
        let part = self.part_at(time_ns);
        (part.before + part.program.count_at(time_ns - part.start_ns)).min(MOST)
    }

    /// The time lies in the last part that begins below `count`.
    fn time_of(&self, count: Fine) -> i64 {
        let part = &self.parts[self.parts.partition_point(|part| part.before < count) - 1];
        part.start_ns.saturating_add(part.program.time_of(count - part.before))
    }
}

impl Cycle {
    fn new(program: Arc<Program>, from_ns: i64, extent: Extent) -> Cycle {
        let before = program.count_at(from_ns);
        let mut cycle = Cycle { program, from_ns, before, extent };
        cycle.extent.flat_ns = cycle.flat_until(0);
        cycle
    }

    fn part(&self, from_ns: i64, until_ns: i64, total: Fine) -> Cycle {
        let extent = Extent { time_ns: time_between(from_ns, until_ns), total, ..self.extent };
        Cycle::new(Arc::clone(&self.program), self.round(from_ns).1, extent)
    }

    fn reversed(&self) -> Result<Cycle, ShapeError> {
        let program = Arc::new(self.program.reversed()?);
        let last_ns = self.round(self.extent.time_ns).1;
        let from_ns = if last_ns == 0 { 0 } else { program.time_ns() - last_ns };
        Ok(Cycle::new(program, from_ns, self.extent))
    }

    /// Returns the number of complete repetitions, and the time since the last of them ended.
    fn round(&self, time_ns: i64) -> (u64, i64) {
        let passed_ns = self.from_ns.unsigned_abs() + time_ns.unsigned_abs();
        let cycle_ns = self.program.time_ns().unsigned_abs();
        (passed_ns / cycle_ns, (passed_ns % cycle_ns).cast_signed())
    }

    fn count_at(&self, time_ns: i64) -> Fine {
        let (cycles, passed_ns) = self.round(time_ns);
        let all = repeated(self.program.total(), cycles) + self.program.count_at(passed_ns);
        all.saturating_sub(self.before).min(self.extent.total)
    }

    fn time_of(&self, count: Fine) -> i64 {
        let (count, total) = (self.before + count, self.program.total());
        if total == Fine::ZERO {
            return i64::MAX;
        }
        let cycles = (count - Fine::ONE) / total;
        let rest_ns = self.program.time_of(count - cycles * total);
        let time_ns = i64::try_from(cycles).ok().and_then(|cycles| {
            let start_ns = i128::from(cycles) * i128::from(self.program.time_ns());
            i64::try_from(start_ns + i128::from(rest_ns) - i128::from(self.from_ns)).ok()
        });
        time_ns.unwrap_or(i64::MAX).clamp(1, self.extent.time_ns)
    }

    fn leaf_at(&self, time_ns: i64) -> Option<Here<'_>> {
        let here = self.program.leaf_at(self.round(time_ns).1)?;
        let rest_ns = here.rest_ns.min(self.extent.time_ns - time_ns);
        Some(Here { rest_ns, going_ns: here.going_ns.min(time_ns), ..here })
    }

    fn flat_until(&self, time_ns: i64) -> i64 {
        let passed_ns = self.round(time_ns).1;
        let flat_ns = match self.program.flat_until(passed_ns) {
            i64::MAX => {
                let rest_ns = self.program.time_ns() - passed_ns;
                rest_ns.saturating_add(self.program.extent().flat_ns)
            }
            until_ns => until_ns - passed_ns,
        };
        let until_ns = time_ns.saturating_add(flat_ns);
        if until_ns < self.extent.time_ns { until_ns } else { i64::MAX }
    }

    fn peak_hz(&self, from_ns: i64, until_ns: i64) -> f64 {
        let (time_ns, cycle_ns) = (time_between(from_ns, until_ns), self.program.time_ns());
        let passed_ns = self.round(from_ns).1;
        let rest_ns = cycle_ns - passed_ns;
        if time_ns >= cycle_ns {
            self.program.peak_hz(0, cycle_ns)
        } else if time_ns <= rest_ns {
            self.program.peak_hz(passed_ns, passed_ns + time_ns)
        } else {
            let next = self.program.peak_hz(0, time_ns - rest_ns);
            self.program.peak_hz(passed_ns, cycle_ns).max(next)
        }
    }
}

fn repeated(total: Fine, times: u64) -> Fine {
    total.checked_mul(Fine::from(times)).unwrap_or(MOST).min(MOST)
}
