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
use std::sync::atomic::{AtomicBool, Ordering};
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
    is_connecting: AtomicBool,
}

#[derive(Default)]
struct Shared {
    connection: Option<MultiplexedConnection>,
    /// The reason for the store's last failure, until it responds without one.
    last_error: Option<StoreError>,
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
            is_connecting: AtomicBool::new(false),
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
        *self.lock() = Shared { connection: None, last_error: Some(error.clone()) };
        if self.breaker.fails() {
            self.connect_in_background();
        }
    }

    fn connect_in_background(self: &Arc<Self>) {
        // Relaxed: only the task whose swap returns false starts a connection task; the flag publishes nothing.
        if !self.is_connecting.swap(true, Ordering::Relaxed) {
            let connecting = Connecting(Arc::downgrade(self));
            tokio::spawn(async move { connecting.run().await });
        }
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

/// Tries to connect until a connection works or the store is dropped. When this value is dropped, even by the end of
/// its runtime, another task may begin to connect.
struct Connecting(Weak<AsyncStore>);

impl Connecting {
    async fn run(&self) {
        let [mut pause, longest] = PAUSES;
        while let Some(store) = self.0.upgrade() {
            let attempt = timeout(store.settings.connect_timeout, store.try_connect()).await;
            match attempt.unwrap_or(Err(StoreError::Timeout)) {
                Ok(connection) => {
                    store.lock().connection = Some(connection);
                    return store.breaker.succeeds();
                }
                Err(error) => store.lock().last_error = Some(error),
            }
            drop(store);
            sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
    }
}

impl Drop for Connecting {
    fn drop(&mut self) {
        if let Some(store) = self.0.upgrade() {
            store.is_connecting.store(false, Ordering::Relaxed);
            // The waiting tasks are woken last. If the connection has failed meanwhile, a woken task begins to connect
            // again. The task sees `false`, because `notify_waiters` and `notified` synchronize.
            store.connected.notify_waiters();
        }
    }
}
