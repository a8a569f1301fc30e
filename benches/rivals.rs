//! What do other crates cost for the same, and how close do they come to the rate they are asked
//! for?
//!
//! ```text
//! cargo bench -p nanopace-benches --features rivals --bench rivals
//! ```

use nanopace_benches::pacers::rate;
use nanopace_benches::rivals::Rival;
use nanopace_benches::rounds::alternate;
use nanopace_benches::{starts, sweep};
use std::time::Duration;

fn main() {
    unthrottled();
    achieved();
}

/// Nobody has to wait.
fn unthrottled() {
    let span = Duration::from_millis(100);
    println!("Un-throttled, M grants/s, medians of 5 rounds\n");
    println!("| {:>14} | {:>8} | {:>9} |", "", "1 thread", "2 threads");
    let mut rows: Vec<(&str, Vec<f64>)> = Vec::new();
    for threads in [1, 2] {
        let ours = [sweep::lanes, sweep::shared, sweep::bare];
        let mut ours = ours.map(|work| move || work(threads, span).per_second() / 1e6);
        let mut rivals =
            Rival::ALL.map(|rival| move || rival.unthrottled(threads, span).per_second() / 1e6);
        let mut candidates: Vec<&mut dyn FnMut() -> f64> = Vec::new();
        candidates.extend(ours.iter_mut().map(|work| work as &mut dyn FnMut() -> f64));
        candidates.extend(rivals.iter_mut().map(|work| work as &mut dyn FnMut() -> f64));
        let names = ["nanopace, lanes", "nanopace", "bare fetch_add"].into_iter();
        let names = names.chain(Rival::ALL.map(Rival::name));
        for (index, (name, samples)) in names.zip(alternate(5, &mut candidates)).enumerate() {
            if threads == 1 {
                rows.push((name, Vec::new()));
            }
            rows[index].1.push(samples.median());
        }
    }
    for (name, medians) in rows {
        assert!(medians.iter().all(|&median| median > 1.0), "{name} hardly granted anything");
        println!("| {name:>15} | {:>8.0} | {:>9.0} |", medians[0], medians[1]);
    }
}

/// One thread has to wait for each operation, or would have to.
fn achieved() {
    let span = Duration::from_secs(3);
    println!("\nAchieved / target rate, one thread, 3 s\n");
    println!("| {:>14} | {:>8} | {:>8} |", "", "10k/s", "100k/s");
    let ours = ["10k/s", "100k/s"].map(|text| starts::achieved(rate(text), span));
    assert!(ours.iter().all(|ratio| (0.9..1.1).contains(ratio)), "ours is nowhere near the target");
    println!("| {:>14} | {:>8.5} | {:>8.5} |", "nanopace", ours[0], ours[1]);
    for rival in Rival::ALL {
        let [slow, fast] = [10_000, 100_000].map(|per_second| rival.achieved(per_second, span));
        println!("| {:>14} | {slow:>8.5} | {fast:>8.5} |", rival.name());
    }
}
