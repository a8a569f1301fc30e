//! Acts as a new user with an empty home folder: runs commands and the first example of the README with the packaged
//! crates in a local registry, and counts the dependencies of each published crate.

use crate::package::{self, Published, succeeds};
use crate::steps::Step;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const CONFIG: &str =
    "[source.crates-io]\nreplace-with = \"packages\"\n\n[source.packages]\ndirectory = ";

const RECORDED: &str = "crates/internal/xtask/dependencies.txt";

pub(crate) fn user(root: &'static str, installs: bool) -> Vec<Step> {
    let library = Step::telling("a new user's first program, from the packages", || {
        User::new(Path::new(root))?.writes_the_example()
    });
    let program = Step::telling("a new user's first run, from the packages", || {
        User::new(Path::new(root))?.installs_the_program()
    });
    let counts = Step::telling("numbers of dependencies of the packages", || {
        User::new(Path::new(root))?.counts_crates(Path::new(root))
    });
    if installs { vec![library, counts, program] } else { vec![library, counts] }
}

const TREE: &str = "cargo tree --quiet --target x86_64-unknown-linux-gnu --edges normal,build --prefix none \
                    --no-dedupe --format {p} > tree.txt";

struct User {
    home: PathBuf,
    page: String,
}

impl User {
    fn new(root: &Path) -> Result<User, String> {
        let unpacked = package::unpack(root)?;
        let home = env::temp_dir().join(format!("nanopace-new-user-{}", std::process::id()));
        let page = fs::read_to_string(root.join("README.md")).map_err(in_words)?;
        let user = User { home, page };
        user.moves_in(&unpacked).map_err(in_words)?;
        user.fills_the_registry(&unpacked)?;
        Ok(user)
    }

    fn moves_in(&self, unpacked: &Path) -> io::Result<()> {
        let _ = fs::remove_dir_all(&self.home);
        fs::create_dir_all(self.home.join(".cargo"))?;
        let config = format!("{CONFIG}'{}'\n", self.registry().display());
        fs::write(self.home.join(".cargo/config.toml"), config)?;
        // Cargo requires this file in each package. No file is listed, so cargo checks no checksum.
        for package in fs::read_dir(unpacked.join("crates"))? {
            let sums = package?.path().join(".cargo-checksum.json");
            fs::write(sums, "{\"files\":{}}")?;
        }
        Ok(())
    }

    fn registry(&self) -> PathBuf {
        self.home.join("packages")
    }

    fn fills_the_registry(&self, unpacked: &Path) -> Result<(), String> {
        let mut vendor = cargo();
        vendor.args(["vendor", "--quiet", "--manifest-path"]).arg(unpacked.join("Cargo.toml"));
        succeeds(vendor.arg(self.registry()).stdout(io::stderr()))?;
        let mut copy = Command::new("cp");
        succeeds(copy.arg("-r").arg(unpacked.join("crates/.")).arg(self.registry()))
    }

    fn writes_the_example(&self) -> Result<(), String> {
        self.runs(&self.home, "cargo new --quiet first")?;
        let project = self.home.join("first");
        self.runs(&project, self.line("cargo add nanopace"))?;
        let example = between(&self.page, "```rust,no_run\n", "```")
            .ok_or("README.md has no example in Rust")?;
        fs::write(project.join("src/main.rs"), example).map_err(in_words)?;
        self.runs(&project, "cargo run --quiet")
    }

    fn installs_the_program(&self) -> Result<(), String> {
        self.runs(&self.home, self.line("cargo install nanopace-cli"))?;
        self.runs(&self.home, self.line("nanopace run "))
    }

    /// The registry contains the versions in Cargo.lock, so the numbers are reproducible.
    fn counts_crates(&self, root: &Path) -> Result<(), String> {
        let published = package::published(&root.join("crates")).map_err(in_words)?;
        let line = |package: Published| {
            Ok(format!("{} {}\n", package.name, self.crates_below(&package.name)?))
        };
        let counted: String = published.into_iter().map(line).collect::<Result<_, String>>()?;
        let recorded = fs::read_to_string(root.join(RECORDED)).map_err(in_words)?;
        if counted == recorded {
            return Ok(());
        }
        Err(format!(
            "{RECORDED} differs. If the change is intended, replace its contents with:\n{counted}"
        ))
    }

    /// Counts direct and indirect dependencies on Linux, with default features and without dev-dependencies.
    fn crates_below(&self, name: &str) -> Result<usize, String> {
        let project = self.home.join(format!("uses-{name}"));
        self.runs(&self.home, &format!("cargo new --quiet uses-{name}"))?;
        self.runs(&project, &format!("cargo add --quiet {name}"))?;
        self.runs(&project, TREE)?;
        let tree = fs::read_to_string(project.join("tree.txt")).map_err(in_words)?;
        let crates: BTreeSet<&str> = tree.lines().collect();
        Ok(crates.len() - 2)
    }

    fn line(&self, words: &str) -> &str {
        let mut lines = self.page.lines().map(|line| line.trim_start_matches("$ "));
        let line = lines.find(|line| line.starts_with(words));
        line.map_or("false", |line| line.split('#').next().unwrap_or(line).trim())
    }

    fn runs(&self, folder: &Path, line: &str) -> Result<(), String> {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(folder).env_clear();
        succeeds(shell.env("HOME", &self.home).env("PATH", self.path()?))
    }

    fn path(&self) -> Result<std::ffi::OsString, String> {
        let usual = env::var_os("PATH").unwrap_or_default();
        let compiler = Path::new(cargo().get_program()).parent().map(Path::to_owned);
        let own = [Some(self.home.join(".cargo/bin")), compiler];
        env::join_paths(own.into_iter().flatten().chain(env::split_paths(&usual))).map_err(in_words)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.home);
    }
}

fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes errors by value")]
fn in_words(error: impl ToString) -> String {
    error.to_string()
}

fn between<'text>(text: &'text str, begin: &str, end: &str) -> Option<&'text str> {
    Some(text.split_once(begin)?.1.split_once(end)?.0)
}
