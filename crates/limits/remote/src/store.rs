//! A pool of connections that threads share, and the thread that makes the connections.
//!
//! No decision makes a connection itself, so a decision's timeout also ends its wait for name resolution and
//! handshakes.

use crate::adaptive_timeout::AdaptiveTimeout;
use crate::breaker::Breaker;
use crate::error::{Concerns, StoreError};
use crate::script::Call;
use crate::settings::Settings;
use redis::{Client, Connection, Value, cmd};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(250)];

/// A pool of connections. The `Debug` output contains no address.
pub(crate) struct Pool {
    client: Client,
    settings: Settings,
    breaker: Breaker,
    patience: AdaptiveTimeout,
    shared: Mutex<Shared>,
    /// Notified when a connection is made, when one becomes idle while a caller waits, when a caller starts to wait,
    /// after a failure, and when the pool ends.
    changed: Condvar,
}

#[derive(Default)]
struct Shared {
    idle: Vec<Link>,
    /// The number of connections, idle or in use.
    connections: usize,
    waiting: usize,
    /// The reason for the store's last failure, until it responds without one.
    last_error: Option<StoreError>,
    is_over: bool,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connections = self.lock().connections;
        f.debug_struct("Pool")
            .field("connections", &connections)
            .field("is_broken", &self.breaker.is_open())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Pool {
    pub(crate) fn start(client: Client, settings: Settings) -> std::io::Result<Arc<Self>> {
        let pool = Arc::new(Self {
            client,
            settings,
            breaker: Breaker::default(),
            patience: AdaptiveTimeout::new(settings.timeout),
            shared: Mutex::new(Shared::default()),
            changed: Condvar::new(),
        });
        let own = Arc::clone(&pool);
        thread::Builder::new().name("nanopace-store".to_owned()).spawn(move || own.connect())?;
        Ok(pool)
    }

    #[cfg(feature = "async")]
    pub(crate) fn parts(&self) -> (Client, Settings) {
        (self.client.clone(), self.settings)
    }

    pub(crate) fn end(&self) {
        let mut shared = self.lock();
        shared.is_over = true;
        shared.idle.clear();
        self.changed.notify_all();
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.breaker.is_open()
    }

    pub(crate) fn wait_for_connection(&self) -> Result<(), StoreError> {
        let deadline = Instant::now() + self.settings.connect_timeout * 2;
        self.give_back(self.take(deadline)?, None);
        Ok(())
    }

    pub(crate) fn trouble(&self) -> Option<StoreError> {
        self.lock().last_error.clone()
    }

    pub(crate) fn call(&self, call: &Call) -> Result<Value, StoreError> {
        self.call_by(call, self.deadline(), || ())
    }

    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.patience.now()
    }

    /// Calls a script before the deadline. Runs `sent` just before the call is sent.
    pub(crate) fn call_by(
        &self,
        call: &Call,
        deadline: Instant,
        sent: impl FnOnce(),
    ) -> Result<Value, StoreError> {
        self.use_link(deadline, |link| {
            sent();
            match link.query(&call.by_digest(), deadline) {
                Err(error) if error.code() == Some("NOSCRIPT") => {
                    link.query(&call.by_text(), deadline)
                }
                answer => answer,
            }
        })
    }

    /// Makes a call that is not a decision. Its timeout is that for making a connection.
    pub(crate) fn patient_call(&self, call: &Call) -> Result<Value, StoreError> {
        self.call_by(call, Instant::now() + self.settings.connect_timeout, || ())
    }

    pub(crate) fn command(&self, command: &redis::Cmd) -> Result<Value, StoreError> {
        let deadline = Instant::now() + self.settings.connect_timeout;
        self.use_link(deadline, |link| link.query(command, deadline))
    }

    fn use_link(
        &self,
        deadline: Instant,
        ask: impl FnOnce(&mut Link) -> redis::RedisResult<Value>,
    ) -> Result<Value, StoreError> {
        if self.is_lost() {
            return Err(StoreError::Broken);
        }
        let asked = self.take(deadline).and_then(|link| self.ask_on(link, ask));
        match &asked {
            Err(error) if error.concerns() == Concerns::Store => self.fails(error),
            _ => self.breaker.succeeds(),
        }
        asked
    }

    /// Makes a call on a connection. Drops the connection after a failure of the store, because a missing response
    /// could arrive during a later call.
    fn ask_on(
        &self,
        mut link: Link,
        ask: impl FnOnce(&mut Link) -> redis::RedisResult<Value>,
    ) -> Result<Value, StoreError> {
        let began = Instant::now();
        let answer = ask(&mut link).map_err(StoreError::from);
        match &answer {
            Err(error) if error.concerns() == Concerns::Store => self.lose(link),
            told => {
                self.patience.answered(began.elapsed());
                self.give_back(link, told.as_ref().err().and_then(StoreError::trouble));
            }
        }
        answer
    }

    fn fails(&self, error: &StoreError) {
        if *error == StoreError::Timeout {
            self.patience.missed();
        }
        let mut shared = self.lock();
        shared.last_error = Some(error.clone());
        if self.breaker.fails() || matches!(error, StoreError::Connection(_)) {
            // The idle connections are likely to be broken, too.
            shared.connections -= shared.idle.len();
            shared.idle.clear();
        }
        self.changed.notify_all();
    }

    /// Takes an idle connection, or waits for one until the deadline. If the pool has no connection at all at the
    /// deadline, the error is the reason for the store's last failure, and otherwise a timeout.
    fn take(&self, deadline: Instant) -> Result<Link, StoreError> {
        let mut shared = self.lock();
        loop {
            if let Some(link) = shared.idle.pop() {
                return Ok(link);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let reason = shared.last_error.clone().filter(|_| shared.connections == 0);
                return Err(reason.unwrap_or(StoreError::Timeout));
            }
            shared.waiting += 1;
            self.changed.notify_all();
            shared =
                self.changed.wait_timeout(shared, left).unwrap_or_else(PoisonError::into_inner).0;
            shared.waiting -= 1;
        }
    }

    fn give_back(&self, link: Link, trouble: Option<StoreError>) {
        let mut shared = self.lock();
        shared.last_error = trouble;
        shared.idle.push(link);
        if shared.waiting > 0 {
            self.changed.notify_all();
        }
    }

    fn lose(&self, link: Link) {
        drop(link);
        self.lock().connections -= 1;
    }

    fn connect(&self) {
        let [first, longest] = PAUSES;
        let mut pause = first;
        while self.wait_until_wanted() {
            match self.try_connect() {
                Ok(link) => {
                    pause = first;
                    self.add(link);
                }
                Err(error) => {
                    self.lock().last_error = Some(error);
                    self.pause(pause);
                    pause = (pause * 2).min(longest);
                }
            }
        }
    }

    fn wait_until_wanted(&self) -> bool {
        let mut shared = self.lock();
        while !shared.is_over && !self.is_wanted(&shared) {
            shared = self.changed.wait(shared).unwrap_or_else(PoisonError::into_inner);
        }
        !shared.is_over
    }

    /// Returns whether a new connection is needed. The first connection is made before a caller needs it. While the
    /// breaker is open, a new connection tests whether the store responds again.
    fn is_wanted(&self, shared: &Shared) -> bool {
        let is_short = shared.waiting > 0 && shared.idle.is_empty();
        let has_room = shared.connections < self.settings.connections;
        shared.connections == 0 || self.breaker.is_open() || (is_short && has_room)
    }

    fn try_connect(&self) -> Result<Link, StoreError> {
        let deadline = Instant::now() + self.settings.connect_timeout;
        let connection = self.client.get_connection_with_timeout(self.settings.connect_timeout)?;
        let mut link = Link { connection, patience: Duration::ZERO };
        let began = Instant::now();
        link.query(&cmd("PING"), deadline)?;
        self.patience.answered(began.elapsed());
        Ok(link)
    }

    fn add(&self, link: Link) {
        let mut shared = self.lock();
        shared.connections += 1;
        shared.idle.push(link);
        self.breaker.succeeds();
        self.changed.notify_all();
    }

    fn pause(&self, pause: Duration) {
        let deadline = Instant::now() + pause;
        let mut shared = self.lock();
        while !shared.is_over {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            shared =
                self.changed.wait_timeout(shared, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Link {
    connection: Connection,
    patience: Duration,
}

impl Link {
    fn query(&mut self, command: &redis::Cmd, deadline: Instant) -> redis::RedisResult<Value> {
        self.limit_time(deadline)?;
        command.query(&mut self.connection)
    }

    /// Sets the timeouts of the connection to the time until the deadline, or up to a tenth more. A change takes two
    /// system calls, and setting a little more than the time that is left avoids most changes.
    fn limit_time(&mut self, deadline: Instant) -> redis::RedisResult<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = left.max(Duration::from_micros(1));
        if !(left..=left + left / 10).contains(&self.patience) {
            let patience = left + left / 20;
            self.connection.set_read_timeout(Some(patience))?;
            self.connection.set_write_timeout(Some(patience))?;
            self.patience = patience;
        }
        Ok(())
    }
}
