//! Shows that the models bite: applies each stored edit to a copy of the workspace and wants its models to fail.
//!
//! ```text
//! cargo run -p loom-tests --bin mutants             every edit
//! cargo run -p loom-tests --bin mutants -- TEXT...  those whose names contain one of the texts
//! ```
//!
//! An edit is a file `mutants/NAME.patch`: a unified diff against the workspace's root, with lines `# model: NAME` before
//! it. It counts as caught when each of these models fails; it is an error when it does not apply, or does not compile.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::time::Instant;

/// What the copy needs.
const PARTS: [&str; 5] = ["Cargo.toml", "Cargo.lock", "crates", "benches", "loom-tests"];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match run(&root, &wanted) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mutants: {error}");
            ExitCode::FAILURE
        }
    }
}

/// True when every edit was caught.
fn run(root: &Path, wanted: &[String]) -> io::Result<bool> {
    let mutants = mutants(&root.join("loom-tests/mutants"), wanted)?;
    let scratch = Scratch::new()?;
    println!("| edit | model | result | time |");
    println!("|---|---|---|---|");
    let mut missed = 0;
    for mutant in &mutants {
        scratch.copy(root)?;
        let applies = scratch.apply(mutant)?;
        for model in &mutant.models {
            let started = Instant::now();
            let verdict = if applies { scratch.verdict(model)? } else { Verdict::DoesNotApply };
            missed += usize::from(verdict != Verdict::Caught);
            let seconds = started.elapsed().as_secs();
            println!("| {} | {model} | {} | {seconds} s |", mutant.name, verdict.text());
        }
    }
    println!("\n{} edits, {missed} not caught", mutants.len());
    Ok(missed == 0 && !mutants.is_empty())
}

/// A stored edit.
struct Mutant {
    name: String,
    path: PathBuf,
    models: Vec<String>,
}

/// Those in `folder` whose names contain one of the texts, in order; all of them without texts.
fn mutants(folder: &Path, wanted: &[String]) -> io::Result<Vec<Mutant>> {
    let mut mutants = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_wanted = wanted.is_empty() || wanted.iter().any(|text| name.contains(text.as_str()));
        if path.extension().is_some_and(|extension| extension == "patch") && is_wanted {
            let models: Vec<String> = fs::read_to_string(&path)?
                .lines()
                .filter_map(|line| line.strip_prefix("# model: "))
                .map(|model| model.trim().to_owned())
                .collect();
            if models.is_empty() {
                return Err(io::Error::other(format!("{name} names no model")));
            }
            mutants.push(Mutant { name, path: path.canonicalize()?, models });
        }
    }
    mutants.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(mutants)
}

/// How an edit fared against a model.
#[derive(PartialEq, Eq)]
enum Verdict {
    Caught,
    Survived,
    NoSuchModel,
    DoesNotApply,
    DoesNotCompile,
}

impl Verdict {
    fn text(&self) -> &'static str {
        match self {
            Verdict::Caught => "caught",
            Verdict::Survived => "SURVIVED",
            Verdict::NoSuchModel => "NO SUCH MODEL",
            Verdict::DoesNotApply => "DOES NOT APPLY",
            Verdict::DoesNotCompile => "DOES NOT COMPILE",
        }
    }
}

/// A folder for the copy and what is built of it, gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Scratch> {
        let folder = std::env::temp_dir().join(format!("nanopace-mutants-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Scratch(folder))
    }

    fn workspace(&self) -> PathBuf {
        self.0.join("workspace")
    }

    /// The unedited workspace.
    fn copy(&self, root: &Path) -> io::Result<()> {
        let workspace = self.workspace();
        if workspace.exists() {
            fs::remove_dir_all(&workspace)?;
        }
        fs::create_dir(&workspace)?;
        PARTS.iter().try_for_each(|part| copy(&root.join(part), &workspace.join(part)))
    }

    fn apply(&self, mutant: &Mutant) -> io::Result<bool> {
        let apply = Command::new("git")
            .args(["apply", "--recount"])
            .arg(&mutant.path)
            .env("GIT_CEILING_DIRECTORIES", &self.0)
            .current_dir(self.workspace())
            .output()?;
        if !apply.status.success() {
            eprintln!("{}: {}", mutant.name, String::from_utf8_lossy(&apply.stderr).trim());
        }
        Ok(apply.status.success())
    }

    fn verdict(&self, model: &str) -> io::Result<Verdict> {
        let build = self.cargo(&["--no-run"])?;
        if !build.status.success() {
            eprintln!("{}", String::from_utf8_lossy(&build.stderr).trim());
            return Ok(Verdict::DoesNotCompile);
        }
        let run = self.cargo(&["--no-fail-fast", "--", "--exact", "--nocapture", model])?;
        let found = String::from_utf8_lossy(&run.stdout).contains("running 1 test");
        Ok(match (found, run.status.success()) {
            (false, _) => Verdict::NoSuchModel,
            (true, true) => Verdict::Survived,
            (true, false) => Verdict::Caught,
        })
    }

    /// `cargo test` of the models in the copy.
    fn cargo(&self, arguments: &[&str]) -> io::Result<Output> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Command::new(cargo)
            .args(["test", "--quiet", "--release", "--package", "loom-tests", "--tests", "--target-dir"])
            .arg(self.0.join("target"))
            .args(arguments)
            .env("RUSTFLAGS", "--cfg loom")
            .env("RUST_BACKTRACE", "0")
            .current_dir(self.workspace())
            .output()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left behind lies in the system's folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file or a folder, without what has been built in it. Times are kept new, so that cargo builds what has changed.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::read(from).and_then(|bytes| fs::write(to, bytes));
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        if name != "target" {
            copy(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}
