//! A store for threads: connections that they take turns with, and a thread that makes them.
//!
//! No decision makes a connection itself, so none waits for names to be resolved or for a handshake.

use crate::breaker::Breaker;
use crate::error::{Concerns, StoreError};
use crate::patience::Patience;
use crate::script::Call;
use crate::settings::Settings;
use redis::{Client, Connection, Value, cmd};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The pauses between attempts to connect: the first, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(250)];

/// A pool of connections. It has no address in its `Debug`.
pub(crate) struct Pool {
    client: Client,
    settings: Settings,
    breaker: Breaker,
    patience: Patience,
    state: Mutex<State>,
    /// Told when a connection is given back, is wanted, or when it is over.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Line>,
    /// Connections that there are, in use or not.
    connections: usize,
    /// Threads that wait for one.
    waiting: usize,
    /// Why it was in vain, until there is an answer that tells of no trouble.
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
    /// A pool, and the thread that fills it until [`end`](Self::end).
    pub(crate) fn start(client: Client, settings: Settings) -> std::io::Result<Arc<Self>> {
        let pool = Arc::new(Self {
            client,
            settings,
            breaker: Breaker::default(),
            patience: Patience::new(settings.timeout),
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
        });
        let own = Arc::clone(&pool);
        thread::Builder::new().name("nanopace-store".to_owned()).spawn(move || own.connect())?;
        Ok(pool)
    }

    /// What another store of the same address is made of.
    #[cfg(feature = "async")]
    pub(crate) fn parts(&self) -> (Client, Settings) {
        (self.client.clone(), self.settings)
    }

    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        state.idle.clear();
        self.changed.notify_all();
    }

    /// Whether the store is known to be lost, and not to be asked.
    pub(crate) fn is_lost(&self) -> bool {
        self.breaker.is_open()
    }

    /// Waits until there is a connection. The last error if that takes too long.
    pub(crate) fn wait_for_connection(&self) -> Result<(), StoreError> {
        let deadline = Instant::now() + self.settings.connect_timeout * 2;
        self.give_back(self.take(deadline)?, None);
        Ok(())
    }

    /// The last error, if there has been no answer since.
    pub(crate) fn trouble(&self) -> Option<StoreError> {
        self.lock().last_error.clone()
    }

    /// The answer to a call, in the time that a decision may take.
    pub(crate) fn call(&self, call: &Call) -> Result<Value, StoreError> {
        self.call_by(call, self.deadline(), || ())
    }

    /// By when a decision that begins now has to be made.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.patience.now()
    }

    /// The answer to a call; `sent` is called when it is sent.
    pub(crate) fn call_by(
        &self,
        call: &Call,
        deadline: Instant,
        sent: impl FnOnce(),
    ) -> Result<Value, StoreError> {
        self.use_line(deadline, |line| {
            sent();
            match line.query(&call.by_digest(), deadline) {
                Err(error) if error.code() == Some("NOSCRIPT") => {
                    line.query(&call.by_text(), deadline)
                }
                answer => answer,
            }
        })
    }

    /// The answer to a call that is no decision, in the time that a connection may take.
    pub(crate) fn patient_call(&self, call: &Call) -> Result<Value, StoreError> {
        self.call_by(call, Instant::now() + self.settings.connect_timeout, || ())
    }

    /// The answer to a command that is no decision, in the same time.
    pub(crate) fn command(&self, command: &redis::Cmd) -> Result<Value, StoreError> {
        let deadline = Instant::now() + self.settings.connect_timeout;
        self.use_line(deadline, |line| line.query(command, deadline))
    }

    fn use_line(
        &self,
        deadline: Instant,
        ask: impl FnOnce(&mut Line) -> redis::RedisResult<Value>,
    ) -> Result<Value, StoreError> {
        if self.is_lost() {
            return Err(StoreError::Broken);
        }
        let asked = self.take(deadline).and_then(|line| self.ask_on(line, ask));
        match &asked {
            Err(error) if error.concerns() == Concerns::Store => self.fails(error),
            _ => self.breaker.succeeds(),
        }
        asked
    }

    /// A connection on which an answer is missing must not be used again.
    fn ask_on(
        &self,
        mut line: Line,
        ask: impl FnOnce(&mut Line) -> redis::RedisResult<Value>,
    ) -> Result<Value, StoreError> {
        let began = Instant::now();
        let answer = ask(&mut line).map_err(StoreError::from);
        match &answer {
            Err(error) if error.concerns() == Concerns::Store => self.lose(line),
            told => {
                self.patience.answered(began.elapsed());
                self.give_back(line, told.as_ref().err().and_then(StoreError::trouble));
            }
        }
        answer
    }

    fn fails(&self, error: &StoreError) {
        if *error == StoreError::Timeout {
            self.patience.missed();
        }
        let mut state = self.lock();
        state.last_error = Some(error.clone());
        if self.breaker.fails() || matches!(error, StoreError::Connection(_)) {
            // The others are no better.
            state.connections -= state.idle.len();
            state.idle.clear();
        }
        self.changed.notify_all();
    }

    /// A connection. If there is none at all, the error says why.
    fn take(&self, deadline: Instant) -> Result<Line, StoreError> {
        let mut state = self.lock();
        loop {
            if let Some(line) = state.idle.pop() {
                return Ok(line);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let reason = state.last_error.clone().filter(|_| state.connections == 0);
                return Err(reason.unwrap_or(StoreError::Timeout));
            }
            state.waiting += 1;
            self.changed.notify_all();
            state =
                self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            state.waiting -= 1;
        }
    }

    /// After an answer, with the trouble that it told of.
    fn give_back(&self, line: Line, trouble: Option<StoreError>) {
        let mut state = self.lock();
        state.last_error = trouble;
        state.idle.push(line);
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }

    fn lose(&self, line: Line) {
        drop(line);
        self.lock().connections -= 1;
    }

    /// Makes connections when they are wanted, one at a time, until it is over.
    fn connect(&self) {
        let [first, longest] = PAUSES;
        let mut pause = first;
        while self.wait_until_wanted() {
            match self.try_connect() {
                Ok(line) => {
                    pause = first;
                    self.add(line);
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
        let mut state = self.lock();
        while !state.is_over && !self.is_wanted(&state) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.is_over
    }

    /// One is there beforehand. While the breaker is open, another one is the probe.
    fn is_wanted(&self, state: &State) -> bool {
        let is_short = state.waiting > 0 && state.idle.is_empty();
        let has_room = state.connections < self.settings.connections;
        state.connections == 0 || self.breaker.is_open() || (is_short && has_room)
    }

    fn try_connect(&self) -> Result<Line, StoreError> {
        let deadline = Instant::now() + self.settings.connect_timeout;
        let connection = self.client.get_connection_with_timeout(self.settings.connect_timeout)?;
        let mut line = Line { connection, patience: Duration::ZERO };
        let began = Instant::now();
        line.query(&cmd("PING"), deadline)?;
        self.patience.answered(began.elapsed());
        Ok(line)
    }

    fn add(&self, line: Line) {
        let mut state = self.lock();
        state.connections += 1;
        state.idle.push(line);
        self.breaker.succeeds();
        self.changed.notify_all();
    }

    /// Sleeps, unless it is over.
    fn pause(&self, pause: Duration) {
        let deadline = Instant::now() + pause;
        let mut state = self.lock();
        while !state.is_over {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state =
                self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection, and how long a read or write on it may take now.
struct Line {
    connection: Connection,
    patience: Duration,
}

impl Line {
    fn query(&mut self, command: &redis::Cmd, deadline: Instant) -> redis::RedisResult<Value> {
        self.limit_time(deadline)?;
        command.query(&mut self.connection)
    }

    /// Each change is two calls of the system. A tenth more or less is not worth that.
    fn limit_time(&mut self, deadline: Instant) -> redis::RedisResult<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = left.max(Duration::from_micros(1));
        if self.patience.abs_diff(left) > left / 10 {
            self.connection.set_read_timeout(Some(left))?;
            self.connection.set_write_timeout(Some(left))?;
            self.patience = left;
        }
        Ok(())
    }
}
