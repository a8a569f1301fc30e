//! Lists the store programs, with instructions for installing them.

use std::env;
use std::fmt;

/// A kind of store server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// `redis-server`.
    Redis,
    /// `valkey-server`.
    Valkey,
}

impl Product {
    /// All products.
    pub const ALL: [Self; 2] = [Self::Redis, Self::Valkey];

    /// Returns whether the program is on `PATH`.
    #[must_use]
    pub fn is_installed(self) -> bool {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path).any(|folder| folder.join(self.program()).is_file())
    }

    /// Returns the name of the program. Debian's package has the same name.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Self::Redis => "redis-server",
            Self::Valkey => "valkey-server",
        }
    }

    /// Returns one line of instructions for installing the program.
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

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redis => "Redis",
            Self::Valkey => "Valkey",
        })
    }
}
