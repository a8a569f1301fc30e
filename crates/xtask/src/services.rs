//! Installs the servers that tests of the store need.

use crate::steps::Step;
use nanopace_services::Engine;
use std::process::Command;

/// A step for each server. It succeeds if the server is there at the end.
pub(crate) fn install() -> Vec<Step> {
    Engine::ALL.map(|engine| Step::new(engine.program(), move || is_there(engine))).into()
}

fn is_there(engine: Engine) -> bool {
    let is_there = engine.is_installed() || (is_root() && installs(engine));
    if !is_there {
        eprintln!("{} is not installed; {}", engine.program(), engine.how_to_install());
    }
    is_there
}

/// Debian's package, where it has one, or the one for older releases.
fn installs(engine: Engine) -> bool {
    let apt_get = |options: &[&str]| succeeds("apt-get", &[options, &[engine.program()]].concat());
    apt_get(&["install", "--yes"])
        || apt_get(&["install", "--yes", "--target-release", "bookworm-backports"])
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    eprintln!("{program} {}", arguments.join(" "));
    let status = Command::new(program).args(arguments).status();
    status.is_ok_and(|status| status.success())
}
