//! Runs a node of a fleet as a process.
//!
//! The node prints `joined NUMBER`, and then records its starts in a file. A line on standard input makes it leave. At
//! the end it prints `finished`, the number of frames without the store, and the longest time in milliseconds between
//! two wake-ups of its main thread. If it fails, it prints `failed` and the reason.

use crate::fleet::start::Recorder;
use anyhow::Result;
use clap::Args;
use nanopace_fleet::{Fleet, FleetError, Node};
use std::io::{self, BufRead};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// The options of a node.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The URL of the store.
    #[arg(long)]
    url: String,
    /// The name of the run.
    #[arg(long)]
    run: String,
    /// The load; by default that of the run.
    #[arg(long)]
    shape: Option<String>,
    /// The number of nodes to wait for before the run starts.
    #[arg(long, default_value_t = 1)]
    nodes: u32,
    /// The file for the starts.
    #[arg(long)]
    starts: PathBuf,
    /// The number of starts to write to the file at once.
    #[arg(long, default_value_t = 1)]
    together: usize,
    /// The number of threads that take slots.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// The duration of each operation, in microseconds.
    #[arg(long, default_value_t = 0)]
    busy_us: u64,
}

/// Takes part in the run until the load is over or a line on standard input asks the node to leave. Ends the process if
/// standard input ends.
///
/// # Errors
/// Never fails; errors are printed.
pub fn run(options: &Options) -> Result<()> {
    match take_part(options) {
        Ok(end) => println!("finished {} {}", end.0, end.1.as_millis()),
        Err(error) => println!("failed {error:#}"),
    }
    Ok(())
}

fn take_part(options: &Options) -> Result<(u64, Duration)> {
    let node = join(options)?;
    println!("joined {}", node.number());
    let stalled = thread::scope(|scope| {
        let callers: Vec<_> =
            (0..options.threads).map(|_| scope.spawn(|| starts(&node, options))).collect();
        let stalled = watch(&node, &lines(), &callers);
        let noted = callers.into_iter().try_for_each(|caller| caller.join().expect("no panic"));
        noted.map(|()| stalled)
    })?;
    let blind_frames = node.status().blind_frames;
    node.finish(Vec::new())?;
    Ok((blind_frames, stalled))
}

fn join(options: &Options) -> Result<Node> {
    let fleet = Fleet::new(&options.url, &options.run)?.nodes(options.nodes)?;
    let fleet = match &options.shape {
        Some(shape) => fleet.shape(shape.parse()?),
        None => fleet,
    };
    Ok(fleet.join()?)
}

fn starts(node: &Node, options: &Options) -> io::Result<()> {
    let mut recorder = Recorder::open(&options.starts, options.together)?;
    let begins = u64::try_from(node.begins().as_nanos()).unwrap_or(u64::MAX);
    while let Ok(grant) = node.pacer().acquire() {
        recorder
            .note(grant.intended_start().as_nanos().saturating_sub(begins), grant.wait_nanos())?;
        if options.busy_us > 0 {
            thread::sleep(Duration::from_micros(options.busy_us));
        }
    }
    recorder.flush()
}

fn lines() -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        io::stdin().lock().lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    receiver
}

/// Waits until all `callers` have ended, and makes the node leave when a line arrives. Returns the longest time between
/// two wake-ups of this thread, without the calls that make the node leave.
fn watch<T>(
    node: &Node,
    lines: &Receiver<String>,
    callers: &[ScopedJoinHandle<'_, T>],
) -> Duration {
    let (mut stalled, mut last) = (Duration::ZERO, Instant::now());
    while callers.iter().any(|caller| !caller.is_finished()) {
        stalled = stalled.max(last.elapsed());
        last = Instant::now();
        match lines.recv_timeout(Duration::from_millis(2)) {
            Ok(_) => {
                report(node.leave());
                last = Instant::now();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::process::exit(1),
        }
    }
    stalled
}

fn report(left: Result<(), FleetError>) {
    if let Err(error) = left {
        println!("cannot leave: {error}");
    }
}
