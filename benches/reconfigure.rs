//! What do 10 000 rate changes a second cost those who acquire at full speed, and is a slot ever
//! lost?
//!
//! A harness of its own: one thread changes the rate, one acquires; with and without changes in
//! turn.

use nanopace::Pacer;
use nanopace_benches::crew::{self, Work};
use nanopace_benches::pacers::{behind, rate};
use nanopace_benches::rounds::alternate;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const SPAN: Duration = Duration::from_millis(200);
const INTERVAL: Duration = Duration::from_micros(100);

fn main() {
    println!("M grants/s by one thread, medians of 7 rounds\n");
    println!("| {:>14} | {:>10} | {:>17} | {:>5} |", "", "rate fixed", "10 000 changes/s", "ratio");
    compare("shared acquire", |pacer| {
        crew::run(1, SPAN, || {
            || {
                let _ = black_box(pacer.acquire());
            }
        })
    });
    compare("lane", |pacer| {
        crew::run(1, SPAN, || {
            let mut lane = pacer.lane();
            move || {
                let _ = black_box(lane.acquire());
            }
        })
    });
}

fn compare(name: &str, load: impl Fn(&Pacer) -> Work) {
    // Both have the same threads to put up with: they differ in the changes alone.
    let measured = |change: fn(&Pacer, u32)| {
        let pacer = behind(0.0);
        let work = while_another(|count| change(&pacer, count), || checked(&pacer, &load));
        work.per_second() / 1e6
    };
    let fixed = || measured(|_, _| ());
    let changed = || {
        measured(|pacer, count| pacer.set_rate(rate(if count % 2 == 0 { "2G/s" } else { "1G/s" })))
    };
    let samples = alternate(7, &mut [&mut || fixed(), &mut || changed()]);
    let (fixed, changed) = (samples[0].median(), samples[1].median());
    let ratio = samples[1].ratio_to(&samples[0]);
    println!("| {name:>14} | {fixed:>10.0} | {changed:>17.0} | {ratio:>5.2} |");
}

fn checked(pacer: &Pacer, load: impl Fn(&Pacer) -> Work) -> Work {
    let work = load(pacer);
    assert_eq!(pacer.ledger().granted, work.calls, "a slot was lost or granted twice");
    work
}

/// Runs `load` while another thread does something every 100 us, which is told how often it has
/// done it.
fn while_another<T>(each: impl Fn(u32) + Sync, load: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            crew::pin(1);
            let (start, mut count) = (Instant::now(), 0);
            while !over.load(Relaxed) {
                each(count);
                count += 1;
                while start.elapsed() < INTERVAL * count && !over.load(Relaxed) {
                    spin_loop();
                }
            }
            count
        });
        let done = load();
        over.store(true, Relaxed);
        let count = other.join().expect("a thread that does not panic");
        assert!(count > 0, "nothing was done beside the load");
        done
    })
}
