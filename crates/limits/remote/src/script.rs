//! The scripts that run in the store, and their calls.
//!
//! Scripts are used instead of functions of a library in the store, because every store supports scripts, even a store
//! that forbids functions. If a store does not have a script, the call is repeated with the script's source.

use redis::{Cmd, Script, cmd};
use std::sync::LazyLock;

#[derive(Debug)]
pub(crate) struct Source {
    script: Script,
    text: &'static str,
}

impl Source {
    fn new(text: &'static str) -> Self {
        Self { script: Script::new(text), text }
    }
}

pub(crate) static DECIDE: LazyLock<Source> =
    LazyLock::new(|| Source::new(include_str!("script/decide.lua")));
pub(crate) static REPLACE: LazyLock<Source> =
    LazyLock::new(|| Source::new(include_str!("script/replace.lua")));
pub(crate) static ROLL_CALL: LazyLock<Source> =
    LazyLock::new(|| Source::new(include_str!("script/roll_call.lua")));
pub(crate) static CONFIGURE: LazyLock<Source> =
    LazyLock::new(|| Source::new(include_str!("script/configure.lua")));

/// A call of a script with one key, so that a client of a cluster can find the node.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) source: &'static Source,
    pub(crate) key: String,
    pub(crate) arguments: Vec<String>,
}

impl Call {
    pub(crate) fn by_digest(&self) -> Cmd {
        self.with("EVALSHA", self.source.script.get_hash())
    }

    /// Returns the call with the source of the script, which also stores the script.
    pub(crate) fn by_text(&self) -> Cmd {
        self.with("EVAL", self.source.text)
    }

    fn with(&self, command: &str, script: &str) -> Cmd {
        let mut command = cmd(command);
        command.arg(script).arg(1).arg(&self.key).arg(&self.arguments);
        command
    }
}
