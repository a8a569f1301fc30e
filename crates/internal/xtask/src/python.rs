//! The Python package: its wheel is built, installed in a fresh virtual environment, and tested there.

use crate::steps::{Step, is_left_out};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TESTS: &str = "the tests of the Python package";

/// What the package needs: Python with what makes virtual environments.
const PROBE: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";

/// The tests of the package. They are left out, and that is said, where what they need can't be had.
pub(crate) fn package(root: &'static str) -> Step {
    Step::new("Python package: its wheel in a fresh virtual environment", || {
        let package = Package::new(Path::new(root));
        if !succeeds(Command::new("python3").args(["-c", PROBE]).stderr(Stdio::null())) {
            return is_left_out(TESTS, "they need python3 from 3.10 on, with venv");
        }
        if !package.is_prepared() {
            return is_left_out(TESTS, "pip can't fetch what its tests need");
        }
        package.passes()
    })
}

struct Package {
    source: PathBuf,
    environment: PathBuf,
    /// Of its own: beside the workspace's, features would change.
    target: PathBuf,
}

impl Package {
    fn new(root: &Path) -> Package {
        let target = root.join("target");
        Package {
            source: root.join("crates/engine/python"),
            environment: target.join("python-environment"),
            target: target.join("python"),
        }
    }

    /// Makes the environment, with all that the tests need but the package.
    fn is_prepared(&self) -> bool {
        let _ = fs::remove_dir_all(&self.environment); // there may be none
        succeeds(Command::new("python3").args(["-m", "venv"]).arg(&self.environment))
            && self.installs(&["--requirement", "tests/requirements.txt"])
    }

    /// Builds without optimisation.
    fn passes(&self) -> bool {
        let unoptimised = ["--config-settings", "build-args=--profile dev"];
        self.installs(&[&unoptimised[..], &["."]].concat())
            && succeeds(&mut self.python(&["-m", "pytest", "--quiet"]))
    }

    fn installs(&self, what: &[&str]) -> bool {
        let pip =
            ["-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"];
        succeeds(self.python(&[&pip, what].concat()).env("CARGO_TARGET_DIR", &self.target))
    }

    fn python(&self, words: &[&str]) -> Command {
        let mut python = Command::new(self.environment.join("bin/python"));
        python.args(words).current_dir(&self.source);
        python
    }
}

fn succeeds(command: &mut Command) -> bool {
    command.env_remove("PYTHONPATH").status().is_ok_and(|status| status.success())
}
