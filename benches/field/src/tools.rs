//! Lists the load generators: the command of each, and where the start times of its operations are recorded.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

pub struct Tool {
    pub name: &'static str,
    program: &'static str,
    /// Whether the tool is an HTTP client. If it is, the witness records its requests. If not, its load records the
    /// starts.
    pub is_seen: bool,
    arguments: fn(&Run) -> Vec<String>,
}

pub struct Run<'r> {
    pub rate: u32,
    pub seconds: u32,
    pub witness: SocketAddr,
    pub stamps: &'r Path,
}

const CONNECTIONS: &str = "32";

pub const TOOLS: [Tool; 9] = [
    Tool {
        name: "oha",
        program: "oha",
        is_seen: true,
        arguments: |run| {
            let (rate, seconds) = (run.rate.to_string(), format!("{}s", run.seconds));
            let url = format!("http://{}/", run.witness);
            words(&["--no-tui", "-c", CONNECTIONS, "-q", &rate, "-z", &seconds, &url])
        },
    },
    Tool {
        name: "goose",
        program: "load-goose",
        is_seen: true,
        arguments: |run| {
            let (rate, seconds) = (run.rate.to_string(), run.seconds.to_string());
            let host = format!("http://{}/", run.witness);
            let mut arguments = words(&["--host", &host, "--users", CONNECTIONS]);
            arguments.extend(words(&["--increase-rate", "1000", "--run-time", &seconds]));
            arguments.extend(words(&["--throttle-requests", &rate, "--quiet", "--quiet"]));
            arguments
        },
    },
    Tool {
        name: "rlt",
        program: "load-rlt",
        is_seen: false,
        arguments: |run| {
            let (rate, seconds) = (run.rate.to_string(), format!("{}s", run.seconds));
            words(&["-c", "8", "-r", &rate, "-d", &seconds, "-q", "--collector", "silent"])
        },
    },
    Tool { name: "balter", program: "load-balter", is_seen: false, arguments: rate_and_seconds },
    Tool {
        name: "latte-cli",
        program: "load-latte-cli",
        is_seen: false,
        arguments: rate_and_seconds,
    },
    Tool { name: "latte", program: "load-latte", is_seen: false, arguments: rate_and_seconds },
    Tool {
        name: "cql-stress",
        program: "load-cql-stress",
        is_seen: false,
        arguments: rate_and_seconds,
    },
    Tool { name: "nb-rs", program: "load-nb-rs", is_seen: false, arguments: rate_and_seconds },
    Tool {
        name: "wrk2",
        program: "wrk2",
        is_seen: true,
        arguments: |run| {
            let (rate, seconds) = (run.rate.to_string(), format!("{}s", run.seconds));
            let url = format!("http://{}/", run.witness);
            words(&["-t", "2", "-c", CONNECTIONS, "-R", &rate, "-d", &seconds, "-L", &url])
        },
    },
];

fn rate_and_seconds(run: &Run) -> Vec<String> {
    vec![run.rate.to_string(), run.seconds.to_string()]
}

impl Tool {
    pub fn is_built(&self, folder: &Path) -> bool {
        ["before", "after"]
            .iter()
            .all(|state| folder.join("bin").join(state).join(self.program).exists())
    }

    pub fn command(&self, programs: &Path, run: &Run) -> Command {
        let mut command = Command::new(programs.join(self.program));
        command.args((self.arguments)(run)).env("FIELD_STAMPS", run.stamps);
        command
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}
