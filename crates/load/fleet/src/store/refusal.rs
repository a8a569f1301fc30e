//! Converts the error of a server that rejects a request into an error with advice.

use crate::error::FleetError;

/// Returns an error with advice. Returns `None` if the user cannot fix the cause.
pub(super) fn refused(code: &str, text: &str) -> Option<FleetError> {
    match code {
        "WRONGTYPE" => Some(FleetError::Damaged),
        "NOAUTH" | "WRONGPASS" => Some(FleetError::Password),
        "NOPERM" => Some(FleetError::Permission),
        "READONLY" => Some(FleetError::Replica),
        "OOM" => Some(FleetError::Full),
        "MOVED" => Some(FleetError::Cluster(text.rsplit(' ').next().unwrap_or(text).to_owned())),
        // Redis and Valkey use these words in the error of a command that a script may not execute.
        "ERR" if MAY_NOT.iter().any(|words| text.contains(words)) => Some(FleetError::Permission),
        _ => None,
    }
}

const MAY_NOT: [&str; 3] =
    ["can't run this command", "can't access at least one of the keys", "ACL failure in script"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_of_a_cluster_that_has_the_run_is_named() {
        let error = refused("MOVED", "12182 10.0.0.7:7002").unwrap();
        assert!(error.to_string().contains("10.0.0.7:7002"), "{error}");
    }

    #[test]
    fn an_error_that_users_cannot_fix_is_not_explained() {
        assert!(refused("ERR", "something else").is_none());
        assert!(refused("LOADING", "Redis is loading the dataset in memory").is_none());
    }
}
