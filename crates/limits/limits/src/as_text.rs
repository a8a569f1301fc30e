//! Limits as text, for serde.

use crate::{Limit, Limits, Quota};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

macro_rules! as_text {
    ($($type:ty),+) => {
        $(
            #[cfg_attr(docsrs, doc(cfg(feature = "serde")))]
            impl Serialize for $type {
                /// As [`Display`](std::fmt::Display) writes it.
                fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                    to.collect_str(self)
                }
            }

            #[cfg_attr(docsrs, doc(cfg(feature = "serde")))]
            impl<'de> Deserialize<'de> for $type {
                /// As [`FromStr`](std::str::FromStr) reads it.
                fn deserialize<D: Deserializer<'de>>(from: D) -> Result<$type, D::Error> {
                    String::deserialize(from)?.parse().map_err(D::Error::custom)
                }
            }
        )+
    };
}

as_text!(Limit, Limits, Quota);
