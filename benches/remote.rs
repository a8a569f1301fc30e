//! What does a decision cost that processes share by a store: strict, leased, and beside what can be
//! had at most?
//!
//! The bounds are the crate governor, which knows one process only, and a script that does nothing,
//! which is what any decision costs that asks the store. All take turns in one run. Servers are on
//! loopback, and on the same cores.
//!
//! ```text
//! cargo bench -p nanopace-benches --bench remote -- [THREADS ...]
//! ```

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use nanopace_benches::crew;
use nanopace_benches::rounds::{Samples, alternate};
use nanopace_remote::{OnLoss, Remote, RemoteKeyed, Settings};
use nanopace_services::{Engine, Server};
use redis::{Client, Script};
use std::num::NonZeroU32;
use std::time::Duration;

/// So much that everything is let in.
const PER_SECOND: u32 = 1_000_000_000;
const SPAN: Duration = Duration::from_millis(300);

fn main() {
    let wanted: Vec<usize> =
        std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let wanted = if wanted.is_empty() { vec![1, 2] } else { wanted };
    println!("thousand decisions/s in all; in brackets: times the bare script's\n");
    println!(
        "| {:>6} | {:>7} | {:>16} | {:>11} | {:>16} | {:>16} |",
        "store", "threads", "governor", "bare script", "strict", "leased"
    );
    for engine in Engine::ALL {
        let server = Server::start(engine).expect("a server");
        for threads in &wanted {
            measure(engine, &server, *threads);
        }
    }
    lost();
}

fn measure(engine: Engine, server: &Server, threads: usize) {
    let governor: DefaultKeyedRateLimiter<&str> =
        RateLimiter::keyed(Quota::per_second(NonZeroU32::new(PER_SECOND).expect("not zero")));
    let (strict, leased) = (limiter(server, "strict", None), limiter(server, "leased", Some(100)));
    let samples = alternate(
        5,
        &mut [
            &mut || {
                crew::run(threads, SPAN, || || governor.check_key(&"a").expect("let in"))
                    .per_second()
            },
            &mut || crew::run(threads, SPAN, || bare(server)).per_second(),
            &mut || {
                crew::run(threads, SPAN, || || strict.try_acquire("a").expect("let in"))
                    .per_second()
            },
            &mut || {
                crew::run(threads, SPAN, || || leased.try_acquire("a").expect("let in"))
                    .per_second()
            },
        ],
    );
    let [governor, bare, strict, leased] = [0, 1, 2, 3].map(|index: usize| &samples[index]);
    let shown = |samples: &Samples| {
        format!("{:.1} ({:.2})", samples.median() / 1e3, samples.ratio_to(bare))
    };
    println!(
        "| {engine:>6} | {threads:>7} | {:>16} | {:>11.1} | {:>16} | {:>16} |",
        shown(governor),
        bare.median() / 1e3,
        shown(strict),
        shown(leased)
    );
}

fn limiter(server: &Server, prefix: &str, ahead_ms: Option<u64>) -> RemoteKeyed {
    let settings = Settings::default().timeout(Duration::from_secs(10));
    let store = Remote::lazy_with(&server.url(), settings).expect("an address");
    let builder = store.limits(&format!("{PER_SECOND}/s")).prefix(prefix);
    let builder = match ahead_ms {
        Some(ms) => builder.leased(Duration::from_millis(ms)),
        None => builder,
    };
    builder.build().expect("limits")
}

/// A connection of its own for each thread.
fn bare(server: &Server) -> impl FnMut() + Send + use<> {
    let client = Client::open(server.url()).expect("an address");
    let mut connection = client.get_connection().expect("a connection");
    let script = Script::new("return 1");
    move || {
        let one: u64 = script.key("a").invoke(&mut connection).expect("an answer");
        assert_eq!(one, 1);
    }
}

/// What a decision costs while nobody answers.
fn lost() {
    let store = Remote::lazy("redis://127.0.0.1:1/").expect("an address");
    let users = store.limits("1000/s").on_loss(OnLoss::Allow).build().expect("limits");
    while users.stats().degraded < 10 {
        users.try_acquire("a").ok();
    }
    let work = crew::run(1, SPAN, || {
        || {
            users.try_acquire("a").ok();
        }
    });
    println!("\nwithout a store, the breaker open: {:.2} us each", 1e6 / work.per_second());
}
