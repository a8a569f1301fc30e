//! The Python package: its wheel is built, installed in a fresh virtual environment, and tested there.

use crate::steps::Step;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// What the package needs: Python with what makes virtual environments.
const PROBE: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";

/// The tests of the package.
pub(crate) fn package(root: &'static str) -> Step {
    Step::new("Python package: its wheel in a fresh virtual environment", || test(Path::new(root)))
}

/// The same, or a step that says that they are left out.
pub(crate) fn package_if_possible(root: &'static str) -> Step {
    if succeeds(Command::new("python3").args(["-c", PROBE]).stderr(Stdio::null())) {
        package(root)
    } else {
        Step::new(
            "LEFT OUT: the Python package, which needs python3 from 3.10 on, with venv",
            || true,
        )
    }
}

/// Built without optimisation, in a folder of its own: beside the workspace's, features would change.
fn test(root: &Path) -> bool {
    let (package, target) = (root.join("crates/python"), root.join("target"));
    let environment = target.join("python-environment");
    let _ = fs::remove_dir_all(&environment); // there may be none
    let python = environment.join("bin/python");
    let pip = ["-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"];
    let unoptimised = ["--config-settings", "build-args=--profile dev", ".[test]"];
    succeeds(Command::new("python3").args(["-m", "venv"]).arg(&environment))
        && succeeds(
            Command::new(&python)
                .args(pip)
                .args(unoptimised)
                .env("CARGO_TARGET_DIR", target.join("python"))
                .current_dir(&package),
        )
        && succeeds(Command::new(&python).args(["-m", "pytest", "--quiet"]).current_dir(&package))
}

fn succeeds(command: &mut Command) -> bool {
    command.env_remove("PYTHONPATH").status().is_ok_and(|status| status.success())
}
