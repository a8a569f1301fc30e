//! Builds the wheel of the Python package, installs it in a fresh virtual environment, and runs its tests.

use crate::sources;
use crate::steps::{Step, leave_out};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TESTS: &str = "the tests of the Python package";

const PROBE: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";

/// Skips the tests with a message if a dependency is missing, or if `if_changed` is set and neither the package nor the
/// engine has changed since the tests passed.
pub(crate) fn package(root: &'static str, if_changed: bool) -> Step {
    Step::new("Python package: its wheel in a fresh virtual environment", move || {
        let package = Package::new(Path::new(root));
        let state = state(Path::new(root));
        if if_changed && fs::read_to_string(&package.passed).is_ok_and(|text| text == state) {
            return leave_out(
                TESTS,
                "nothing has changed since they passed; cargo xtask python runs them again",
            );
        }
        if !succeeds(Command::new("python3").args(["-c", PROBE]).stderr(Stdio::null())) {
            return leave_out(TESTS, "they need python3 3.10 or later, with venv");
        }
        if !package.is_prepared() {
            return leave_out(TESTS, "pip cannot fetch their dependencies");
        }
        package.passes() && fs::write(package.passed, state).is_ok()
    })
}

fn state(root: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    for folder in ["python", "core", "nanos"] {
        let mut files = sources::all_files(&root.join("crates/engine").join(folder));
        files.sort();
        let contents = files.iter().map(|path| (path, fs::read(path).unwrap_or_default()));
        contents.for_each(|content| content.hash(&mut hasher));
    }
    hasher.finish().to_string()
}

struct Package {
    source: PathBuf,
    environment: PathBuf,
    passed: PathBuf,
}

impl Package {
    fn new(root: &Path) -> Package {
        let target = root.join("target");
        Package {
            source: root.join("crates/engine/python"),
            environment: target.join("python-environment"),
            passed: target.join("python.passed"),
        }
    }

    fn is_prepared(&self) -> bool {
        let _ = fs::remove_dir_all(&self.environment); // the folder may not exist
        succeeds(Command::new("python3").args(["-m", "venv"]).arg(&self.environment))
            && self.installs(&["--requirement", "tests/requirements.txt"])
    }

    fn passes(&self) -> bool {
        let unoptimised = ["--config-settings", "build-args=--profile dev"];
        self.installs(&[&unoptimised[..], &["."]].concat())
            && succeeds(&mut self.python(&["-m", "pytest", "--quiet"]))
    }

    fn installs(&self, what: &[&str]) -> bool {
        let pip =
            ["-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"];
        succeeds(&mut self.python(&[&pip, what].concat()))
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
