//! Calls a store from tasks, which share one connection that is made in the background.

use crate::adaptive_timeout::AdaptiveTimeout;
use crate::breaker::Breaker;
use crate::error::{Concerns, StoreError};
use crate::script::Call;
use crate::settings::Settings;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Value, cmd};
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout, timeout_at};

const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(250)];

/// The connection that tasks share. The `Debug` output contains no address.
pub(crate) struct AsyncStore {
    client: Client,
    settings: Settings,
    breaker: Breaker,
    patience: AdaptiveTimeout,
    shared: Mutex<Shared>,
    connected: Notify,
}

#[derive(Default)]
struct Shared {
    connection: Option<MultiplexedConnection>,
    /// The reason for the store's last failure, until it responds without one.
    last_error: Option<StoreError>,
    /// The moment until which the task that connects has to show that its runtime is driven. `None` if no task
    /// connects.
    connecting_until: Option<Instant>,
}

impl fmt::Debug for AsyncStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncStore")
            .field("is_broken", &self.breaker.is_open())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl AsyncStore {
    pub(crate) fn new(client: Client, settings: Settings) -> Arc<Self> {
        Arc::new(Self {
            client,
            settings,
            breaker: Breaker::default(),
            patience: AdaptiveTimeout::new(settings.timeout),
            shared: Mutex::default(),
            connected: Notify::new(),
        })
    }

    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.patience.now()
    }

    /// Calls a script before the deadline. Runs `sent` just before the call is sent.
    pub(crate) async fn call_by(
        self: &Arc<Self>,
        call: &Call,
        deadline: Instant,
        sent: impl FnOnce(),
    ) -> Result<Value, StoreError> {
        if self.breaker.is_open() {
            self.connect_in_background();
            // Some programs run their runtime only while decisions are made, so this yield gives the connecting task
            // time to run.
            yield_now().await;
            return Err(StoreError::Broken);
        }
        let asked = match timeout_at(deadline, self.connection()).await {
            Ok(connection) => {
                sent();
                self.ask(connection, call, deadline).await
            }
            Err(_) => Err(self.trouble().unwrap_or(StoreError::Timeout)),
        };
        match &asked {
            Err(error) if error.concerns() == Concerns::Store => self.fails(error),
            told => self.succeeds(told.as_ref().err().and_then(StoreError::trouble)),
        }
        asked
    }

    async fn ask(
        &self,
        connection: MultiplexedConnection,
        call: &Call,
        deadline: Instant,
    ) -> Result<Value, StoreError> {
        let began = Instant::now();
        let asked = timeout_at(deadline, ask(connection, call)).await;
        let answer = asked.unwrap_or(Err(StoreError::Timeout));
        match &answer {
            Err(StoreError::Timeout) => self.patience.missed(),
            Err(error) if error.concerns() == Concerns::Store => {}
            _ => self.patience.answered(began.elapsed()),
        }
        answer
    }

    pub(crate) fn trouble(&self) -> Option<StoreError> {
        self.lock().last_error.clone()
    }

    async fn connection(self: &Arc<Self>) -> MultiplexedConnection {
        loop {
            let mut connected = pin!(self.connected.notified());
            // The future is registered before the connection is checked, so that no notification is missed.
            connected.as_mut().enable();
            if let Some(connection) = self.lock().connection.clone() {
                return connection;
            }
            self.connect_in_background();
            connected.await;
        }
    }

    fn succeeds(&self, trouble: Option<StoreError>) {
        self.lock().last_error = trouble;
        self.breaker.succeeds();
    }

    fn fails(self: &Arc<Self>, error: &StoreError) {
        let mut shared = self.lock();
        (shared.connection, shared.last_error) = (None, Some(error.clone()));
        drop(shared);
        if self.breaker.fails() {
            self.connect_in_background();
        }
    }

    fn connect_in_background(self: &Arc<Self>) {
        let mut shared = self.lock();
        if shared.connecting_until.is_none_or(|until| until <= Instant::now()) {
            let until = self.next_sign();
            shared.connecting_until = Some(until);
            drop(shared);
            let mut connecting = Connecting { store: Arc::downgrade(self), until };
            tokio::spawn(async move { connecting.run().await });
        }
    }

    /// Returns the moment by which a task that connects begins its next attempt, if its runtime is driven.
    fn next_sign(&self) -> Instant {
        Instant::now() + self.settings.connect_timeout + PAUSES[1]
    }

    async fn try_connect(&self) -> Result<MultiplexedConnection, StoreError> {
        // Responses have no timeout here, because each decision has its own, which may be longer.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.settings.connect_timeout))
            .set_response_timeout(None);
        let mut connection =
            self.client.get_multiplexed_async_connection_with_config(&config).await?;
        let began = Instant::now();
        cmd("PING").query_async::<()>(&mut connection).await?;
        self.patience.answered(began.elapsed());
        Ok(connection)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn ask(mut connection: MultiplexedConnection, call: &Call) -> Result<Value, StoreError> {
    let answer = match call.by_digest().query_async::<Value>(&mut connection).await {
        Err(error) if error.code() == Some("NOSCRIPT") => {
            call.by_text().query_async::<Value>(&mut connection).await
        }
        answer => answer,
    };
    Ok(answer?)
}

/// Tries to connect until a connection works, the store is dropped or another task connects. Another task may begin
/// when this value is dropped, even by the end of its runtime, and when its runtime is not driven.
struct Connecting {
    store: Weak<AsyncStore>,
    /// The value of `connecting_until` that this task has set.
    until: Instant,
}

impl Connecting {
    async fn run(&mut self) {
        let [mut pause, longest] = PAUSES;
        while let Some(store) = self.store.upgrade() {
            if !self.goes_on(&store) {
                return;
            }
            let attempt = timeout(store.settings.connect_timeout, store.try_connect()).await;
            match attempt.unwrap_or(Err(StoreError::Timeout)) {
                Ok(connection) => {
                    if self.goes_on(&store) {
                        store.lock().connection = Some(connection);
                        store.breaker.succeeds();
                    }
                    return;
                }
                Err(error) => store.lock().last_error = Some(error),
            }
            drop(store);
            sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
    }

    /// Returns whether no other task connects, and sets the moment of the next attempt.
    fn goes_on(&mut self, store: &AsyncStore) -> bool {
        let mut shared = store.lock();
        let is_own = shared.connecting_until == Some(self.until);
        if is_own {
            self.until = store.next_sign();
            shared.connecting_until = Some(self.until);
        }
        is_own
    }
}

impl Drop for Connecting {
    fn drop(&mut self) {
        if let Some(store) = self.store.upgrade() {
            let mut shared = store.lock();
            if shared.connecting_until == Some(self.until) {
                shared.connecting_until = None;
            }
            drop(shared);
            // The waiting tasks are woken last. If the connection has failed meanwhile, a woken task begins to connect
            // again.
            store.connected.notify_waiters();
        }
    }
}
