//! Shows that the models detect errors. Applies each stored edit to a copy of the workspace, and checks that the models
//! of that edit fail.
//!
//! ```text
//! cargo run -p loom-tests --bin mutants             runs every edit
//! cargo run -p loom-tests --bin mutants -- TEXT...  runs the edits whose names contain one of the texts
//! cargo run -p loom-tests --bin mutants -- --check  runs nothing: checks that all edits apply, that all named models
//!                                                   exist, and that each model has an edit that breaks the model
//! ```
//!
//! An edit is a file `mutants/NAME.patch`: a unified diff against the workspace's root, with lines before it that give
//! its expected results:
//!
//! ```text
//! # model: NAME     this model fails
//! # survives: NAME  this model passes; `all` for every model. The README says why the edit does no harm.
//! ```
//!
//! Any other result is an error, and so is an edit that does not apply or does not compile.

mod names;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::time::Instant;

const ALL: &str = "all";

const PARTS: [&str; 5] = ["Cargo.toml", "Cargo.lock", "crates", "benches", "loom-tests"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let done = if words == ["--check"] { check(&root) } else { run(&root, &words) };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mutants: {error}");
            ExitCode::FAILURE
        }
    }
}

fn check(root: &Path) -> io::Result<bool> {
    let mutants = mutants(root, &[])?;
    let mut outdated = 0;
    for mutant in &mutants {
        outdated += usize::from(!mutant.apply(root, &["--check"])?);
    }
    let wrong = names::wrong(root, &mutants)?;
    for wrong in &wrong {
        eprintln!("{wrong}");
    }
    println!("{} edits, {outdated} outdated, {} wrong names", mutants.len(), wrong.len());
    Ok(outdated == 0 && wrong.is_empty() && !mutants.is_empty())
}

fn run(root: &Path, wanted: &[String]) -> io::Result<bool> {
    let mutants = mutants(root, wanted)?;
    let scratch = Scratch::new()?;
    println!("| edit | model | result | time |");
    println!("|---|---|---|---|");
    let mut wrong = 0;
    for mutant in &mutants {
        scratch.copy(root)?;
        let applies = mutant.apply(&scratch.workspace(), &[])?;
        for trial in &mutant.trials {
            let started = Instant::now();
            let verdict =
                if applies { scratch.verdict(&trial.model)? } else { Verdict::DoesNotApply };
            let mark = if verdict == trial.expected { "" } else { ", WRONG" };
            wrong += usize::from(verdict != trial.expected);
            let (model, seconds) = (&trial.model, started.elapsed().as_secs());
            println!("| {} | {model} | {}{mark} | {seconds} s |", mutant.name, verdict.text());
        }
    }
    println!("\n{} edits, {wrong} wrong results", mutants.len());
    Ok(wrong == 0 && !mutants.is_empty())
}

struct Mutant {
    name: String,
    path: PathBuf,
    trials: Vec<Trial>,
}

struct Trial {
    model: String,
    expected: Verdict,
}

impl Trial {
    fn parse(line: &str) -> Option<Trial> {
        let trial = |model: &str, expected| Trial { model: model.trim().to_owned(), expected };
        let caught = line.strip_prefix("# model: ").map(|model| trial(model, Verdict::Caught));
        caught.or_else(|| {
            line.strip_prefix("# survives: ").map(|model| trial(model, Verdict::Survived))
        })
    }
}

impl Mutant {
    fn read(path: &Path) -> io::Result<Mutant> {
        let name = name(path);
        let trials: Vec<Trial> =
            fs::read_to_string(path)?.lines().filter_map(Trial::parse).collect();
        if trials.is_empty() {
            return Err(io::Error::other(format!("{name} names no model")));
        }
        Ok(Mutant { name, path: path.canonicalize()?, trials })
    }

    fn apply(&self, workspace: &Path, options: &[&str]) -> io::Result<bool> {
        let workspace = workspace.canonicalize()?;
        let apply = Command::new("git")
            .args(["apply", "--recount"])
            .args(options)
            .arg(&self.path)
            // Otherwise git would use a repository that contains the workspace, and silently apply nothing.
            .env("GIT_CEILING_DIRECTORIES", workspace.parent().unwrap_or(&workspace))
            .current_dir(&workspace)
            .output()?;
        if !apply.status.success() {
            eprintln!("{}: {}", self.name, String::from_utf8_lossy(&apply.stderr).trim());
        }
        Ok(apply.status.success())
    }
}

fn mutants(root: &Path, wanted: &[String]) -> io::Result<Vec<Mutant>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(root.join("loom-tests/mutants"))? {
        let path = entry?.path();
        let is_wanted =
            wanted.is_empty() || wanted.iter().any(|text| name(&path).contains(text.as_str()));
        if path.extension().is_some_and(|extension| extension == "patch") && is_wanted {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| Mutant::read(path)).collect()
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

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
            Verdict::Survived => "survived",
            Verdict::NoSuchModel => "no such model",
            Verdict::DoesNotApply => "does not apply",
            Verdict::DoesNotCompile => "does not compile",
        }
    }
}

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

    fn copy(&self, root: &Path) -> io::Result<()> {
        let workspace = self.workspace();
        if workspace.exists() {
            fs::remove_dir_all(&workspace)?;
        }
        fs::create_dir(&workspace)?;
        PARTS.iter().try_for_each(|part| copy(&root.join(part), &workspace.join(part)))
    }

    fn verdict(&self, model: &str) -> io::Result<Verdict> {
        let Some(filter) = filter(&self.workspace(), model)? else {
            return Ok(Verdict::NoSuchModel);
        };
        let build = self.cargo(&["--no-run"])?;
        if !build.status.success() {
            eprintln!("{}", String::from_utf8_lossy(&build.stderr).trim());
            return Ok(Verdict::DoesNotCompile);
        }
        let filter: Vec<&str> = filter.iter().map(String::as_str).collect();
        let run = self.cargo(&[&["--"], &filter[..]].concat())?;
        Ok(if run.status.success() { Verdict::Survived } else { Verdict::Caught })
    }

    fn cargo(&self, arguments: &[&str]) -> io::Result<Output> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Command::new(cargo)
            .args(["test", "--quiet", "--release", "--package", "loom-tests", "--target-dir"])
            .arg(self.0.join("target"))
            .args(["--test", "models"])
            .args(arguments)
            .env("RUSTFLAGS", "--cfg loom")
            .env("RUST_BACKTRACE", "0")
            .current_dir(self.workspace())
            .output()
    }
}

fn filter(workspace: &Path, model: &str) -> io::Result<Option<Vec<String>>> {
    if model == ALL {
        return Ok(Some(Vec::new()));
    }
    for entry in fs::read_dir(workspace.join("loom-tests/tests/models"))? {
        let path = entry?.path();
        if fs::read_to_string(&path)?.contains(&format!("\nfn {model}() {{")) {
            return Ok(Some(vec!["--exact".to_owned(), format!("{}::{model}", name(&path))]));
        }
    }
    Ok(None)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Leaves out build results. The copies get new modification times, so that cargo rebuilds every changed file.
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
