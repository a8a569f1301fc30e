//! The configuration in a store, which many processes read and change.

use crate::error::{RemoteError, StoreError};
use crate::remote::Remote;
use crate::script::{CONFIGURE, Call};
use nanopace_keyed::{
    Change, ConfigError, ConfigSnapshot, ConfigStore, Limits, MemoryConfig, Scope,
};
use redis::{FromRedisValue, cmd, from_redis_value_ref};
use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

const VERSION: &str = "v";

/// A configuration in a store. Any number of processes can follow and change the configuration. Both
/// [`RemoteKeyed`](crate::RemoteKeyed) and [`Keyed`](nanopace_keyed::Keyed) accept a `RemoteConfig`.
///
/// ```no_run
/// use nanopace_keyed::{ConfigStore, Scope};
/// use nanopace_remote::{Remote, RemoteConfig};
/// use std::time::Duration;
///
/// let store = Remote::connect("redis://127.0.0.1/")?;
/// let config = RemoteConfig::follow(&store, "limits", Duration::from_millis(500))?;
/// config.set(Scope::Prefix(""), "10/s".parse()?)?;
/// config.set(Scope::Key("alice"), "100/s burst 200".parse()?)?;
///
/// let users = store.config(config).build()?;
/// assert!(users.try_acquire_costs("alice", 200).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The whole configuration is in memory as well, and is read from there. A thread asks the store for the version after
/// every interval. If the version has changed, the thread reads the configuration, and makes the changes in one step
/// ([`ConfigStore::apply`] describes how decisions see the changes).
///
/// # Guarantees
///
/// * **Delay**: in each process that follows the configuration, a change is in force after at most one interval plus
///   the time to read the configuration. The process that makes the change uses it at once.
/// * **Whole changes**: all changes of one [`apply`](ConfigStore::apply) are made in one step, and the changes of
///   different processes are made one after the other. If the store does not respond in time, `apply` returns an error,
///   but the store may make the changes nevertheless. All processes then use them.
/// * **Store lost**: the last configuration stays in force, even if the store comes back empty, and
///   [`trouble`](RemoteConfig::trouble) returns the reason. The next change applies to the store's content.
///
/// # In the store
///
/// The configuration is one hash with the fields `k` + key and `p` + prefix, which contain limits as strings. If you
/// change the hash by hand, change the field `v` too: `HINCRBY limits v 1`.
#[derive(Debug)]
pub struct RemoteConfig {
    followed: Arc<Followed>,
    /// The thread ends when this sender is dropped.
    _stop: Sender<()>,
}

#[derive(Debug)]
struct Followed {
    store: Remote,
    name: String,
    config: MemoryConfig,
    /// The result of the last read. It is locked from a read of the store until the content that was read is in force.
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    version: Option<u64>,
    trouble: Option<Arc<RemoteError>>,
}

impl RemoteConfig {
    /// Reads the configuration with this name, and starts a thread that checks for changes after every `interval` until
    /// the returned value is dropped. If the store has no configuration with this name, the configuration is empty.
    ///
    /// # Errors
    /// Returns [`RemoteError::Store`] if the configuration cannot be read, [`RemoteError::Config`] if an entry is not a
    /// limit, and [`RemoteError::Thread`] if the thread cannot be started.
    pub fn follow(
        store: &Remote,
        name: impl Into<String>,
        interval: Duration,
    ) -> Result<Self, RemoteError> {
        let (config, seen) = (MemoryConfig::new(), Mutex::default());
        let followed = Arc::new(Followed { store: store.clone(), name: name.into(), config, seen });
        followed.look(&mut followed.lock())?;
        let (stop, stopped) = mpsc::channel();
        let shared = Arc::clone(&followed);
        thread::Builder::new()
            .name("nanopace-config".to_owned())
            .spawn(move || shared.go_on(&stopped, interval))
            .map_err(|error| RemoteError::Thread(Arc::new(error)))?;
        Ok(Self { followed, _stop: stop })
    }

    /// Checks the store now. Then returns the [`trouble`](RemoteConfig::trouble) as an error, if there is any.
    ///
    /// # Errors
    /// Returns [`RemoteError::Store`] if the configuration cannot be read, [`RemoteError::Config`] if an entry is not a
    /// limit, and [`RemoteError::Emptied`] if the store has lost the configuration. After an error, the last
    /// configuration stays in force.
    pub fn refresh(&self) -> Result<(), Arc<RemoteError>> {
        self.followed.refresh();
        self.trouble().map_or(Ok(()), Err)
    }

    /// Returns the error of the last check of the store, or `None` if that check succeeded.
    #[must_use]
    pub fn trouble(&self) -> Option<Arc<RemoteError>> {
        self.followed.lock().trouble.clone()
    }
}

impl ConfigStore for RemoteConfig {
    fn limits_of(&self, key: &str) -> Option<Arc<Limits>> {
        self.followed.config.limits_of(key)
    }

    fn version_of(&self, key: &str) -> u64 {
        self.followed.config.version_of(key)
    }

    fn snapshot(&self) -> ConfigSnapshot {
        self.followed.config.snapshot()
    }

    fn apply(&self, changes: &[Change<'_>]) -> Result<usize, ConfigError> {
        self.followed.apply(changes).map_err(|error| ConfigError::Other(Box::new(error)))
    }
}

impl Followed {
    fn go_on(&self, stopped: &Receiver<()>, interval: Duration) {
        while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
            self.refresh();
        }
    }

    fn refresh(&self) {
        let mut seen = self.lock();
        let looked = self.look(&mut seen);
        seen.trouble = looked.err().map(Arc::new);
    }

    fn look(&self, seen: &mut Seen) -> Result<(), RemoteError> {
        let version = self.ask::<Option<u64>>(cmd("HGET").arg(&self.name).arg(VERSION))?;
        if version == seen.version {
            return Ok(());
        }
        if version.is_none() {
            return Err(RemoteError::Emptied);
        }
        let fields = self.ask::<HashMap<String, String>>(cmd("HGETALL").arg(&self.name))?;
        // The version of these limits may be newer than the version that was read before.
        let version = fields.get(VERSION).and_then(|version| version.parse().ok());
        let after = read(&fields)?;
        let before = self.config.snapshot();
        self.config.apply(&after.changes_from(&before)).ok();
        seen.version = version;
        Ok(())
    }

    fn apply(&self, changes: &[Change<'_>]) -> Result<usize, RemoteError> {
        for limits in changes.iter().filter_map(|change| change.limits.as_ref()) {
            limits.to_string().parse::<Limits>()?; // other processes could not read the configuration
        }
        let mut seen = self.lock();
        let arguments = changes.iter().flat_map(words).collect();
        let call = Call { source: &CONFIGURE, key: self.name.clone(), arguments };
        let found = self.store.pool().patient_call(&call)?;
        // The change is in the store. If this check fails, a later check by the thread finds the change.
        let looked = self.look(&mut seen);
        seen.trouble = looked.err().map(Arc::new);
        Ok(from_redis_value_ref(&found).unwrap_or(0))
    }

    fn ask<T: FromRedisValue>(&self, command: &redis::Cmd) -> Result<T, RemoteError> {
        let answer = self.store.pool().command(command)?;
        Ok(from_redis_value_ref(&answer).map_err(|_| StoreError::Foreign)?)
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn words(change: &Change<'_>) -> [String; 3] {
    let field = match change.scope {
        Scope::Key(key) => format!("k{key}"),
        Scope::Prefix(prefix) => format!("p{prefix}"),
    };
    let what = if change.limits.is_some() { "set" } else { "unset" };
    let limits = change.limits.as_ref().map(ToString::to_string);
    [field, what.to_owned(), limits.unwrap_or_default()]
}

fn read(fields: &HashMap<String, String>) -> Result<ConfigSnapshot, RemoteError> {
    let config = MemoryConfig::new();
    let limits = fields.iter().filter_map(|(field, text)| Some((scope(field)?, field, text)));
    let changes = limits.map(|(scope, field, text)| match text.parse() {
        Ok(limits) => Ok(Change::set(scope, limits)),
        Err(source) => Err(RemoteError::Config { field: field.clone(), source }),
    });
    config.apply(&changes.collect::<Result<Vec<_>, _>>()?).ok();
    Ok(config.snapshot())
}

fn scope(field: &str) -> Option<Scope<'_>> {
    let key = field.strip_prefix('k').map(Scope::Key);
    key.or_else(|| field.strip_prefix('p').map(Scope::Prefix))
}
