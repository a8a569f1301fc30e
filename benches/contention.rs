//! What do grants cost when 1, 2, 4 ... 1024 threads want them at once?
//!
//! A harness of its own: threads are pinned where there are cores enough, start and stop at one
//! moment, and the bare word, the shared pacer and the lanes take turns.
//!
//! ```text
//! cargo bench -p nanopace-benches --bench contention -- [THREADS ...]
//! ```

use nanopace_benches::crew::{self, Work};
use nanopace_benches::rounds::alternate;
use nanopace_benches::sweep;
use std::time::Duration;

fn main() {
    let wanted: Vec<usize> =
        std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let wanted = if wanted.is_empty() { sweep::THREADS.to_vec() } else { wanted };
    println!("M grants/s in all; every count is checked against the pacer's own\n");
    println!(
        "| {:>7} | {:>15} | {:>14} | {:>7} |",
        "threads", "bare fetch_add", "shared acquire", "lanes"
    );
    for threads in wanted {
        let span = crew::fair_span(threads);
        let mega =
            |work: fn(usize, Duration) -> Work| move || work(threads, span).per_second() / 1e6;
        let samples = alternate(
            3,
            &mut [&mut mega(sweep::bare), &mut mega(sweep::shared), &mut mega(sweep::lanes)],
        );
        let [bare, shared, lanes] = [0, 1, 2].map(|index: usize| samples[index].median());
        println!("| {threads:>7} | {bare:>15.0} | {shared:>14.0} | {lanes:>7.0} |");
    }
}
