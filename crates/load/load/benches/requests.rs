//! Measures the time to build a request of each of five kinds: a request that is always the same, a request that
//! alternates with a second one, a request with three placeholders that are filled from data rows in file order, the
//! same request with shuffled rows, and a request with seven placeholders.
//!
//! ```text
//! cargo bench -p nanopace-load --features http
//! ```
//!
//! Each round measures every kind once. The result of each kind is its shortest time in any round, because other
//! programs can only add time.

use nanopace_load::instruments::requests;
use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;
use tempfile::NamedTempFile;

const SLOTS: u32 = 10_000;
const ROUNDS: u32 = 200;
/// The largest time in nanoseconds by which a request with three placeholders may take longer than one without.
const MOST: f64 = 1_000.0;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut users, mut targets) = (NamedTempFile::new()?, NamedTempFile::new()?);
    writeln!(users, "user,note")?;
    (0..100_000).try_for_each(|row| writeln!(users, "user-{row},\"note of, {row}\""))?;
    for path in ["/users/user-1?n=1", "/users/user-2?n=2"] {
        writeln!(targets, "POST http://127.0.0.1:1{path}\nX-User: user-1\n")?;
    }
    let [users, targets] = [&users, &targets].map(|file| file.path().to_str().unwrap_or_default());
    let (data, url) =
        (["--data", users], ["--url", "http://127.0.0.1:1/users/{{user}}?n={{slot}}"]);
    let header = ["-H", "X-User: {{user}}"];
    let random = ["-H", "X-Id: {{uuid}}", "-d", "{{random-text 32}} {{random 1..100}} {{now}}"];
    let same = ["--url", "http://127.0.0.1:1/users/user-1?n=1", "-H", "X-User: user-1"];
    let shuffled = ["--data-order", "shuffled"];
    let kinds: [(&str, Vec<&str>); 5] = [
        ("always the same", [same].concat()),
        ("one of two", vec!["--targets", targets]),
        ("three places", [&data[..], &url, &header].concat()),
        ("three places, shuffled", [&data[..], &shuffled, &url, &header].concat()),
        (
            "seven places, four of them random or the time",
            [&data[..], &url, &header, &random].concat(),
        ),
    ];
    let mut writers = Vec::new();
    for (name, options) in kinds {
        writers.push((name, requests(&options)?, f64::INFINITY));
    }
    for round in 0..ROUNDS {
        for (_, write, least) in &mut writers {
            *least = least.min(nanoseconds(write, u64::from(round * SLOTS)));
        }
    }
    let one_of_two = writers[1].2;
    for (name, _, least) in &writers {
        println!("{name}: {least:.0} ns, {:.2} x one of two", least / one_of_two);
    }
    let added = writers[2].2 - one_of_two;
    let outcome = if added <= MOST { "holds" } else { "DOES NOT HOLD" };
    println!("three places add {added:.0} ns, at most {MOST:.0} ns: {outcome}");
    Ok(())
}

/// Returns the mean time to build a request, in nanoseconds.
fn nanoseconds(write: &mut impl FnMut(u64) -> usize, first: u64) -> f64 {
    let begin = Instant::now();
    for slot in first..first + u64::from(SLOTS) {
        assert!(black_box(write(slot)) > 40, "a request has a head");
    }
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(SLOTS)
}
