//! A store, by its address.

use crate::error::RemoteError;
use crate::settings::Settings;
use crate::store::Pool;
use redis::Client;
use std::sync::Arc;

/// A store, Redis or Valkey, and the connections to it. Clones share them.
///
/// ```no_run
/// use nanopace_remote::Remote;
///
/// let store = Remote::connect("redis://127.0.0.1/")?;
/// let users = store.limits("10/s burst 20, 5000/day").build()?;
/// assert!(users.try_acquire("alice").is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Address
///
/// `redis://[[user]:password@]host[:port][/database]`, `unix:///path`, or with the feature `tls`
/// `rediss://...`. It is never printed: neither `Debug` nor any error has it or its password.
///
/// # Connections
///
/// A thread makes them, and makes them again when they are lost. No decision waits for one longer
/// than [`Settings::timeout`].
#[derive(Clone, Debug)]
pub struct Remote {
    owner: Arc<Owner>,
}

/// Ends the thread when no limiter is left.
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
    /// Connects to the store.
    ///
    /// # Errors
    /// [`RemoteError::Url`] for an address that is none, [`RemoteError::Store`] if the store
    /// can't be reached within two seconds, or refuses, and [`RemoteError::Thread`].
    ///
    /// ```
    /// use nanopace_remote::{Remote, RemoteError};
    ///
    /// assert!(matches!(Remote::connect("127.0.0.1"), Err(RemoteError::Url)));
    /// ```
    pub fn connect(url: &str) -> Result<Self, RemoteError> {
        let store = Self::lazy(url)?;
        store.owner.pool.wait_for_connection()?;
        Ok(store)
    }

    /// The same without waiting for the store: as long as it is not there, it is lost, and
    /// [`RemoteKeyed::trouble`](crate::RemoteKeyed::trouble) says why.
    ///
    /// # Errors
    /// [`RemoteError::Url`], [`RemoteError::Thread`].
    pub fn lazy(url: &str) -> Result<Self, RemoteError> {
        Self::lazy_with(url, Settings::default())
    }

    /// The same with other settings.
    ///
    /// # Errors
    /// As for [`lazy`](Remote::lazy).
    ///
    /// ```
    /// use nanopace_remote::{Remote, Settings};
    ///
    /// assert!(Remote::lazy_with("redis://127.0.0.1:1/", Settings::default()).is_ok());
    /// ```
    pub fn lazy_with(url: &str, settings: Settings) -> Result<Self, RemoteError> {
        // The error may have parts of the address.
        let client = Client::open(url).map_err(|_| RemoteError::Url)?;
        let pool =
            Pool::start(client, settings).map_err(|error| RemoteError::Thread(Arc::new(error)))?;
        Ok(Self { owner: Arc::new(Owner { pool }) })
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.owner.pool
    }
}
