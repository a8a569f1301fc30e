//! Builds, checks and runs the Go and Java examples with the C library in `target/debug`.

use crate::steps::{Step, leave_out};
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The first Java version whose foreign function API is final.
const JAVA: u32 = 22;

pub(crate) fn go(root: &'static str) -> Step {
    Step::new("Go: its package and example", || {
        if !succeeds(Command::new("go").arg("version").stderr(Stdio::null())) {
            return leave_out("the example in Go", "go is not on PATH");
        }
        let go = |words: &[&str]| succeeds(&mut go_command(Path::new(root), words));
        go(&["vet", "./..."])
            && go(&["test", "-count=1", "./..."])
            && ["./first", "./attack"].iter().all(|program| go(&["run", program]))
    })
}

fn go_command(root: &Path, words: &[&str]) -> Command {
    let target = root.join("target");
    let library = target.join("debug").display().to_string();
    let mut go = Command::new("go");
    go.args(words)
        .current_dir(root.join("crates/engine/capi/examples/go"))
        .env("GOCACHE", target.join("go"))
        .env("GOFLAGS", "-mod=mod")
        .env("CGO_LDFLAGS", format!("-L{library} -Wl,-rpath,{library}"))
        // Cargo's library path may contain an older library.
        .env_remove("LD_LIBRARY_PATH");
    go
}

pub(crate) fn java(root: &'static str) -> Step {
    Step::new("Java: its classes and example", || {
        let Some(tools) = java_tools() else {
            let why = format!("javac {JAVA} or later is neither on PATH nor in JAVA_HOME");
            return leave_out("the example in Java", &why);
        };
        let (root, tools) = (Path::new(root), tools.as_path());
        compiles(root, tools)
            && ["Checks", "First", "Attack"].iter().all(|class| runs(root, tools, class))
    })
}

fn compiles(root: &Path, tools: &Path) -> bool {
    let mut javac = Command::new(tools.join("javac"));
    // The lint `restricted` warns of every use of native code.
    javac.args(["-Xlint:all,-restricted", "-Werror", "-d"]).arg(classes(root));
    let Ok(folder) = fs::read_dir(root.join("crates/engine/capi/examples/java")) else {
        return false;
    };
    let sources = folder.flatten().map(|entry| entry.path());
    succeeds(javac.args(sources.filter(|path| path.extension() == Some(OsStr::new("java")))))
}

fn runs(root: &Path, tools: &Path, class: &str) -> bool {
    let library = root.join("target/debug/libnanopace_capi.so");
    let mut java = Command::new(tools.join("java"));
    java.arg("--enable-native-access=ALL-UNNAMED")
        .arg(format!("-Dnanopace.library={}", library.display()))
        .arg("-classpath")
        .arg(classes(root))
        .arg(class);
    succeeds(&mut java)
}

fn classes(root: &Path) -> PathBuf {
    root.join("target/java")
}

fn java_tools() -> Option<PathBuf> {
    let home = env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    let installed = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let installed = installed.map(|entry| entry.path().join("bin"));
    home.into_iter()
        .chain(env::split_paths(&path))
        .chain(installed)
        .find(|folder| version(folder).is_some_and(|version| version >= JAVA))
}

fn version(folder: &Path) -> Option<u32> {
    let told = Command::new(folder.join("javac")).arg("-version").output().ok()?.stdout;
    let told = String::from_utf8(told).ok()?;
    told.strip_prefix("javac ")?.split(['.', '-', '\n']).next()?.parse().ok()
}

fn succeeds(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}
