//! Defines the number of connections of a run: a fixed number, or a range in which the pool grows.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The largest accepted value of `--connections`. Larger values are likely to be a mistake.
pub(crate) const MOST_CONNECTIONS: u32 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolSize {
    pub(crate) first: u32,
    pub(crate) most: u32,
}

impl PoolSize {
    pub(crate) const fn fixed(connections: u32) -> PoolSize {
        PoolSize { first: connections, most: connections }
    }

    pub(crate) fn grows(self) -> bool {
        self.first < self.most
    }
}

pub(crate) fn connections(text: &str) -> Result<u32, String> {
    let number = text.trim().parse().ok().filter(|it| (1..=MOST_CONNECTIONS).contains(it));
    number.ok_or_else(|| format!("write a number from 1 to {MOST_CONNECTIONS}"))
}

impl FromStr for PoolSize {
    type Err = String;

    fn from_str(text: &str) -> Result<PoolSize, String> {
        let number = |text: &str| {
            connections(text).map_err(|told| format!("{told}, or a range such as 16..512"))
        };
        let Some((first, most)) = text.split_once("..") else {
            return number(text).map(PoolSize::fixed);
        };
        let size = PoolSize { first: number(first)?, most: number(most)? };
        let PoolSize { first, most } = size;
        match first {
            _ if size.grows() => Ok(size),
            _ if first == most => Err(format!("this pool cannot grow: write {most}")),
            _ => Err(format!("the smaller number comes first: write {most}..{first}")),
        }
    }
}

impl Display for PoolSize {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            PoolSize { first, most } if first < most => write!(f, "{first}..{most}"),
            PoolSize { most, .. } => write!(f, "{most}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_has_a_size_or_a_range_and_errors_say_what_to_write() {
        let read = |text: &str| text.parse::<PoolSize>();
        assert_eq!(read("16"), Ok(PoolSize::fixed(16)));
        assert_eq!(read("16..512"), Ok(PoolSize { first: 16, most: 512 }));
        for text in ["0..4", "1..1000001", "..4", "4..", "1..2..3", "-1", "x"] {
            assert!(read(text).unwrap_err().contains("from 1 to 1000000, or a range"), "{text}");
        }
        for (text, told) in [("512..16", "write 16..512"), ("16..16", "write 16")] {
            assert!(read(text).unwrap_err().ends_with(told), "{text}");
        }
        for text in ["7", "1..2"] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
    }
}
