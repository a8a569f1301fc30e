//! A store, its address and its connections.

use crate::error::RemoteError;
use crate::settings::Settings;
use crate::store::Pool;
use redis::Client;
use std::sync::Arc;

/// A store (Redis or Valkey) and the connections to it. Clones share the connections.
///
/// # Address
///
/// `redis://[[user]:password@]host[:port][/database]`, `unix:///path`, or, with the feature `tls`, `rediss://...`. The
/// address is never printed: neither `Debug` nor any error contains the address or its password.
///
/// # Connections
///
/// A background thread makes connections, and replaces those that are lost. No decision waits longer than
/// [`Settings::timeout`] for a connection.
#[derive(Clone, Debug)]
pub struct Remote {
    owner: Arc<Owner>,
}

/// Ends the background thread when the last [`Remote`] or limiter is dropped.
#[derive(Debug)]
struct Owner {
    pool: Arc<Pool>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.pool.end();
    }
}

impl Remote {
    /// Connects to the store, and waits until a connection works.
    ///
    /// # Errors
    /// Returns [`RemoteError::Url`] for an invalid address, [`RemoteError::Store`] if the store cannot be reached
    /// within two seconds or returns an error, and [`RemoteError::Thread`] if the background thread cannot be started.
    pub fn connect(url: &str) -> Result<Self, RemoteError> {
        let store = Self::lazy(url)?;
        store.owner.pool.wait_for_connection()?;
        Ok(store)
    }

    /// Creates a store as [`connect`](Remote::connect) does, but does not wait for a connection. Until a connection is
    /// made, a decision waits for it until the decision's timeout. The store then counts as lost, and
    /// [`RemoteKeyed::trouble`](crate::RemoteKeyed::trouble) returns the reason.
    ///
    /// # Errors
    /// Returns [`RemoteError::Url`] for an invalid address, and [`RemoteError::Thread`] if the background thread cannot
    /// be started.
    pub fn lazy(url: &str) -> Result<Self, RemoteError> {
        Self::lazy_with(url, Settings::default())
    }

    /// Creates a store as [`lazy`](Remote::lazy) does, with the given settings.
    ///
    /// # Errors
    /// Returns the same errors as [`lazy`](Remote::lazy).
    pub fn lazy_with(url: &str, settings: Settings) -> Result<Self, RemoteError> {
        // The error may contain parts of the address.
        let client = Client::open(url).map_err(|_| RemoteError::Url)?;
        let pool =
            Pool::start(client, settings).map_err(|error| RemoteError::Thread(Arc::new(error)))?;
        Ok(Self { owner: Arc::new(Owner { pool }) })
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.owner.pool
    }
}
