//! Runs fleets with random faults, and checks the account of each run.

use crate::fleet::member::Member;
use crate::fleet::outcome::Outcome;
use crate::fleet::trial::Trial;
use anyhow::{Context, Result, bail};
use clap::Args;
use fastrand::Rng;
use nanopace_services::{NewConnections, Product, Proxy, Server};
use std::env;
use std::thread;
use std::time::{Duration, Instant};

/// The options of the random runs.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The number of runs; each takes a few seconds.
    #[arg(long, default_value_t = 100)]
    runs: u64,
    /// The seed of the first run, which each further run increments by one; random by default.
    #[arg(long)]
    seed: Option<u64>,
}

/// A fault, or another change of the fleet. The first number is the index of a node, if the fault affects one node.
/// Durations are in milliseconds. Without its optional duration, a fault lasts until the end of the run.
#[derive(Clone, Debug)]
enum Fault {
    Join,
    Leave(usize),
    Kill(usize),
    FreezeNode(usize, Option<u64>),
    FreezeAll(u64),
    FreezeStore(u64),
    /// The store is killed, and restarts without data after this duration.
    RestartStore(u64),
    CutOff(usize, Option<u64>, NewConnections),
    /// The last number is the number of replies.
    LoseReplies(usize, usize),
    HoldRequests(usize, u64),
    /// The link of a node gets this one-way delay, for the optional duration.
    Slow(usize, u64, Option<u64>),
    SetRate(u64),
}

/// The plan of a run depends only on the seed. The order in which the processes act also depends on the machine.
#[derive(Clone, Debug)]
struct Plan {
    product: Product,
    nodes: usize,
    rate: u64,
    links: Vec<u64>,
    faults: Vec<(u64, Fault)>,
}

const LOAD_MS: u64 = 2_000;

/// One-way delays in milliseconds.
const DELAYS: [u64; 7] = [0, 0, 1, 5, 25, 75, 150];

const FROZEN_MS: u64 = 500;

impl Fault {
    /// Returns whether the fault can separate a node from the store until the node has no claimed slots left.
    fn cuts(&self) -> bool {
        !matches!(
            self,
            Fault::Join
                | Fault::Leave(_)
                | Fault::Kill(_)
                | Fault::FreezeNode(..)
                | Fault::FreezeAll(_)
                | Fault::SetRate(_)
        )
    }
}

impl Plan {
    fn has(&self, is_meant: impl Fn(&Fault) -> bool) -> bool {
        self.faults.iter().any(|(_, fault)| is_meant(fault))
    }

    /// Returns whether the remaining nodes must start all slots. Slots may be missing if the plan kills a node and also
    /// separates a node from the store, or if the store can lose the record of slots that a leaving node returned.
    fn is_for_the_living(&self) -> bool {
        let is_blind = self.has(Fault::cuts) && self.has(|fault| matches!(fault, Fault::Kill(_)));
        let is_forgotten = self.forgets() && self.has(|fault| matches!(fault, Fault::Leave(_)));
        !is_blind && !is_forgotten
    }

    fn forgets(&self) -> bool {
        self.has(|fault| matches!(fault, Fault::RestartStore(_)))
    }

    fn draw(seed: u64) -> Plan {
        let mut random = Rng::with_seed(seed);
        let nodes = random.usize(1..=5);
        let delay = |random: &mut Rng| DELAYS[random.usize(..DELAYS.len())];
        let is_far = random.u8(..3) == 0;
        let links = (0..nodes).map(|_| if is_far { delay(&mut random) } else { 0 }).collect();
        let mut faults: Vec<_> = (0..random.usize(1..=5))
            .map(|_| (random.u64(100..LOAD_MS + 100), Fault::draw(&mut random, nodes)))
            .collect();
        let is_frozen = |(_, fault): &(u64, Fault)| match fault {
            Fault::FreezeNode(node, None) => Some((LOAD_MS + FROZEN_MS, Fault::Kill(*node))),
            _ => None,
        };
        faults.extend(faults.iter().filter_map(is_frozen).collect::<Vec<_>>());
        faults.sort_by_key(|(at, _)| *at);
        let product = Product::ALL[random.usize(..Product::ALL.len())];
        Plan { product, nodes, rate: random.u64(1..=20) * 100, links, faults }
    }
}

impl Fault {
    fn draw(random: &mut Rng, nodes: usize) -> Fault {
        let node = random.usize(..nodes);
        let time = |random: &mut Rng| (random.u8(..3) > 0).then(|| random.u64(20..800));
        match random.u8(..12) {
            0 => Fault::Join,
            1 => Fault::Leave(node),
            2 => Fault::Kill(node),
            3 => Fault::FreezeNode(node, time(random)),
            4 => Fault::FreezeStore(random.u64(5..600)),
            5 => Fault::RestartStore(random.u64(0..300)),
            6 => Fault::CutOff(node, time(random), NEW[random.usize(..NEW.len())]),
            7 => Fault::LoseReplies(node, random.usize(1..6)),
            8 => Fault::HoldRequests(node, random.u64(10..200)),
            9 => Fault::Slow(node, DELAYS[random.usize(1..DELAYS.len())], time(random)),
            10 => Fault::FreezeAll(random.u64(20..2_000)),
            _ => Fault::SetRate(random.u64(1..=20) * 100),
        }
    }
}

const NEW: [NewConnections; 2] = [NewConnections::Refused, NewConnections::Hang];

/// Makes all runs, and prints the result of each.
///
/// # Errors
/// Fails after the last run if a run failed or its account was wrong.
pub fn run(options: &Options) -> Result<()> {
    let first = options.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let (mut wrong, began) = (Vec::new(), Instant::now());
    for seed in first..first + options.runs {
        let plan = Plan::draw(seed);
        let said = try_once(&plan);
        println!("seed {seed}: {}", said.as_ref().map_or_else(ToString::to_string, Clone::clone));
        if said.is_err() {
            println!("  {plan:?}");
            wrong.push(seed);
        }
    }
    let (runs, seconds) = (options.runs, began.elapsed().as_secs());
    if !wrong.is_empty() {
        bail!("{} of {runs} runs failed; repeat with --runs 1 --seed {}", wrong.len(), wrong[0]);
    }
    println!("{runs} runs in {seconds} s: every account is correct");
    Ok(())
}

fn try_once(plan: &Plan) -> Result<String> {
    let mut server = Server::start(plan.product)?;
    let proxy = |_| Ok(Proxy::start(server.address())?);
    let proxies = (0..plan.nodes).map(proxy).collect::<Result<Vec<_>>>()?;
    for (proxy, delay) in proxies.iter().zip(&plan.links) {
        proxy.delay(Duration::from_millis(*delay));
    }
    let urls: Vec<String> = proxies.iter().map(Proxy::url).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let shape = format!("hold {}/s {LOAD_MS}ms", plan.rate);
    let mut trial = Trial::begin_at(&env::current_exe()?, &server.url(), &shape, &urls, &[])?;
    for (at, fault) in &plan.faults {
        trial.until(*at);
        // After the load, all nodes may have left, and no node would restore the store's data.
        if matches!(fault, Fault::RestartStore(_))
            && trial.elapsed() >= Duration::from_millis(LOAD_MS)
        {
            continue;
        }
        happen(fault, &mut trial, &mut server, &proxies, &plan.links)
            .with_context(|| format!("{fault:?}"))?;
    }
    let is_gone = trial.members.iter().all(Member::is_gone);
    if is_gone && trial.is_forgotten() {
        return Ok("all nodes are gone, and the store has lost the run".to_owned());
    }
    let outcome = trial.end()?;
    outcome.check(plan.forgets())?;
    if plan.is_for_the_living() {
        outcome.check_seeing()?;
    }
    Ok(in_short(&outcome))
}

fn in_short(outcome: &Outcome) -> String {
    let (account, truth) = (&outcome.account, &outcome.truth);
    format!(
        "{} nodes, {} slots, {} lost, {} twice (in truth {} and {}), {} repairs, not scheduled for {} ms",
        outcome.nodes.len(),
        account.expected,
        account.lost(),
        account.twice(),
        truth.never_of(account.expected),
        truth.repeated() + truth.strays,
        outcome.repairs,
        outcome.stalled_ms(),
    )
}

fn wait(milliseconds: u64) {
    thread::sleep(Duration::from_millis(milliseconds));
}

fn happen(
    fault: &Fault,
    trial: &mut Trial,
    server: &mut Server,
    proxies: &[Proxy],
    links: &[u64],
) -> Result<()> {
    match *fault {
        Fault::Join => trial.join().unwrap_or(()),
        Fault::Leave(node) => trial.members[node].leave().unwrap_or(()),
        Fault::Kill(node) => trial.members[node].kill().unwrap_or(()),
        Fault::FreezeNode(node, time) => {
            trial.members[node].freeze().unwrap_or(());
            if let Some(time) = time {
                wait(time);
                trial.members[node].thaw().unwrap_or(());
            }
        }
        Fault::FreezeAll(time) => {
            trial.members.iter().for_each(|member| member.freeze().unwrap_or(()));
            wait(time);
            trial.members.iter().for_each(|member| member.thaw().unwrap_or(()));
        }
        Fault::FreezeStore(time) => {
            server.stop()?;
            wait(time);
            server.go_on()?;
        }
        Fault::RestartStore(time) => {
            server.kill();
            wait(time);
            server.restart()?;
        }
        Fault::CutOff(node, time, new) => {
            proxies[node].cut(new);
            if let Some(time) = time {
                wait(time);
                proxies[node].mend()?;
            }
        }
        Fault::LoseReplies(node, replies) => proxies[node].drop_replies(replies),
        Fault::HoldRequests(node, time) => {
            proxies[node].hold_requests();
            wait(time);
            proxies[node].release();
        }
        Fault::Slow(node, delay, time) => {
            proxies[node].delay(Duration::from_millis(delay));
            if let Some(time) = time {
                wait(time);
                proxies[node].delay(Duration::from_millis(links[node]));
            }
        }
        // Ignores errors, because the load may have ended, or the store may have no data at that moment.
        Fault::SetRate(rate) => {
            trial.control().set_rate(format!("{rate}/s").parse()?).unwrap_or(());
        }
    }
    Ok(())
}
