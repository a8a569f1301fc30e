//! Measures the rate and the lateness of fleets of processes on this machine, and the load on their store.
//!
//! ```text
//! cargo run --release -p nanopace-benches --bin fleet
//! ```
//!
//! Each node is a process with one thread that only acquires slots. All nodes share the machine's cores with the store,
//! so their lateness depends more on the machine than on the fleet.

use nanopace::Nanos;
use nanopace_benches::machine::Machine;
use nanopace_fleet::{Account, Control, Fleet};
use nanopace_services::{Product, Server};
use redis::Commands;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

const RUN: &str = "figures";
const SECONDS: u64 = 5;

const FAULT_AFTER: Duration = Duration::from_secs(2);
const FREEZE: Duration = Duration::from_millis(500);

/// The number of pings per second, which is about the number of claims of four nodes with frames of 20 ms.
const PINGS: u32 = 200;

struct Trial {
    name: &'static str,
    rate: u64,
    nodes: u32,
    frame_ms: u64,
    fault: Fault,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    Kill,
    Freeze,
}

#[derive(Default, Serialize, Deserialize)]
struct Seen {
    late_p50_us: f64,
    late_p99_us: f64,
    late_max_us: f64,
    most_in_1_ms: u64,
}

struct Cost {
    calls: u64,
    scripts: f64,
    processor: f64,
    /// The memory of the keys that record the owners of slots, in bytes.
    memory: f64,
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, url, rate, nodes, frame_ms] = &arguments[..] {
        return node(url, rate.parse()?, nodes.parse()?, frame_ms.parse()?);
    }
    println!("{}\n", Machine::here());
    for product in Product::ALL {
        let version = version(product)?;
        println!("Store: {version}\n");
        println!(
            "| run | achieved | late p50 | p99 | max | peak in 1 ms, of the fair share | calls/s | script per call | store's CPU time | store's memory per second of run | lost | twice | closes |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
        for trial in trials() {
            trial.run(product)?;
        }
        println!("\nThe store's CPU time for {PINGS} PINGs/s: {:.2} %\n", 100.0 * pinged(product)?);
    }
    Ok(())
}

fn trials() -> [Trial; 9] {
    let trial = |name, rate, nodes| Trial { name, rate, nodes, frame_ms: 100, fault: Fault::None };
    let four = |name, frame_ms, fault| Trial { frame_ms, fault, ..trial(name, 100_000, 4) };
    [
        trial("4 nodes, 100k/s", 100_000, 4),
        trial("4 nodes, 1M/s", 1_000_000, 4),
        trial("16 nodes, 100k/s", 100_000, 16),
        trial("40 nodes, 10k/s", 10_000, 40),
        four("4 nodes, 100k/s, one killed", 100, Fault::Kill),
        four("4 nodes, 100k/s, store frozen for 0.5 s", 100, Fault::Freeze),
        four("frames of 20 ms: 4 nodes, 100k/s", 20, Fault::None),
        four("the same, one killed", 20, Fault::Kill),
        four("the same, store frozen for 0.5 s", 20, Fault::Freeze),
    ]
}

impl Trial {
    fn run(&self, product: Product) -> Outcome<()> {
        let server = Server::start(product)?;
        let mut nodes = self.spawn(&server)?;
        let control = Control::open(&server.url(), RUN)?;
        wait_for_start(&control)?;
        let (began, before) = (Instant::now(), cost(&server)?);
        thread::sleep(FAULT_AFTER);
        match self.fault {
            Fault::None => {}
            Fault::Kill => nodes[0].kill()?,
            Fault::Freeze => {
                server.stop()?;
                thread::sleep(FREEZE);
                server.go_on()?;
            }
        }
        thread::sleep(Duration::from_secs(SECONDS - 1).saturating_sub(began.elapsed()));
        let (elapsed, after) = (began.elapsed().as_secs_f64(), cost(&server)?);
        for node in &mut nodes {
            node.wait()?;
        }
        let seen = control.results()?.into_iter().map(|of| serde_json::from_slice(&of.bytes));
        let seen = seen.collect::<Result<Vec<Seen>, _>>()?;
        let spent = Cost {
            calls: after.calls - before.calls,
            scripts: after.scripts - before.scripts,
            processor: (after.processor - before.processor) / elapsed,
            memory: cost(&server)?.memory,
        };
        self.show(&control.account()?, &seen, &spent, elapsed);
        Ok(())
    }

    fn spawn(&self, server: &Server) -> Outcome<Vec<Child>> {
        let program = std::env::current_exe()?;
        let node = |_| {
            let mut node = Command::new(&program);
            node.args([server.url(), self.rate.to_string()]);
            node.args([self.nodes.to_string(), self.frame_ms.to_string()]);
            Ok(node.stdin(Stdio::null()).spawn()?)
        };
        (0..self.nodes).map(node).collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of some seconds")]
    fn show(&self, account: &Account, seen: &[Seen], cost: &Cost, elapsed: f64) {
        let most = |figure: fn(&Seen) -> f64| seen.iter().map(figure).fold(0.0, f64::max);
        let fair = self.rate as f64 / f64::from(self.nodes) / 1_000.0;
        println!(
            "| {} | {:.3} % | {:.0} us | {:.0} us | {:.0} us | {:.2} | {:.0} | {:.0} us | {:.2} % | {:.1} KB | {} | {} | {} |",
            self.name,
            100.0 * account.started() as f64 / account.expected as f64,
            most(|seen| seen.late_p50_us),
            most(|seen| seen.late_p99_us),
            most(|seen| seen.late_max_us),
            most(|seen| seen.most_in_1_ms as f64) / fair,
            cost.calls as f64 / elapsed,
            1e6 * cost.scripts / cost.calls as f64,
            100.0 * cost.processor,
            cost.memory / 1e3 / SECONDS as f64,
            account.lost(),
            account.twice(),
            if account.closes() { "yes" } else { "NO" },
        );
    }
}

fn pinged(product: Product) -> Outcome<f64> {
    let server = Server::start(product)?;
    let mut connection = redis::Client::open(server.url())?.get_connection()?;
    let (began, before) = (Instant::now(), cost(&server)?);
    for _ in 0..3 * PINGS {
        let _: () = connection.ping()?;
        thread::sleep(Duration::from_secs(1) / PINGS);
    }
    Ok((cost(&server)?.processor - before.processor) / began.elapsed().as_secs_f64())
}

fn wait_for_start(control: &Control) -> Outcome<()> {
    let begun = Instant::now();
    while control.status().map_or(Duration::ZERO, |status| status.elapsed).is_zero() {
        if begun.elapsed() > Duration::from_secs(20) {
            return Err("the run does not start".into());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn version(product: Product) -> Outcome<String> {
    let output = Command::new(product.program()).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.split(" sha=").next().unwrap_or_default().to_owned())
}

fn cost(server: &Server) -> Outcome<Cost> {
    let mut connection = redis::Client::open(server.url())?.get_connection()?;
    let info: redis::InfoDict = redis::cmd("INFO").arg("all").query(&mut connection)?;
    let second = |field: &str| info.get::<f64>(field).unwrap_or(0.0);
    let evalsha = info.get::<String>("cmdstat_evalsha").unwrap_or_default();
    let counted = |name: &str| {
        let mut fields = evalsha.split(',').filter_map(|field| field.split_once('='));
        fields.find(|(field, _)| *field == name).map_or(Ok(0), |(_, value)| value.parse::<u64>())
    };
    let keys: Vec<String> = connection.keys("*:owners:*")?;
    let size = |key| redis::cmd("MEMORY").arg("USAGE").arg(key).query::<f64>(&mut connection);
    Ok(Cost {
        calls: counted("calls")?,
        scripts: Duration::from_micros(counted("usec")?).as_secs_f64(),
        processor: second("used_cpu_user") + second("used_cpu_sys"),
        memory: keys.iter().map(size).sum::<Result<f64, _>>()?,
    })
}

fn node(url: &str, rate: u64, nodes: u32, frame_ms: u64) -> Outcome<()> {
    let shape = format!("hold {rate}/s {SECONDS}s").parse()?;
    let fleet = Fleet::new(url, RUN)?.shape(shape).nodes(nodes)?;
    let node = fleet.frame(Duration::from_millis(frame_ms)).join()?;
    let mut lane = node.pacer().lane();
    let (mut waits, mut counts) = (Vec::new(), vec![0_u64; 1 << 16]);
    while let Ok(grant) = lane.acquire() {
        waits.push(u32::try_from(grant.wait_nanos()).unwrap_or(u32::MAX));
        let ms = (grant.intended_start() - Nanos::ZERO).as_millis();
        counts[usize::try_from(ms)? % (1 << 16)] += 1;
    }
    drop(lane);
    waits.sort_unstable();
    let us = |part: usize| f64::from(waits[(waits.len() - 1) * part / 1_000]) / 1e3;
    let most_in_1_ms = counts.into_iter().max().unwrap_or(0);
    let seen = if waits.is_empty() {
        Seen::default()
    } else {
        Seen { late_p50_us: us(500), late_p99_us: us(990), late_max_us: us(1_000), most_in_1_ms }
    };
    node.finish(serde_json::to_vec(&seen)?)?;
    Ok(())
}
