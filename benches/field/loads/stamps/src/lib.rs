//! Records when operations start, for load generators whose operations are Rust code.

use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const ROOM: usize = 4 << 20;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);
static STAMPS: LazyLock<Box<[AtomicU64]>> =
    LazyLock::new(|| (0..ROOM).map(|_| AtomicU64::new(0)).collect());
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Allocates the memory for the stamps, so that the first call of [`stamp`] does not.
pub fn prepare() {
    LazyLock::force(&START);
    LazyLock::force(&STAMPS);
}

pub fn stamp() {
    let at = START.elapsed().as_nanos() as u64;
    if let Some(slot) = STAMPS.get(COUNT.fetch_add(1, Ordering::Relaxed)) {
        slot.store(at, Ordering::Relaxed);
    }
}

/// Writes the stamps, in nanoseconds, to the file that `FIELD_STAMPS` names.
pub fn write() -> Result<()> {
    let Some(path) = std::env::var_os("FIELD_STAMPS") else { return Ok(()) };
    let mut file = BufWriter::new(File::create(path)?);
    let count = COUNT.load(Ordering::Relaxed).min(ROOM);
    for stamp in &STAMPS[..count] {
        file.write_all(&stamp.load(Ordering::Relaxed).to_le_bytes())?;
    }
    file.flush()
}

pub fn print(times: &mut [Duration]) {
    times.sort_unstable();
    let Some(longest) = times.last() else { return };
    let [p50, p99] = [50, 99].map(|percent| times[times.len() * percent / 100]);
    println!("{} operations; response time p50 {p50:?}, p99 {p99:?}, max {longest:?}", times.len());
}
