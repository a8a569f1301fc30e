//! Compares HTTP clients on one nginx: requests per second and CPU time per request.
//!
//! ```text
//! cargo run --release -p nanopace-benches --bin clients -- [ROUNDS]
//! ```
//!
//! The comparison requires nginx and wrk on `PATH`, and the program `nanopace` in the folder of this program. oha is
//! optional. A bare loop over tokio's sockets shows the minimum cost of a client. In the table, all clients send at
//! full speed: nanopace gets a rate of 200k/s, which it does not reach. Each round runs all clients in turn. Figures
//! are medians of the rounds, and ratios are medians of the rounds' ratios to wrk. The CPU time is the client's, in
//! user and kernel mode. A last measurement compares the service times of wrk and nanopace at 10k/s.

mod bare;

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
const SERVER: &str = "127.0.0.1:18099";
const NGINX: &str = "\
worker_processes 1;
error_log stderr crit;
events { worker_connections 4096; }
http {
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy;
    fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    keepalive_requests 1000000000;
    server { listen 127.0.0.1:18099 backlog=4096; location / { return 200 \"ok\\n\"; } }
}
";
const CONNECTIONS: [u32; 4] = [2, 16, 64, 256];
/// The length of a run in seconds, which makes the start-up time of a program negligible.
const SECONDS: u32 = 5;
const ROUNDS: usize = 5;

/// A script with which wrk reaches `PACED_RATE`: pauses of 1 or 2 ms on each of 16 connections.
const PACED: &str = "function delay() return math.random(1, 2) end";
const PACED_RATE: &str = "10k/s";
const PACED_CONNECTIONS: u32 = 16;

type Fallible<T> = Result<T, Box<dyn Error>>;

#[derive(Clone, Copy, Debug)]
struct Run {
    requests: f64,
    processor: Processor,
}

#[derive(Clone, Copy, Debug)]
struct Processor {
    user: f64,
    system: f64,
}

struct Client {
    name: &'static str,
    run: fn(&Path, u32) -> Fallible<Run>,
}

const CLIENTS: [Client; 4] = [
    Client { name: "wrk", run: wrk },
    Client { name: "bare loop", run: bare },
    Client { name: "nanopace", run: nanopace },
    Client { name: "oha", run: oha },
];

const BARE: &str = "--bare";

fn main() -> Fallible<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    if let [BARE, connections] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        let time = Duration::from_secs(SECONDS.into());
        println!("{}", bare::run(SERVER.parse()?, connections.parse()?, time)?);
        return Ok(());
    }
    let rounds = arguments.first().map_or(Ok(ROUNDS), |rounds| rounds.parse())?;
    let bin = env::current_exe()?.parent().ok_or("this program has no folder")?.join("nanopace");
    println!("{}", Machine::here());
    let others = Others::new();
    let _server = Server::start()?;
    println!(
        "\n| connections | client | requests/s | x wrk | CPU us per request | x wrk | user | system |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for connections in CONNECTIONS {
        compare(&bin, connections, rounds)?;
    }
    paced(&bin, rounds)?;
    println!("\nAll programs together used {:.1} % of all cores.", others.share() * 100.0);
    Ok(())
}

fn compare(bin: &Path, connections: u32, rounds: usize) -> Fallible<()> {
    let mut runs: Vec<Vec<Run>> = CLIENTS.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (client, runs) in CLIENTS.iter().zip(&mut runs) {
            match (client.run)(bin, connections) {
                Ok(run) => runs.push(run),
                Err(_) if client.name == "oha" => {}
                Err(error) => return Err(error),
            }
        }
    }
    for (client, own) in CLIENTS.iter().zip(&runs).filter(|(_, own)| own.len() == rounds) {
        let rate = |run: &Run| run.requests / f64::from(SECONDS);
        let each = |seconds: f64, run: &Run| seconds / run.requests * 1e6;
        let cost = |run: &Run| each(run.processor.user + run.processor.system, run);
        let user = |run: &Run| each(run.processor.user, run);
        let system = |run: &Run| each(run.processor.system, run);
        let beside = |figure: &dyn Fn(&Run) -> f64| {
            median(own.iter().zip(&runs[0]).map(|(own, wrk)| figure(own) / figure(wrk)))
        };
        println!(
            "| {connections} | {} | {:.0} | {:.2} | {:.1} | {:.2} | {:.1} | {:.1} |",
            client.name,
            median(own.iter().map(rate)),
            beside(&rate),
            median(own.iter().map(cost)),
            beside(&cost),
            median(own.iter().map(user)),
            median(own.iter().map(system))
        );
    }
    Ok(())
}

fn paced(bin: &Path, rounds: usize) -> Fallible<()> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        theirs.push(wrk_p50()?);
        let connections = PACED_CONNECTIONS.to_string();
        let (object, processor) = run_nanopace(bin, &["--rate", PACED_RATE, "-c", &connections])?;
        let us = |path| number(&object, path).map(|nanos| nanos / 1e3);
        let each = (processor.user + processor.system) / number(&object, "/completed")? * 1e6;
        let [service, p50, p99] =
            ["/service_time_ns/p50", "/wait_time_ns/p50", "/wait_time_ns/p99"].map(us);
        ours.push([service?, p50?, p99?, each]);
    }
    let wrk = median(theirs.into_iter());
    let [service, p50, p99, each] = [0, 1, 2, 3].map(|at| median(ours.iter().map(|run| run[at])));
    println!(
        "\nAt {PACED_RATE} with {PACED_CONNECTIONS} connections, service p50: \
         wrk {wrk:.0} us, nanopace {service:.0} us. nanopace: wait p50 {p50:.0} us, \
         p99 {p99:.0} us; {each:.1} us of CPU time per request."
    );
    Ok(())
}

fn wrk(_: &Path, connections: u32) -> Fallible<Run> {
    let threads = connections.min(2).to_string();
    let args = ["-t", &threads, "-c", &connections.to_string(), "-d", &SECONDS.to_string(), URL];
    let (text, processor) = output(Command::new("wrk").args(args))?;
    let requests = field(&text, "requests in").ok_or("wrk reports no count")?;
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

/// Runs this program as a child process, so that its CPU time is measured like that of the other clients.
fn bare(_: &Path, connections: u32) -> Fallible<Run> {
    let mut command = Command::new(env::current_exe()?);
    let (text, processor) = output(command.args([BARE, &connections.to_string()]))?;
    Ok(Run { requests: text.trim().parse()?, processor })
}

fn nanopace(bin: &Path, connections: u32) -> Fallible<Run> {
    let options = ["--rate", "200k/s", "-c", &connections.to_string()];
    let (object, processor) = run_nanopace(bin, &options)?;
    Ok(Run { requests: number(&object, "/completed")?, processor })
}

fn run_nanopace(bin: &Path, options: &[&str]) -> Fallible<(Value, Processor)> {
    let seconds = format!("{SECONDS}s");
    let mut command = Command::new(bin);
    command.args(["run", "--url", URL, "--json", "-", "--duration", &seconds]).args(options);
    let (text, processor) = output(&mut command)?;
    Ok((serde_json::from_str(&text)?, processor))
}

fn output(command: &mut Command) -> Fallible<(String, Processor)> {
    let before = processor_of_children()?;
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    let after = processor_of_children()?;
    let (user, system) = (after.user - before.user, after.system - before.system);
    Ok((String::from_utf8(output.stdout)?, Processor { user, system }))
}

fn processor_of_children() -> Fallible<Processor> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The fields follow the program's name, which may contain blanks. cutime and cstime are fields 16 and 17.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let mut seconds = fields.skip(13).map(|ticks| ticks.parse::<f64>().map(|ticks| ticks / 100.0));
    let mut next = || seconds.next().ok_or("no times of children")?.map_err(Box::<dyn Error>::from);
    Ok(Processor { user: next()?, system: next()? })
}

fn number(object: &Value, path: &str) -> Fallible<f64> {
    Ok(object.pointer(path).and_then(Value::as_f64).ok_or_else(|| format!("no {path}"))?)
}

fn field(text: &str, name: &str) -> Option<f64> {
    let before = text.split(name).next()?.trim_end();
    before.split_whitespace().next_back()?.parse().ok()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

struct Server {
    child: Child,
    folder: PathBuf,
}

impl Server {
    fn start() -> Fallible<Server> {
        let folder = env::temp_dir().join(format!("nanopace-clients-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let config = folder.join("nginx.conf");
        fs::write(&config, format!("pid pid; daemon off;\n{NGINX}"))?;
        let mut command = Command::new("nginx");
        let child = command.arg("-p").arg(&folder).arg("-c").arg(&config).stderr(Stdio::null());
        let child = child.spawn()?;
        // nginx listens within this time. If not, the first client fails.
        thread::sleep(Duration::from_secs(1));
        Ok(Server { child, folder })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // This sends SIGTERM. On SIGKILL, which `Child::kill` sends, the master process could not stop its workers.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
