//! All errors of this crate. No error contains an address or a password.

use nanopace_keyed::{KeyRejected, Limit, LimitsError, Rejected};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// The error for a store, a limiter or a configuration that could not be used.
///
/// ```
/// use nanopace_remote::Remote;
///
/// let error = Remote::lazy("http://:secret@127.0.0.1/").unwrap_err();
/// assert!(error.to_string().contains("write redis://"));
/// assert!(!format!("{error:?} {error}").contains("secret"));
/// ```
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The address is not a valid address of a store.
    #[error(
        "that is not the address of a store: write redis://host/, redis://user:password@host:6379/0, or unix:///path; rediss://host/ with the feature `tls` of nanopace-remote"
    )]
    Url,
    /// The store could not be reached, or has returned an error.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The limits are not valid.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// A limit that the store does not support.
    #[error(transparent)]
    Unsupported(#[from] UnsupportedLimit),
    /// The prefix contains a brace. With a brace, two subjects could share a name in the store, or all names could be
    /// in one hash slot of a cluster.
    #[error(
        "the prefix {prefix:?} contains a brace: write it without `{{` and `}}`, as in \"users\""
    )]
    Prefix {
        /// The argument of [`prefix`](crate::RemoteBuilder::prefix).
        prefix: String,
    },
    /// The number of processes in [`OnLoss::LocalShare`](crate::OnLoss::LocalShare) is zero.
    #[error("a local share needs the number of processes: write 1 or more")]
    Share,
    /// The lease time `ahead` is outside of 1 ms to 10 s.
    #[error("tokens can be taken 1 ms to 10 s ahead, not {ahead:?}")]
    Ahead {
        /// The argument of [`leased`](crate::RemoteBuilder::leased).
        ahead: Duration,
    },
    /// A background thread could not be started.
    #[error("a background thread could not be started: {0}")]
    Thread(Arc<io::Error>),
    /// The store no longer has the configuration. The configuration that was read last stays in force.
    #[error("the store has lost the configuration: set the limits again")]
    Emptied,
    /// An entry of the store's configuration is not a limit. The configuration that was read last stays in force.
    #[error("the field `{field}` of the configuration in the store is not a limit: {source}")]
    Config {
        /// The name of the field: `k` followed by the key, or `p` followed by the prefix.
        field: String,
        /// The reason why the entry is not valid.
        source: LimitsError,
    },
}

/// The error for limits that a store does not support. Each variant is one reason.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnsupportedLimit {
    /// A limit that stores each request, or counts in many slots.
    #[error(
        "`{limit}` keeps a log or many counters, which a store does not support: write `{quota} sliding-counter` or `{quota} fixed-window`, or a rate, `{quota}`",
        quota = limit.quota()
    )]
    Log {
        /// The unsupported limit.
        limit: Limit,
    },
    /// Limits that have no valid string, because there are more than 64. The store keeps limits as a string.
    #[error(transparent)]
    Text(#[from] LimitsError),
    /// A window of less than a microsecond.
    #[error(
        "`{limit}` has windows of less than a microsecond, which a store's clock cannot tell apart: write a rate, `{quota}`",
        quota = limit.quota()
    )]
    Period {
        /// The unsupported limit.
        limit: Limit,
    },
}

/// The reason why the store has not decided.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store was not called, because it has failed twice in a row. A background thread or task keeps trying to
    /// connect. [`trouble`](crate::RemoteKeyed::trouble) returns the reason.
    #[error("the store has failed and is not called until a connection attempt succeeds")]
    Broken,
    /// The store has not responded in time. It may have counted the request.
    #[error("the store has not responded in time")]
    Timeout,
    /// The connection could not be made, or was lost. The store may have counted the request.
    #[error("no connection to the store ({0})")]
    Connection(io::ErrorKind),
    /// The store's memory is full, so admitted requests cannot be counted. Rejections need no memory, and still work,
    /// unless the limits have changed since the last counted request.
    #[error("the store's memory is full (OOM), so it cannot count admitted requests")]
    Full,
    /// The store has responded with an error, such as `READONLY`, `LOADING`, `WRONGPASS`, `NOAUTH` or `MOVED`.
    #[error("the store has returned an error ({0})")]
    Refused(String),
    /// The store has no database with the number at the end of the address. A cluster has only database 0.
    #[error(
        "the store has no database with the number at the end of the address: write another number, or none"
    )]
    Database,
    /// The ACL of the address's user, or of the default user, does not permit the command.
    #[error(
        "the store's ACL denies this command to the user: a limiter needs PING, EVAL, EVALSHA, TIME, GET and SET, on keys that begin with its prefix; the README of nanopace-remote lists the commands for leases and configurations"
    )]
    Permission,
    /// The value under the key is not a state of this crate. The request fails with this error whatever
    /// [`OnLoss`](crate::OnLoss) is set to.
    #[error(
        "the value under that key in the store was not written by a limiter: choose another prefix"
    )]
    Foreign,
    /// Other processes kept changing the limits of the key's state. The request fails with this error whatever
    /// [`OnLoss`](crate::OnLoss) is set to. After a timeout, the request may have been counted.
    #[error("other processes keep changing the limits of that key")]
    Contended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Concerns {
    /// The store is lost. The breaker counts the error, the connection ends, and [`OnLoss`](crate::OnLoss) decides.
    Store,
    /// The store's memory is full. [`OnLoss`](crate::OnLoss) decides, and the next decision calls the store again.
    Counting,
    /// Only one key is affected. Its request is rejected whatever [`OnLoss`](crate::OnLoss) is set to.
    Key,
}

impl StoreError {
    pub(crate) fn concerns(&self) -> Concerns {
        match self {
            Self::Broken
            | Self::Timeout
            | Self::Connection(_)
            | Self::Refused(_)
            | Self::Database
            | Self::Permission => Concerns::Store,
            Self::Full => Concerns::Counting,
            Self::Foreign | Self::Contended => Concerns::Key,
        }
    }

    pub(crate) fn trouble(&self) -> Option<Self> {
        (self.concerns() != Concerns::Key).then(|| self.clone())
    }
}

/// The reason why a request was rejected. The request was not counted, unless the store counted it and the store's
/// response did not arrive.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RemoteRejected {
    /// The limits of the key reject the request, the key has no limits, the number of costs is wrong, or
    /// [`OnLoss::LocalShare`](crate::OnLoss::LocalShare) has no room for a new key.
    #[error(transparent)]
    Key(#[from] KeyRejected),
    /// The store has not decided, and [`OnLoss`](crate::OnLoss) denies requests or does not apply to this error.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The key has a limit that a store does not support.
    #[error(transparent)]
    Unsupported(#[from] UnsupportedLimit),
}

impl From<Rejected> for RemoteRejected {
    fn from(rejected: Rejected) -> Self {
        Self::Key(rejected.into())
    }
}

impl From<redis::RedisError> for StoreError {
    /// Converts an error of the client. Keeps only the code of a server's error, because its text may contain data that
    /// was sent.
    fn from(error: redis::RedisError) -> Self {
        match (error.kind(), error.code()) {
            _ if error.is_timeout() => Self::Timeout,
            (redis::ErrorKind::Io, _) => Self::Connection(io_kind(&error)),
            (redis::ErrorKind::AuthenticationFailed, _) => Self::Refused("WRONGPASS".to_owned()),
            (_, Some(code)) => by_code(code, error.detail().unwrap_or_default()),
            (kind, None) => Self::Refused(format!("{kind:?}")),
        }
    }
}

/// Converts an error of the server. `SELECT`, the ACL in a script, and a script that fails by itself use the code ERR.
/// Before Redis 7, a script whose command fails also uses this code; the message then contains the code of that
/// command.
fn by_code(code: &str, text: &str) -> StoreError {
    let code = inner_code(text).filter(|_| code == "ERR").unwrap_or(code);
    let says = |words: &[&str]| words.iter().any(|words| text.contains(words));
    match code {
        "NOPERM" => StoreError::Permission,
        "ERR" if says(NO_PERMISSION) => StoreError::Permission,
        "ERR" if says(&["DB index", "SELECT is not allowed"]) => StoreError::Database,
        // The script fails on the value of this key, but on no other key.
        "ERR" if says(&["user_script"]) => StoreError::Foreign,
        "WRONGTYPE" => StoreError::Foreign,
        "OOM" => StoreError::Full,
        code => StoreError::Refused(code.to_owned()),
    }
}

fn inner_code(text: &str) -> Option<&str> {
    let (_, said) = text.split_once("@user_script: ")?.1.split_once(": -")?;
    said.split(' ').next()
}

/// Phrases in the permission errors of Redis 7.0, later versions and Valkey, in scripts and outside of them.
const NO_PERMISSION: &[&str] =
    &["The user executing the script can't", "ACL failure in script", "no permissions"];

/// Returns the kind of the I/O error that caused `error`. `redis` stores the I/O error in an `Arc`.
fn io_kind(error: &redis::RedisError) -> io::ErrorKind {
    let source =
        std::error::Error::source(error).and_then(|source| source.downcast_ref::<Shared>());
    let source = source.and_then(|source| source.downcast_ref::<io::Error>());
    source.map_or(io::ErrorKind::NotConnected, io::Error::kind)
}

type Shared = Arc<dyn std::error::Error + Send + Sync>;

#[cfg(test)]
mod tests {
    use super::*;
    use redis::{Value, parse_redis_value};

    #[test]
    fn the_cause_of_a_lost_connection_is_kept() {
        for kind in [io::ErrorKind::ConnectionRefused, io::ErrorKind::BrokenPipe] {
            let error = redis::RedisError::from(io::Error::from(kind));
            assert_eq!(StoreError::from(error), StoreError::Connection(kind));
        }
    }

    #[test]
    fn a_servers_words_are_understood() {
        let refused = |code: &str| StoreError::Refused(code.to_owned());
        for (said, expected) in [
            ("ERR max number of clients reached", refused("ERR")),
            ("ERR unknown command 'EVALSHA', with args beginning with: ", refused("ERR")),
            ("OOM command not allowed when used memory > 'maxmemory'.", StoreError::Full),
            (
                "OOM command not allowed when used memory > 'maxmemory'. script: 1, on @user_script:1.",
                StoreError::Full,
            ),
            (
                "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.",
                StoreError::Full,
            ),
            (
                "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.",
                refused("READONLY"),
            ),
            (
                "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -WRONGTYPE Operation against a key",
                StoreError::Foreign,
            ),
            ("MISCONF Redis is configured to save RDB snapshots", refused("MISCONF")),
            ("ERR DB index is out of range", StoreError::Database),
            ("ERR SELECT is not allowed in cluster mode", StoreError::Database),
            (
                "NOPERM this user has no permissions to run the 'eval' command",
                StoreError::Permission,
            ),
            (
                "ERR The user executing the script can't run this command or subcommand script: 1, on @user_script:1.",
                StoreError::Permission,
            ),
            (
                "ERR ACL failure in script: No permissions to access a key script: 1, on @user_script:1.",
                StoreError::Permission,
            ),
            ("ERR user_script:1: no state script: 1, on @user_script:1.", StoreError::Foreign),
            (
                "ERR Error running script (call to f_1): @user_script:1: user_script:1: no state",
                StoreError::Foreign,
            ),
            ("WRONGTYPE Operation against a key", StoreError::Foreign),
        ] {
            let Ok(Value::ServerError(error)) =
                parse_redis_value(format!("-{said}\r\n").as_bytes())
            else {
                panic!("{said}");
            };
            assert_eq!(StoreError::from(redis::RedisError::from(error)), expected, "{said}");
        }
    }
}
