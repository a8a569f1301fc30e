//! The programs that are started.

use std::env;
use std::fmt;
use std::io::{self, Write};
use std::sync::OnceLock;

/// A store server's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// `redis-server`.
    Redis,
    /// `valkey-server`.
    Valkey,
}

impl Engine {
    /// All that are known.
    pub const ALL: [Self; 2] = [Self::Redis, Self::Valkey];

    /// Those whose program is on `PATH`. For each of the others, a line on standard error says how
    /// to install it, once in a process; a test's output shows it although the test passes.
    #[must_use]
    pub fn installed() -> Vec<Self> {
        static INSTALLED: OnceLock<Vec<Engine>> = OnceLock::new();
        INSTALLED.get_or_init(look).clone()
    }

    /// Whether its program is on `PATH`.
    #[must_use]
    pub fn is_installed(self) -> bool {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path).any(|folder| folder.join(self.program()).is_file())
    }

    /// The name of the program. Debian's package has the same name.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Self::Redis => "redis-server",
            Self::Valkey => "valkey-server",
        }
    }

    /// How to install it, in a line.
    #[must_use]
    pub fn how_to_install(self) -> &'static str {
        match self {
            Self::Redis => "on Debian: apt-get install redis-server",
            Self::Valkey => {
                "on Debian: apt-get install valkey-server (Debian 12: from bookworm-backports)"
            }
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redis => "Redis",
            Self::Valkey => "Valkey",
        })
    }
}

fn look() -> Vec<Engine> {
    let (installed, missing): (Vec<_>, Vec<_>) =
        Engine::ALL.into_iter().partition(|engine| engine.is_installed());
    for engine in missing {
        let (program, how) = (engine.program(), engine.how_to_install());
        // Not by a macro: what macros print is hidden as long as the test passes.
        let line = format!("NOT TESTED with {engine}: {program} is not on PATH ({how})\n");
        io::stderr().write_all(line.as_bytes()).ok();
    }
    installed
}
