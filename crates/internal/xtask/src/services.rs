//! Provides the servers and tools that tests use.
//!
//! Programs on `PATH` are used. Missing programs are fetched as Debian packages and unpacked below `target`, without
//! root permissions and without starting a system service.

mod debian;

use crate::package;
use std::env::{self, consts::ARCH};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    name: &'static str,
    package: &'static str,
    probe: &'static [&'static str],
}

pub(crate) const OF_TESTS: [Need; 12] = [
    program("redis-server", "redis-server", &["redis-server", "--version"]),
    program("valkey-server", "valkey-server", &["valkey-server", "--version"]),
    program("nginx", "nginx-light", &["nginx", "-v"]),
    program("promtool", "prometheus", &["promtool", "--version"]),
    program("curl", "curl", &["curl", "--version"]),
    program("a C compiler", "gcc", &["cc", "--version"]),
    program("a C++ compiler", "g++", &["c++", "--version"]),
    program("make", "make", &["make", "--version"]),
    program("cmake", "cmake", &["cmake", "--version"]),
    VALGRIND,
    Need {
        name: "prometheus_client for python3",
        package: "python3-prometheus-client",
        probe: &["python3", "-c", "import prometheus_client.openmetrics.parser"],
    },
    Need {
        name: "libfaketime",
        package: "faketime",
        probe: &[
            "sh",
            "-c",
            "LD_PRELOAD=libfaketimeMT.so.1 FAKETIME='@2001-06-01 00:00:00' date +%Y | grep -q 2001",
        ],
    },
];

pub(crate) const OF_EXAMPLES: [Need; 5] = [
    program("redis-server", "redis-server", &["redis-server", "--version"]),
    program("postgres", "postgresql", &["postgres", "--version"]),
    program("nats-server", "nats-server", &["nats-server", "--version"]),
    program("caddy", "caddy", &["caddy", "version"]),
    Need {
        name: "websockets for python3",
        package: "python3-websockets",
        probe: &["python3", "-c", "import websockets"],
    },
];

pub(crate) const OF_COUNTS: [Need; 1] = [VALGRIND];

const VALGRIND: Need = program("valgrind", "valgrind", &["valgrind", "--version"]);

const fn program(
    name: &'static str,
    package: &'static str,
    probe: &'static [&'static str],
) -> Need {
    Need { name, package, probe }
}

pub(crate) type Variables = Vec<(&'static str, OsString)>;

pub(crate) fn provide(needs: &[Need], way_out: &str) -> bool {
    let missing = missing(needs);
    if missing.is_empty() {
        return true;
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    eprintln!("fetching packages into {}: {}", folder().display(), packages.join(" "));
    let problem = debian::unpack(&packages, &folder()).err();
    let missing = self::missing(needs);
    if !missing.is_empty() {
        eprintln!("{}", advice(&missing, problem.as_deref(), way_out));
    }
    missing.is_empty()
}

fn missing(needs: &[Need]) -> Vec<Need> {
    needs.iter().copied().filter(|need| !need.is_there()).collect()
}

fn advice(missing: &[Need], problem: Option<&str>, way_out: &str) -> String {
    let [names, packages] = [|need: &Need| need.name, |need: &Need| need.package]
        .map(|part| missing.iter().map(part).collect::<Vec<_>>());
    let problem = problem.map(|problem| format!(" ({problem})")).unwrap_or_default();
    format!(
        "missing: {}{problem}; install the missing programs (on Debian: apt-get install {}){way_out}",
        names.join(", "),
        packages.join(" "),
    )
}

impl Need {
    fn is_there(&self) -> bool {
        let mut command = Command::new(self.probe[0]);
        command.args(&self.probe[1..]).envs(variables());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

fn folder() -> PathBuf {
    package::target(Path::new(package::ROOT)).join("services")
}

/// Lets a process find the unpacked programs. Programs of the system take precedence.
pub(crate) fn variables() -> Variables {
    let root = folder();
    let programs = ["usr/bin", "usr/sbin"].map(|it| root.join(it));
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let postgres = [Path::new("/"), &root].into_iter().flat_map(postgres);
    let libraries = format!("usr/lib/{ARCH}-linux-gnu");
    let faketime = Path::new("/").join(&libraries).join("faketime");
    let mut variables = vec![
        ("PATH", with("PATH", system.into_iter().chain(programs).chain(postgres))),
        (
            "LD_LIBRARY_PATH",
            with(
                "LD_LIBRARY_PATH",
                [root.join(&libraries), faketime, root.join(&libraries).join("faketime")],
            ),
        ),
        ("PYTHONPATH", with("PYTHONPATH", [root.join("usr/lib/python3/dist-packages")])),
    ];
    let valgrind = root.join("usr/libexec/valgrind");
    if valgrind.is_dir() {
        variables.push(("VALGRIND_LIB", valgrind.into()));
    }
    variables
}

fn postgres(root: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let versions = fs::read_dir(root.join("usr/lib/postgresql")).into_iter().flatten().flatten();
    versions.map(|version| version.path().join("bin"))
}

fn with(name: &str, folders: impl IntoIterator<Item = PathBuf>) -> OsString {
    let named = env::var_os(name).unwrap_or_default();
    let named = env::split_paths(&named).filter(|folder| folder.as_os_str() != OsStr::new(""));
    env::join_paths(named.chain(folders)).unwrap_or_default()
}

pub(crate) fn shell() -> String {
    let lines = variables().into_iter().map(|(name, value)| {
        format!("export {name}='{}'\n", value.to_string_lossy().replace('\'', r"'\''"))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_what_to_do() {
        let need = program("nonesuch", "none-such-package", &["nanopace-nonesuch"]);
        assert!(!need.is_there());
        assert!(program("sh", "dash", &["sh", "-c", "exit 0"]).is_there());
        let advice = advice(&[need], Some("apt-get: offline"), ", or leave it");
        for part in
            ["nonesuch", "apt-get: offline", "apt-get install none-such-package", ", or leave it"]
        {
            assert!(advice.contains(part), "{advice}");
        }
        assert_eq!(advice.lines().count(), 1);
    }

    #[test]
    fn what_the_system_has_comes_first() {
        let variables = variables();
        let (_, path) = variables.iter().find(|(name, _)| *name == "PATH").unwrap();
        let system = env::var_os("PATH").unwrap();
        assert!(path.as_encoded_bytes().starts_with(system.as_encoded_bytes()));
        assert!(env::split_paths(path).any(|folder| folder.ends_with("services/usr/bin")));
    }
}
