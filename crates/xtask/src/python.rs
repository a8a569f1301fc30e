//! The Python package: its wheel is built, installed in a fresh virtual environment, and tested there.

use crate::steps::Step;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const STEP: &str = "Python package: its wheel in a fresh virtual environment";

/// What the package needs: Python with what makes virtual environments.
const PROBE: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";

/// The tests of the package.
pub(crate) fn package(root: &'static str) -> Step {
    Step::new(STEP, || {
        let package = Package::new(Path::new(root));
        package.is_prepared() && package.passes()
    })
}

/// The same, or a step that says that they are left out.
pub(crate) fn package_if_possible(root: &'static str) -> Step {
    if !succeeds(Command::new("python3").args(["-c", PROBE]).stderr(Stdio::null())) {
        let name = "LEFT OUT: the Python package, which needs python3 from 3.10 on, with venv";
        return Step::new(name, || true);
    }
    Step::new(STEP, || {
        let package = Package::new(Path::new(root));
        if package.is_prepared() {
            return package.passes();
        }
        eprintln!("LEFT OUT: the Python package, because pip can't fetch what its tests need");
        true
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
            source: root.join("crates/python"),
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
