//! Tests the interface from C and C++. Compiles programs against the header without a warning, links them with the
//! shared or the static library, and runs them.

#![cfg(target_os = "linux")]

#[path = "c/pages.rs"]
mod pages;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];
const C11: [&str; 2] = ["-std=c11", "-D_DEFAULT_SOURCE"];
const CPP17: [&str; 1] = ["-std=c++17"];

#[derive(Clone, Copy)]
enum Link {
    Shared,
    Static,
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn libraries() -> PathBuf {
    env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

fn compiler(variable: &str, usual: &str) -> OsString {
    env::var_os(variable).unwrap_or_else(|| usual.into())
}

fn cc() -> Command {
    let mut cc = Command::new(compiler("CC", "cc"));
    cc.args(C11);
    cc
}

fn cpp() -> Command {
    let mut cpp = Command::new(compiler("CXX", "c++"));
    cpp.args(CPP17).args(["-x", "c++"]);
    cpp
}

struct Built(TempDir);

impl Built {
    fn new(mut compiler: Command, source: &Path, link: Link) -> Built {
        let folder = TempDir::new().unwrap();
        compiler.args(STRICT).arg("-g").arg("-I").arg(here().join("include")).arg(source);
        compiler.arg("-o").arg(folder.path().join("program")).args(["-x", "none"]);
        match link {
            Link::Shared => compiler
                .arg("-L")
                .arg(libraries())
                .arg("-lnanopace_capi")
                .arg(format!("-Wl,-rpath,{}", libraries().display())),
            Link::Static => compiler.arg(libraries().join("libnanopace_capi.a")),
        };
        compiler.args(env::var("CFLAGS").unwrap_or_default().split_whitespace());
        succeeds(compiler.args(["-lpthread", "-ldl", "-lm"]));
        Built(folder)
    }

    fn of(compiler: Command, name: &str, link: Link) -> Built {
        Built::new(compiler, &here().join("tests/c").join(name), link)
    }

    /// Removes cargo's library path, which may contain an older library.
    fn command(&self) -> Command {
        let mut command = Command::new(self.0.path().join("program"));
        command.env_remove("LD_LIBRARY_PATH");
        command
    }

    fn runs(&self) -> Output {
        succeeds(&mut self.command())
    }
}

fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{told}", output.status);
    output
}

#[test]
#[ignore = "needs a C and a C++ compiler"]
fn the_main_functions_work_from_c_and_cpp_with_both_libraries() {
    for link in [Link::Shared, Link::Static] {
        Built::of(cc(), "front.c", link).runs();
        Built::of(cpp(), "front.c", link).runs();
        Built::of(cpp(), "front.cpp", link).runs();
    }
}

#[test]
#[ignore = "needs a C compiler"]
fn invalid_input_is_an_error_and_nothing_else() {
    Built::of(cc(), "wrong.c", Link::Shared).runs();
}

#[test]
#[ignore = "needs a C compiler"]
fn every_slot_starts_once_whatever_eight_threads_call() {
    let calls = env::var("NANOPACE_CALLS").unwrap_or_else(|_| "200000".to_owned());
    let hammer = Built::of(cc(), "hammer.c", Link::Shared);
    for seed in ["1", "2", "3"] {
        succeeds(hammer.command().args([&calls, seed]));
    }
}

#[test]
#[ignore = "needs a C compiler"]
fn a_fork_has_a_copy() {
    Built::of(cc(), "fork.c", Link::Shared).runs();
}

#[test]
#[ignore = "needs a C compiler and valgrind"]
fn programs_run_under_valgrind() {
    let built = Built::of(cc(), "valgrind.c", Link::Shared);
    let mut valgrind = Command::new("valgrind");
    let valgrind = valgrind.args(["--quiet", "--tool=none"]).arg(built.command().get_program());
    succeeds(valgrind.env_remove("LD_LIBRARY_PATH"));
}

fn of_readme() -> Vec<String> {
    let page = fs::read_to_string(here().join("README.md")).unwrap();
    let pieces = page.split("```c\n").skip(1);
    pieces.map(|piece| piece.split_once("```").unwrap().0.to_owned()).collect()
}

#[test]
#[ignore = "needs a C compiler"]
fn the_examples_of_the_readme_are_programs() {
    let [program, event_loop, interrupt] = &of_readme()[..] else { panic!("three pieces") };
    let rest = fs::read_to_string(here().join("tests/c/readme.c")).unwrap();
    for code in [program.clone(), [event_loop, interrupt, &*rest].concat()] {
        let folder = TempDir::new().unwrap();
        let source = folder.path().join("readme.c");
        fs::write(&source, code).unwrap();
        Built::new(cc(), &source, Link::Shared).runs();
    }
}

#[test]
#[ignore = "needs a C compiler"]
fn the_examples_compile_without_a_warning_and_finish() {
    for name in ["paced.c", "connections.c"] {
        Built::new(cc(), &here().join("examples").join(name), Link::Shared).runs();
    }
}

#[test]
#[ignore = "needs a C compiler and make"]
fn the_makefile_builds_the_examples() {
    let folder = TempDir::new().unwrap();
    let mut make = Command::new("make");
    make.arg("-f").arg(here().join("examples/Makefile")).current_dir(folder.path());
    succeeds(make.arg(format!("LIBRARY={}", libraries().display())));
    for (name, begins) in [("paced", "the latest of 100 starts"), ("connections", "2000 responses")]
    {
        let output = succeeds(&mut Command::new(folder.path().join(name)));
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.starts_with(begins), "{name}: {printed}");
    }
}

#[test]
#[ignore = "needs a C compiler"]
fn the_first_example_prints_why_it_failed() {
    let folder = TempDir::new().unwrap();
    let example = fs::read_to_string(here().join("examples/paced.c")).unwrap();
    for (name, code) in [("paced", &example), ("readme", &of_readme()[0])] {
        let source = folder.path().join(name).with_extension("c");
        fs::write(&source, code.replace("k/s\", NULL", "k/fortnight\", NULL")).unwrap();
        let built = Built::new(cc(), &source, Link::Shared);
        let output = built.command().output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {printed}");
        assert!(printed.contains("`fortnight` is not a unit of time"), "{name}: {printed}");
    }
}

#[test]
#[ignore = "needs cmake"]
fn cmake_builds_the_example() {
    let folder = TempDir::new().unwrap();
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(here().join("examples")).arg("-B").arg(folder.path());
    succeeds(configure.arg(format!("-DLIBRARY={}", libraries().display())));
    succeeds(Command::new("cmake").arg("--build").arg(folder.path()));
    succeeds(&mut Command::new(folder.path().join("paced")));
}

/// A program that was linked with the library's path, as cmake does, runs elsewhere only if the library has a `SONAME`.
#[test]
#[ignore = "needs readelf, which comes with a C compiler"]
fn the_library_is_found_by_its_name() {
    let library = libraries().join("libnanopace_capi.so");
    let output = succeeds(Command::new("readelf").arg("-d").arg(library));
    let told = String::from_utf8(output.stdout).unwrap();
    let name = told.lines().find(|line| line.contains("(SONAME)")).expect("it has a name");
    assert!(name.ends_with("[libnanopace_capi.so]"), "{name}");
}

#[test]
#[ignore = "needs nm, which comes with a C compiler"]
fn the_library_exports_what_the_header_declares() {
    let library = libraries().join("libnanopace_capi.so");
    let output = succeeds(Command::new("nm").args(["-D", "--defined-only"]).arg(library));
    let listed = String::from_utf8(output.stdout).unwrap();
    let mut exported: Vec<&str> =
        listed.lines().map(|line| line.split_whitespace().nth(2).unwrap()).collect();
    exported.sort_unstable();
    let header = fs::read_to_string(here().join("include/nanopace.h")).unwrap();
    let mut declared: Vec<&str> = header
        .lines()
        .filter(|line| !line.starts_with("//") && !line.starts_with("static inline "))
        .filter_map(|line| line.split_once('(')?.0.rsplit(' ').next())
        .filter(|name| name.starts_with("nanopace_"))
        .collect();
    declared.sort_unstable();
    assert!(declared.len() > 30, "{declared:?}");
    assert_eq!(exported, declared);
}
