//! Opens a connection to one of a server's addresses, in a simple form of Happy Eyeballs (RFC 8305, section 5).
//!
//! Connections use the addresses in rotation. If an attempt fails, or has not succeeded after [`STAGGER`], the next
//! address is tried too, and the first connection that is established is used. If an address has failed, or was slower
//! than an address that was tried later, it is tried last for the time [`AVOIDED`]. An address that cannot be reached
//! therefore does not delay every connection.

use crate::console::human::count;
use crate::console::panics::locked;
use crate::http::client::failure::Failure;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::time::Duration;
use tokio::select;
use tokio::time::{Instant, timeout};

/// The time after which the next address is tried too, while an attempt is still running. It is shorter if the time for
/// all attempts, divided by the number of addresses, is shorter.
const STAGGER: Duration = Duration::from_millis(250);

/// After this time, one connection tries an avoided address again in rotation.
const AVOIDED: Duration = Duration::from_secs(10);

const MOST_NAMED: usize = 8;

/// The addresses of a server. There is at least one address.
#[derive(Debug)]
pub(crate) struct Addresses {
    name: String,
    all: Vec<SocketAddr>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The number of first addresses that connections have tried, and the number of further addresses that they have
    /// tried.
    turns: [usize; 2],
    records: Vec<Record>,
}

#[derive(Clone, Debug, Default)]
struct Record {
    connected: u64,
    failed: u64,
    /// The failure of the last failed attempt, or `None` if another address was faster.
    failure: Option<Failure>,
    avoided_until: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Refusal {
    weight: u8,
    failure: Failure,
}

type Attempt<'a, S> = Pin<Box<dyn Future<Output = Result<S, Refusal>> + Send + 'a>>;

impl Addresses {
    pub(crate) fn new(name: String, all: Vec<SocketAddr>) -> Option<Addresses> {
        let state = State { turns: [0; 2], records: vec![Record::default(); all.len()] };
        (!all.is_empty()).then(|| Addresses { name, all, state: state.into() })
    }

    pub(crate) fn are_local(&self) -> bool {
        self.all.iter().all(|address| address.ip().is_loopback())
    }

    /// Opens a connection to one of the addresses. `within` is the time for all attempts together. The caller ends this
    /// call after that time.
    pub(crate) async fn connect<S: Send, F>(
        &self,
        within: Duration,
        connect: impl Fn(SocketAddr) -> F + Sync,
    ) -> Result<S, Failure>
    where
        F: Future<Output = io::Result<S>> + Send,
    {
        let count = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let stagger = STAGGER.min(within / count);
        let connected = match self.next(&[]) {
            Some(first) => self.race(first, Vec::new(), stagger, &connect).await,
            None => Err(Refusal { weight: 0, failure: Failure::ConnectTimeout }),
        };
        connected.map_err(|refusal| refusal.failure)
    }

    fn race<'a, S: Send + 'a, F>(
        &'a self,
        first: usize,
        mut tried: Vec<usize>,
        stagger: Duration,
        connect: &'a (impl Fn(SocketAddr) -> F + Sync),
    ) -> Attempt<'a, S>
    where
        F: Future<Output = io::Result<S>> + Send + 'a,
    {
        tried.push(first);
        Box::pin(async move {
            let mut attempt = pin!(self.attempt(first, connect));
            if tried.len() == self.all.len() {
                return attempt.await;
            }
            let early = timeout(stagger, &mut attempt).await;
            if let Ok(Ok(stream)) = early {
                return Ok(stream);
            }
            let Some(next) = self.next(&tried) else { return attempt.await };
            let mut others = self.race(next, tried, stagger, connect);
            if let Ok(Err(refusal)) = early {
                return others.await.map_err(|other| refusal.or(other));
            }
            select! {
                connected = &mut attempt => match connected {
                    Ok(stream) => Ok(stream),
                    Err(refusal) => others.await.map_err(|other| refusal.or(other)),
                },
                connected = &mut others => match connected {
                    Ok(stream) => {
                        locked(&self.state).records[first].fail(None);
                        Ok(stream)
                    }
                    Err(refusal) => attempt.await.map_err(|other| other.or(refusal)),
                },
            }
        })
    }

    async fn attempt<S, F>(
        &self,
        index: usize,
        connect: impl Fn(SocketAddr) -> F,
    ) -> Result<S, Refusal>
    where
        F: Future<Output = io::Result<S>>,
    {
        let connected = connect(self.all[index]).await;
        let record = &mut locked(&self.state).records[index];
        connected.inspect(|_| record.connect()).map_err(|error| {
            let failure = Failure::of_connecting(&error);
            if !failure.is_of_all_addresses() {
                record.fail(Some(failure));
            }
            Refusal { weight: record.weight(failure), failure }
        })
    }

    fn next(&self, tried: &[usize]) -> Option<usize> {
        let mut state = locked(&self.state);
        let State { turns, records } = &mut *state;
        let now = Instant::now();
        let left = (0..records.len()).filter(|index| !tried.contains(index));
        let (good, avoided): (Vec<_>, Vec<_>) =
            left.partition(|&index| !records[index].is_avoided(now));
        let choice = if good.is_empty() { avoided } else { good };
        let turn = &mut turns[usize::from(!tried.is_empty())];
        let next = *choice.get(*turn % choice.len().max(1))?;
        *turn = turn.wrapping_add(1);
        // From now on, other connections avoid the address until the result of this attempt is known.
        if let Some(until) = &mut records[next].avoided_until {
            *until = now + AVOIDED;
        }
        Some(next)
    }

    pub(crate) fn warning(&self) -> Option<String> {
        let records = &locked(&self.state).records;
        if records.len() == 1 {
            return None;
        }
        let has_answered = records.iter().any(|record| record.connected > 0);
        let failed = self.all.iter().zip(records).filter(|(_, record)| record.failed > 0);
        let failed: Vec<_> = failed.map(|(address, record)| record.told(*address)).collect();
        (has_answered && !failed.is_empty()).then(|| {
            format!("{}: {}; connections tried other addresses", self.name, listed(&failed))
        })
    }

    pub(crate) fn refusals(&self) -> Option<String> {
        let records = &locked(&self.state).records;
        let has_answered = records.iter().any(|record| record.connected > 0);
        let told = self.all.iter().zip(records);
        let told =
            told.map(|(address, record)| format!("{address}: {}", record.why("no response")));
        (self.all.len() > 1 && !has_answered).then(|| listed(&told.collect::<Vec<_>>()))
    }
}

impl Record {
    fn connect(&mut self) {
        (self.connected, self.avoided_until) = (self.connected + 1, None);
    }

    /// Records an attempt that failed with `failure`, or that was given up (`None`) because another address was faster.
    fn fail(&mut self, failure: Option<Failure>) {
        (self.failed, self.failure) = (self.failed + 1, failure);
        self.avoided_until = Some(Instant::now() + AVOIDED);
    }

    fn is_avoided(&self, now: Instant) -> bool {
        self.avoided_until.is_some_and(|until| now < until)
    }

    /// Returns how much a failure reveals about the server. The value is highest if an earlier connection to the
    /// address has succeeded. It is lowest if no connection has succeeded and this machine has no route to the address.
    fn weight(&self, failure: Failure) -> u8 {
        match self.connected {
            0 if failure.is_without_route() => 0,
            0 => 1,
            _ => 2,
        }
    }

    fn why(&self, other: &str) -> String {
        self.failure.map_or_else(|| other.to_owned(), |failure| failure.to_string())
    }

    fn told(&self, address: SocketAddr) -> String {
        let (Record { connected, failed, .. }, why) =
            (self, self.why("another address was faster"));
        if *connected == 0 {
            return format!("{address} accepted no connection ({why})");
        }
        let tried = count(connected + failed, "attempt");
        format!("{address} accepted {connected} of {tried} to connect ({why})")
    }
}

fn listed(parts: &[String]) -> String {
    let (named, others) = parts.split_at(parts.len().min(MOST_NAMED));
    let others = match others.len() {
        0 => String::new(),
        count => format!(", and {count} more"),
    };
    named.join(", ") + &others
}

impl Refusal {
    fn or(self, other: Refusal) -> Refusal {
        if other.weight > self.weight { other } else { self }
    }
}

#[cfg(test)]
mod tests;
