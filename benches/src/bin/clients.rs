//! HTTP clients side by side: how many requests per second each gets out of one nginx, and what
//! each takes of the processor.
//!
//! ```text
//! cargo run --release -p nanopace-benches --bin clients -- [ROUNDS]
//! ```
//!
//! It needs nginx and wrk, and the program `nanopace` beside itself; oha is measured if it is there.
//! The rate that is asked for cannot be reached, so that each client sends as fast as it can. Each
//! round runs all clients, one after the other; figures are medians of the rounds' ratios to wrk.

use nanopace_benches::machine::{Machine, Others};
use serde_json::Value;
use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

const URL: &str = "http://127.0.0.1:18099/";
const NGINX: &str = "\
worker_processes 1;
error_log stderr crit;
events { worker_connections 4096; }
http {
    access_log off;
    keepalive_requests 1000000000;
    server { listen 127.0.0.1:18099 backlog=4096; location / { return 200 \"ok\\n\"; } }
}
";
const CONNECTIONS: [u32; 4] = [2, 16, 64, 256];
/// Long beside what a program takes to start: nanopace calibrates its clock for 0.2 s.
const SECONDS: u32 = 5;
const ROUNDS: usize = 3;

/// A rate that wrk reaches by pauses of 1 or 2 ms on each of 16 connections.
const PACED: &str = "function delay() return math.random(1, 2) end";
const PACED_RATE: &str = "10k/s";
const PACED_CONNECTIONS: u32 = 16;

type Fallible<T> = Result<T, Box<dyn Error>>;

/// What a client did in a run.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Requests answered.
    requests: f64,
    /// Seconds of processor time of the client.
    processor: f64,
}

/// A client, and how to run it at full speed.
struct Client {
    name: &'static str,
    run: fn(&Path, u32) -> Fallible<Run>,
}

const CLIENTS: [Client; 3] = [
    Client { name: "wrk", run: wrk },
    Client { name: "nanopace", run: nanopace },
    Client { name: "oha", run: oha },
];

fn main() -> Fallible<()> {
    let rounds = env::args().nth(1).map_or(Ok(ROUNDS), |rounds| rounds.parse())?;
    let bin = env::current_exe()?.parent().ok_or("this program is nowhere")?.join("nanopace");
    println!("{}", Machine::here());
    let others = Others::new();
    let _server = Server::start()?;
    println!("\n| connections | client | requests/s | x wrk | us of processor a request | x wrk |");
    println!("|---|---|---|---|---|---|");
    for connections in CONNECTIONS {
        compare(&bin, connections, rounds)?;
    }
    paced(&bin, rounds)?;
    println!("\nAll programs together took {:.1} % of both cores.", others.share() * 100.0);
    Ok(())
}

/// Runs all clients in turn, and prints a line for each that is there.
fn compare(bin: &Path, connections: u32, rounds: usize) -> Fallible<()> {
    let mut runs: Vec<Vec<Run>> = CLIENTS.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (client, runs) in CLIENTS.iter().zip(&mut runs) {
            match (client.run)(bin, connections) {
                Ok(run) => runs.push(run),
                // Only oha may be missing.
                Err(_) if client.name == "oha" => {}
                Err(error) => return Err(error),
            }
        }
    }
    for (client, own) in CLIENTS.iter().zip(&runs).filter(|(_, own)| own.len() == rounds) {
        let rate = |run: &Run| run.requests / f64::from(SECONDS);
        let cost = |run: &Run| run.processor / run.requests * 1e6;
        let beside = |figure: &dyn Fn(&Run) -> f64| {
            median(own.iter().zip(&runs[0]).map(|(own, wrk)| figure(own) / figure(wrk)))
        };
        println!(
            "| {connections} | {} | {:.0} | {:.2} | {:.1} | {:.2} |",
            client.name,
            median(own.iter().map(rate)),
            beside(&rate),
            median(own.iter().map(cost)),
            beside(&cost)
        );
    }
    Ok(())
}

/// The median service time at a rate that is no load.
fn paced(bin: &Path, rounds: usize) -> Fallible<()> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        theirs.push(wrk_p50()?);
        let connections = PACED_CONNECTIONS.to_string();
        let object = run_nanopace(bin, &["--rate", PACED_RATE, "-c", &connections])?;
        ours.push(number(&object, "/service_time_ns/p50")? / 1e3);
    }
    let (wrk, nanopace) = (median(theirs.into_iter()), median(ours.into_iter()));
    println!(
        "\nAt {PACED_RATE} with {PACED_CONNECTIONS} connections, service p50: \
         wrk {wrk:.0} us, nanopace {nanopace:.0} us."
    );
    Ok(())
}

fn wrk(_: &Path, connections: u32) -> Fallible<Run> {
    let threads = connections.min(2).to_string();
    let args = ["-t", &threads, "-c", &connections.to_string(), "-d", &SECONDS.to_string(), URL];
    let (text, processor) = output(Command::new("wrk").args(args))?;
    let requests = field(&text, "requests in").ok_or("wrk says no count")?;
    Ok(Run { requests, processor })
}

fn wrk_p50() -> Fallible<f64> {
    let script = env::temp_dir().join("nanopace-clients.lua");
    fs::write(&script, PACED)?;
    let (connections, seconds) = (PACED_CONNECTIONS.to_string(), SECONDS.to_string());
    let args = ["-t", "2", "-c", &connections, "-d", &seconds, "--latency", "-s"];
    let (text, _) = output(Command::new("wrk").args(args).arg(&script).arg(URL))?;
    let p50 = text.lines().find_map(|line| line.trim().strip_prefix("50%")).ok_or("no p50")?;
    Ok(humantime::parse_duration(&whole_units(p50.trim()))?.as_secs_f64() * 1e6)
}

/// `152.00us` as `152us`: no fractions.
fn whole_units(text: &str) -> String {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    format!("{}{unit}", text.split('.').next().unwrap_or_default())
}

fn oha(_: &Path, connections: u32) -> Fallible<Run> {
    let (connections, seconds) = (connections.to_string(), format!("{SECONDS}s"));
    let args = ["--no-tui", "--output-format", "json", "-c", &connections, "-z", &seconds, URL];
    let (text, processor) = output(Command::new("oha").args(args))?;
    let object: Value = serde_json::from_str(&text)?;
    Ok(Run { requests: number(&object, "/statusCodeDistribution/200")?, processor })
}

fn nanopace(bin: &Path, connections: u32) -> Fallible<Run> {
    let object = run_nanopace(bin, &["--rate", "200k/s", "-c", &connections.to_string()])?;
    let processor = number(&object, "/clients_processor")?;
    Ok(Run { requests: number(&object, "/completed")?, processor })
}

/// The report of a run, with the processor time of the whole program.
fn run_nanopace(bin: &Path, options: &[&str]) -> Fallible<Value> {
    let seconds = format!("{SECONDS}s");
    let mut command = Command::new(bin);
    command.args(["run", "--url", URL, "--json", "-", "--duration", &seconds]).args(options);
    let (text, processor) = output(&mut command)?;
    let mut object: Value = serde_json::from_str(&text)?;
    object["clients_processor"] = processor.into();
    Ok(object)
}

/// What a program writes, and the seconds of processor time that it took.
fn output(command: &mut Command) -> Fallible<(String, f64)> {
    let before = processor_of_children()?;
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    let processor = processor_of_children()? - before;
    Ok((String::from_utf8(output.stdout)?, processor))
}

/// Seconds of processor time of all programs that were started here and have ended.
fn processor_of_children() -> Fallible<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // After the name, which may have blanks: cutime and cstime are fields 16 and 17 of all.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(13).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    Ok(ticks / 100.0)
}

fn number(object: &Value, path: &str) -> Fallible<f64> {
    Ok(object.pointer(path).and_then(Value::as_f64).ok_or_else(|| format!("no {path}"))?)
}

/// The number before `name`.
fn field(text: &str, name: &str) -> Option<f64> {
    let before = text.split(name).next()?.trim_end();
    before.split_whitespace().next_back()?.parse().ok()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A web server that ends with this.
struct Server {
    child: Child,
    folder: PathBuf,
}

impl Server {
    fn start() -> Fallible<Server> {
        let folder = env::temp_dir().join(format!("nanopace-clients-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let config = folder.join("nginx.conf");
        fs::write(&config, format!("pid {}/pid; daemon off;\n{NGINX}", folder.display()))?;
        let child = Command::new("nginx").arg("-c").arg(&config).stderr(Stdio::null()).spawn()?;
        // It listens within this time; if not, the first client says so.
        thread::sleep(Duration::from_secs(1));
        Ok(Server { child, folder })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The master ends its workers only when it is asked to.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
