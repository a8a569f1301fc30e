//! Draws the figure of examples/README.md: a table of PostgreSQL is locked for 2 s, under a closed loop and under an
//! open loop. `just lock-figure` runs it.

use clap::Parser;
use nanopace_load::{Done, Failure, Load, Slot, Target};
use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fs, mem};
use tokio::task::JoinSet;
use tokio_postgres::{Client, Config, NoTls, Statement};

const SET_UP: &str = "CREATE TABLE IF NOT EXISTS shelves (id int PRIMARY KEY, books int NOT NULL);
    INSERT INTO shelves SELECT n, n FROM generate_series(0, 999) n ON CONFLICT DO NOTHING";
const READ: &str = "SELECT books FROM shelves WHERE id = $1";
/// Locks the table, as many schema changes do.
const LOCK: &str = "BEGIN; LOCK TABLE shelves IN ACCESS EXCLUSIVE MODE";

const SESSIONS: u32 = 8;
const RATE: &str = "1k/s";
const LENGTH: Duration = Duration::from_secs(10);
const LOCKED_FROM: Duration = Duration::from_secs(4);
const LOCKED_FOR: Duration = Duration::from_secs(2);

/// Locks a table under two loads
#[derive(Parser)]
struct Options {
    /// The address and the user of PostgreSQL
    #[arg(long, default_value = "host=/run/postgresql user=postgres")]
    server: Config,
    /// The file of the figure
    #[arg(long)]
    svg: PathBuf,
}

struct Call(Instant, Duration);

struct Run {
    name: &'static str,
    colour: &'static str,
    calls: Vec<Call>,
    lock: [Instant; 2],
    p99: Duration,
}

type Answer<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[derive(Clone)]
struct Shelves {
    server: Config,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Shelves {
    async fn open(&self) -> Result<Client, tokio_postgres::Error> {
        let (client, connection) = self.server.connect(NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    fn note(&self, from: Instant) {
        self.calls.lock().unwrap().push(Call(from, from.elapsed()));
    }

    async fn lock(self) -> Answer<[Instant; 2]> {
        let client = self.open().await?;
        tokio::time::sleep(LOCKED_FROM).await;
        client.batch_execute(LOCK).await?;
        let from = Instant::now();
        tokio::time::sleep(LOCKED_FOR).await;
        client.batch_execute("COMMIT").await?;
        Ok([from, Instant::now()])
    }

    async fn closed_loop(self, end: Instant) -> Answer<()> {
        let client = self.open().await?;
        let read = client.prepare(READ).await?;
        for id in (0..1_000).cycle() {
            let from = Instant::now();
            if from > end {
                break;
            }
            client.query_one(&read, &[&id]).await?;
            self.note(from);
        }
        Ok(())
    }
}

impl Target for Shelves {
    type Session = (Client, Statement);

    async fn connect(&self, _index: usize) -> Result<Self::Session, Failure> {
        let client = self.open().await?;
        let read = client.prepare(READ).await?;
        Ok((client, read))
    }

    async fn call(&self, session: &mut Self::Session, slot: Slot) -> Result<Done, Failure> {
        let intended_start = Instant::now() - slot.wait_time();
        let (client, read) = session;
        client.query_one(read, &[&((slot.number() % 1_000) as i32)]).await?;
        self.note(intended_start);
        Ok(Done::new())
    }
}

async fn closed(shelves: &Shelves) -> Answer<Run> {
    let lock = tokio::spawn(shelves.clone().lock());
    let end = Instant::now() + LENGTH;
    let mut sessions: JoinSet<_> =
        (0..SESSIONS).map(|_| shelves.clone().closed_loop(end)).collect();
    while let Some(ended) = sessions.join_next().await {
        ended??;
    }
    let calls = mem::take(&mut *shelves.calls.lock().unwrap());
    let mut times: Vec<Duration> = calls.iter().map(|call| call.1).collect();
    times.sort_unstable();
    let (name, p99) = ("Closed loop, as fast as it can", times[times.len() * 99 / 100]);
    Ok(Run { name, colour: "closed", calls, lock: lock.await??, p99 })
}

async fn open(shelves: &Shelves) -> Answer<Run> {
    let lock = tokio::spawn(shelves.clone().lock());
    let load = Load::new(RATE.parse()?).sessions(SESSIONS).duration(LENGTH);
    let report = load.run(shelves.clone()).await?;
    print!("{report}");
    let calls = mem::take(&mut *shelves.calls.lock().unwrap());
    let p99 = report.response_time(0.99).ok_or("some calls have failed")?;
    let name = "Open loop, nanopace at 1000/s";
    Ok(Run { name, colour: "open", calls, lock: lock.await??, p99 })
}

impl Run {
    fn told(&self) -> [String; 2] {
        let [from, to] = self.lock;
        let met =
            self.calls.iter().filter(|Call(start, took)| *start < to && *start + *took > from);
        let met = format!("{} of {} calls met the lock", met.count(), self.calls.len());
        [format!("{}: p99 {}", self.name, shown(self.p99)), met]
    }

    /// Returns the slowest call of each 50 ms as its start and its time, in seconds. In the open loop, these are the
    /// intended start and the response time.
    fn slowest(&self, begin: Instant) -> Vec<(f64, f64)> {
        let mut slowest = vec![None; LENGTH.as_millis() as usize / 50];
        for Call(from, took) in &self.calls {
            let at = from.duration_since(begin);
            if let Some(slot) = slowest.get_mut(at.as_millis() as usize / 50) {
                *slot = (*slot).max(Some((*took, at)));
            }
        }
        let seconds = |(took, at): (Duration, Duration)| (at.as_secs_f64(), took.as_secs_f64());
        slowest.into_iter().flatten().map(seconds).collect()
    }

    fn draw(&self, top: f64) -> String {
        let (x, y) =
            (|seconds: f64| 60.0 + seconds * 52.0, |seconds: f64| top + 162.0 - seconds * 50.0);
        let begin = self.calls.iter().map(|call| call.0).min().unwrap_or(self.lock[0]);
        let [from, to] = self.lock.map(|moment| x((moment - begin).as_secs_f64()));
        let [title, met] = self.told();
        let mut svg = format!(
            "<text class='title' x='60' y='{}'>{title}</text><text x='60' y='{}'>{met}</text>\n\
             <rect class='lock' x='{from:.1}' y='{:.1}' width='{:.1}' height='110'/>\n",
            top + 16.0,
            top + 37.0,
            y(2.2),
            to - from,
        );
        for seconds in [0.0, 1.0, 2.0] {
            let (y, name) = (y(seconds), format!("{seconds} s"));
            let _ = writeln!(
                svg,
                "<path class='line' d='M60 {y}H580'/><text class='left' x='52' y='{}'>{name}</text>",
                y + 5.0
            );
        }
        for (at, took) in self.slowest(begin) {
            let (colour, x, y) = (self.colour, x(at), y(took));
            let _ = writeln!(svg, "<circle class='{colour}' cx='{x:.1}' cy='{y:.1}' r='2.5'/>");
        }
        svg
    }
}

fn shown(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    if ms < 1e3 { format!("{ms:.2} ms") } else { format!("{:.2} s", ms / 1e3) }
}

const HEAD: &str = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 600 430'>
<style>
text{font:16px sans-serif;fill:#1f2328}.title{font-weight:bold}.left{text-anchor:end}.middle{text-anchor:middle}
.back{fill:#fff}.line{stroke:#d0d7de}.lock{fill:#e6e6e6}.closed{fill:#d55e00}.open{fill:#0072b2}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#0d1117}.line{stroke:#3d444d}.lock{fill:#30363d}
.closed{fill:#f0883e}.open{fill:#56b4e9}}
</style>
<rect class='back' width='600' height='430'/>
";

#[tokio::main]
async fn main() -> Answer<()> {
    let Options { server, svg } = Options::parse();
    let shelves = Shelves { server, calls: Arc::default() };
    shelves.open().await?.batch_execute(SET_UP).await?;
    let runs = [closed(&shelves).await?, open(&shelves).await?];
    let mut picture = HEAD.to_owned();
    for (run, top) in runs.iter().zip([6.0, 206.0]) {
        println!("{}", run.told().join("; "));
        picture += &run.draw(top);
    }
    for second in 0..=10 {
        let x = 60 + second * 52;
        writeln!(picture, "<text class='middle' x='{x}' y='392'>{second}</text>")?;
    }
    picture += "<text class='middle' x='320' y='416'>seconds; the slowest call of each 50 ms; grey: the table is locked</text>\n</svg>\n";
    Ok(fs::write(svg, picture)?)
}
