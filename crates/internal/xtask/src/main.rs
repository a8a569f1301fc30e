//! Runs the project's tests, checks and generators.
//!
//! ```text
//! cargo xtask test        unit, integration and documentation tests, with the servers and tools that they
//!                         need; after engine, limits or load, only those of that wing and of crates/internal; with
//!                         names, only the tests whose name contains one of them
//! cargo xtask test --without-services   the same, but tests that need a server or a tool are ignored
//! cargo xtask python      the tests of the Python package, with its wheel; the test command leaves them out if
//!                         the files of the package and of the engine have not changed since they passed
//! cargo xtask languages   the examples in Go and Java, with the C library
//! cargo xtask stress [N]  random rounds of real threads, N in debug and N in release (60 by default)
//! cargo xtask loom [N]    the loom models, with up to N preemptions (2 by default), and a check that the stored
//!                         edits, which show that the models can fail, still apply
//! cargo xtask lint        format, structure, pages, English, clippy and documentation, with warnings as errors
//! cargo xtask structure   only the structure: no circular dependencies between modules of a crate, only permitted
//!                         dependencies between wings, and no hidden items in published crates
//! cargo xtask instructions  counts the instructions of each kind of start, and compares them with the record
//! cargo xtask package     packages the published crates, unpacks them in a separate workspace, compiles them and
//!                         their documentation there, compiles them in this workspace with no feature, each feature
//!                         alone, all features except one and all features, checks the generated pages, and does a dry
//!                         run of publishing
//! cargo xtask release-check  the same with every combination of features, and runs the tests of the unpacked crates
//! cargo xtask features    compiles every combination of the features of every published crate
//! cargo xtask fresh-user  the README's first example in an empty home folder, with the packaged crates, and a
//!                         comparison of the numbers of their dependencies with the record
//! cargo xtask fresh-user install   the same, and installs the program and runs it
//! cargo xtask book        checks that each page is in the book and that its links are valid, and copies them to
//!                         target/book for mdBook
//! cargo xtask english     lists phrases of pages, messages and comments that english.txt does not allow
//! cargo xtask pages       generates docs/SURFACE.md and the C header
//! cargo xtask services    provides the servers and tools of the tests, and prints the variables for a shell:
//!                         eval "$(cargo xtask services)"
//! cargo xtask services examples   the same for the servers of the examples
//! ```

mod book;
mod english;
mod features;
mod fresh;
mod languages;
mod lines;
mod package;
mod pages;
mod programs;
mod python;
mod services;
mod sources;
mod steps;
mod structure;
mod surface;
mod test_report;
mod test_run;
mod wings;

use features::Which;
use package::ROOT;
use programs::Program;
use services::Need;
use std::env;
use std::iter::once;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread::{self, available_parallelism};
use steps::{Step, run_all};
use test_run::NotJudged;

const USAGE: &str = "usage: cargo xtask test [--without-services] [engine | limits | load] [NAME ...] | python | languages | \
                     stress [ROUNDS] | loom [PREEMPTIONS] | lint | structure | instructions | package | \
                     release-check | features | fresh-user [install] | \
                     pages | book | english | \
                     services [examples]";

const WAY_OUT: &str =
    ", or run only the tests without servers and tools: cargo xtask test --without-services";

/// The cargo option for features that are off by default, so that they are also tested, checked and documented.
const FEATURES: &str = "--features=nanopace-async/async-io,nanopace-cli/otlp,nanopace-cli/target-tls,nanopace-keyed/async,nanopace-keyed/file,nanopace-keyed/metrics,nanopace-limits/pools,nanopace-load/otlp,nanopace-remote/async,nanopace-remote/tls,nanopace-tower/remote";

/// Cargo options that select the packages to test: all except the models, which test nothing without loom, and this
/// program. This program's tests are built separately. If all tests were built together, cargo would compile the
/// dependencies of macros differently, and would compile everything again for the documentation tests.
const TESTED: [&str; 5] = ["--workspace", "--exclude", "loom-tests", "--exclude", "xtask"];

/// The number of tests of a program that run at the same time. It can exceed the number of cores, because most tests of
/// the load generator mostly wait.
const AT_A_TIME: &str = "6";

/// Disables incremental compilation, because it makes the first build of a fresh clone a third slower.
const FRESH: Variable = ("CARGO_INCREMENTAL", "0");

type Variable<'a> = (&'a str, &'a str);

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let steps = match words[..] {
        ["test", "--without-services", ref names @ ..] if are_names(names) => {
            tests(false, &Tested::of(names))
        }
        ["test", ref names @ ..] if are_names(names) => {
            let needed = once(needed(&services::OF_TESTS, WAY_OUT));
            needed.chain(tests(true, &Tested::of(names))).collect()
        }
        ["python"] => vec![python::package(ROOT, false)],
        ["python-if-changed"] => vec![python::package(ROOT, true)],
        ["languages"] => languages(),
        ["stress"] => stress("60"),
        ["stress", rounds] if rounds.parse::<u32>().is_ok() => stress(rounds),
        ["loom"] => loom("2"),
        ["loom", preemptions] if preemptions.parse::<u8>().is_ok() => loom(preemptions),
        ["lint"] => lint(),
        ["structure"] => vec![structure()],
        ["instructions"] => vec![needed(&services::OF_COUNTS, ""), instructions()],
        ["package"] => package(Which::AloneAndLeftOut),
        ["release-check"] => release(),
        ["features"] => vec![features(Which::Every)],
        ["fresh-user"] => fresh::user(ROOT, false),
        ["fresh-user", "install"] => fresh::user(ROOT, true),
        ["book"] => vec![linked(), book()],
        ["english"] => vec![Step::telling("plain English", || english::check(Path::new(ROOT)))],
        ["pages"] => vec![pages("pages generated from the source", pages::write)],
        ["services"] => return print_services(&services::OF_TESTS),
        ["services", "examples"] => return print_services(&services::OF_EXAMPLES),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if run_all(steps) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print_services(needs: &[Need]) -> ExitCode {
    if !services::provide(needs, "") {
        return ExitCode::FAILURE;
    }
    print!("{}", services::shell());
    ExitCode::SUCCESS
}

/// Returns whether no word is an option. A test program would accept options. With `--help`, it would succeed without a
/// test.
fn are_names(words: &[&str]) -> bool {
    !words.iter().any(|word| word.starts_with('-'))
}

fn needed(needs: &'static [Need], way_out: &'static str) -> Step {
    let provide = move || services::provide(needs, way_out);
    Step::new("needed servers and tools", provide).required()
}

#[derive(Clone)]
struct Tested {
    packages: Vec<String>,
    has_python: bool,
    /// If not empty, only Rust tests whose names contain one of these words are run.
    names: Vec<String>,
}

impl Tested {
    fn of(words: &[&str]) -> Tested {
        let (wing, names) = match *words {
            [wing, ref names @ ..] if wings::is_wing(wing) => (Some(wing), names),
            _ => (None, words),
        };
        let packages = wing.and_then(|wing| wings::packages(Path::new(ROOT), wing).ok());
        let packages = packages.map_or_else(all_packages, |packages| options(&packages));
        let names = names.iter().map(ToString::to_string).collect();
        Tested { packages, has_python: wing.is_none_or(|wing| wing == "engine"), names }
    }
}

fn all_packages() -> Vec<String> {
    TESTED.into_iter().chain(once(FEATURES)).map(str::to_owned).collect()
}

fn options(packages: &[String]) -> Vec<String> {
    let packages: Vec<_> = packages.iter().filter(|name| *name != "xtask").collect();
    let features = FEATURES.trim_start_matches("--features=").split(',');
    let is_of = |feature: &&str| {
        packages.iter().any(|name| feature.split('/').next() == Some(name.as_str()))
    };
    let features = features.filter(is_of).map(|feature| format!("--features={feature}"));
    packages.iter().map(|name| format!("--package={name}")).chain(features).collect()
}

/// Tests that need a server or a tool are marked as ignored.
fn tests(are_ignored_too: bool, tested: &Tested) -> Vec<Step> {
    let ignored = are_ignored_too.then(|| "--include-ignored".to_owned());
    let words: Vec<String> = ignored.into_iter().chain(tested.names.iter().cloned()).collect();
    let (of_programs, of_docs) = (tested.clone(), tested.packages.clone());
    let doc_words = words.clone();
    vec![
        Step::new("unit and integration tests", move || {
            test_programs(&of_programs, &words).is_some_and(|programs| succeed(&programs))
        }),
        Step::new("documentation tests", move || {
            let test = ["test", "--doc", "--no-fail-fast"].into_iter();
            let packages = of_docs.iter().map(String::as_str);
            let words = once("--").chain(doc_words.iter().map(String::as_str));
            cargo(&test.chain(packages).chain(words).collect::<Vec<_>>(), &[FRESH])
        }),
    ]
}

/// Up to one test program more than there are cores runs at a time, because most programs mostly wait.
fn succeed(programs: &[Program]) -> bool {
    let lanes = available_parallelism().map_or(1, usize::from) + 1;
    let not_judged = NotJudged(Path::new(ROOT).join("target/not-judged.txt"));
    test_run::succeed(programs, lanes, &not_judged, &|program| {
        let mut command = program.command();
        command.envs(services::variables()).env("RUST_TEST_THREADS", AT_A_TIME);
        command.env("NANOPACE_NOT_JUDGED", &not_judged.0).output()
    })
}

/// The tests of the Python package come first, because they take the longest to start.
fn test_programs(tested: &Tested, words: &[String]) -> Option<Vec<Program>> {
    let mut programs = Vec::new();
    if tested.names.is_empty() && tested.has_python {
        programs.push(Program::own("tests of the Python package", ROOT, "python-if-changed").ok()?);
    }
    programs.extend(built(&["--package", "xtask"], words)?);
    let packages: Vec<&str> = tested.packages.iter().map(String::as_str).collect();
    programs.extend(built(&packages, words)?);
    Some(programs)
}

fn built(packages: &[&str], words: &[String]) -> Option<Vec<Program>> {
    let build = ["test", "--no-run", "--message-format", "json-render-diagnostics"];
    let mut cargo = command(&[&build, packages].concat(), &[FRESH]);
    let output = cargo.stderr(Stdio::inherit()).output().ok()?;
    output
        .status
        .success()
        .then(|| Program::told_in(&String::from_utf8_lossy(&output.stdout), words))
}

fn instructions() -> Step {
    Step::new("instructions of each kind of start", || {
        let run = ["run", "--release", "--package", "nanopace-benches", "--no-default-features"];
        cargo(&[&run[..], &["--bin", "instructions"]].concat(), &[])
    })
}

fn languages() -> Vec<Step> {
    let library = Step::new("library for C", || {
        cargo(&["build", "--package", "nanopace-capi", "--target-dir", "target"], &[FRESH])
    });
    vec![library.required(), languages::go(ROOT), languages::java(ROOT)]
}

fn stress(rounds: &str) -> Vec<Step> {
    let step = |name, profile| {
        let rounds = rounds.to_owned();
        Step::new(format!("stress, {name}: {rounds} random rounds of real threads"), move || {
            let run = ["run", "--quiet", "--profile", profile, "--package", "nanopace-trials"];
            let stress = ["--no-default-features", "--", "stress", "--rounds", &rounds];
            cargo(&[&run[..], &stress].concat(), &[])
        })
    };
    vec![step("debug", "dev"), step("release", "release")]
}

/// The models are optimised, and have their own target folder because the flag `--cfg loom` affects every dependency.
fn loom(preemptions: &str) -> Vec<Step> {
    let preemptions = preemptions.to_owned();
    let edits = Step::new("stored edits still apply", || {
        let mutants = ["--package", "loom-tests", "--bin", "mutants", "--", "--check"];
        cargo(&[&["run", "--quiet"], &mutants[..]].concat(), &[])
    });
    let models = Step::new(format!("loom models, {preemptions} preemptions"), move || {
        let flags = format!("{} --cfg loom", env::var("RUSTFLAGS").unwrap_or_default());
        let test = ["test", "--profile=loom", "--package", "loom-tests", "--no-fail-fast"];
        let arguments = [&test[..], &["--target-dir", "target/loom"]].concat();
        cargo(&arguments, &[("RUSTFLAGS", &flags), ("LOOM_MAX_PREEMPTIONS", &preemptions)])
    });
    vec![edits, models]
}

fn lint() -> Vec<Step> {
    vec![
        Step::new("format", || cargo(&["fmt", "--all", "--check"], &[])),
        structure(),
        linked(),
        pages("generated pages are up to date", pages::check),
        Step::telling("plain English", || english::check(Path::new(ROOT))),
        Step::new("clippy", || {
            let more = "--features=nanopace-benches/rivals,xtask/header";
            let options = ["clippy", "--workspace", "--all-targets", FEATURES, more];
            cargo(&[&options[..], &["--", "--deny", "warnings"]].concat(), &[])
        }),
        Step::new("rules without std", || {
            cargo(
                &[
                    "clippy",
                    "--package",
                    "nanopace-limits",
                    "--no-default-features",
                    "--",
                    "--deny",
                    "warnings",
                ],
                &[],
            )
        }),
        Step::new("the Python package's Rust", || {
            let python = ["--manifest-path", "crates/engine/python/Cargo.toml"];
            let clippy = ["--target-dir", "target/python", "--", "--deny", "warnings"];
            // These variables allow a build without Python and its library.
            let variables = [("PYO3_NO_PYTHON", "1"), ("PYO3_BUILD_EXTENSION_MODULE", "1")];
            cargo(&[&["fmt", "--check"], &python[..]].concat(), &[])
                && cargo(&[&["clippy"], &python[..], &clippy].concat(), &variables)
        }),
        Step::new("documentation", || {
            cargo(
                &["doc", "--workspace", "--no-deps", FEATURES],
                &[("RUSTDOCFLAGS", "--deny warnings")],
            )
        }),
    ]
}

fn structure() -> Step {
    Step::new("structure of modules and wings, and no hidden items", || {
        let root = Path::new(ROOT);
        lines::print(root);
        let crates = root.join("crates");
        structure::check(&crates) & wings::check(&crates)
    })
}

fn linked() -> Step {
    Step::telling("pages are in the book, and their links are valid", || {
        book::check(Path::new(ROOT))
    })
}

fn book() -> Step {
    Step::telling("the book's files", || {
        let folder = package::target(Path::new(ROOT)).join("book");
        book::lay_out(Path::new(ROOT), &folder)
    })
}

fn pages(name: &str, run: fn(&Path, pages::Header) -> Result<(), String>) -> Step {
    Step::telling(name, move || run(Path::new(ROOT), header))
}

fn header() -> Result<String, String> {
    let run = ["run", "--quiet", "--package", "xtask", "--features", "header", "--bin", "header"];
    let output = command(&run, &[]).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err("the C header cannot be generated".to_owned());
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

fn package(which: Which) -> Vec<Step> {
    vec![
        unpacked(),
        Step::new("published crates alone, with their tests, examples and benchmarks", || {
            alone(&["check", "--all-targets"], &[])
        }),
        Step::new("documentation of the published crates", || {
            alone(&["doc", "--no-deps"], &[("RUSTDOCFLAGS", "--deny warnings")])
        }),
        features(which),
        pages("generated pages are up to date", pages::check),
        Step::new("publishing, as a dry run", || {
            cargo(&["publish", "--workspace", "--dry-run", "--no-verify", "--allow-dirty"], &[])
                && package::tells_whether_the_source_is_named(Path::new(ROOT))
        }),
    ]
}

fn unpacked() -> Step {
    let unpack = || package::unpack(Path::new(ROOT)).map(drop);
    Step::telling("published crates, packaged and unpacked", unpack).required()
}

fn release() -> Vec<Step> {
    let tests = vec![
        needed(&services::OF_TESTS, ""),
        Step::new("tests of the published crates", || {
            let words = ["--include-ignored".to_owned()];
            let unpacked = of_unpacked();
            built(&unpacked.each_ref().map(String::as_str), &words)
                .is_some_and(|programs| succeed(&programs))
        }),
        Step::new("documentation tests of the published crates", || {
            alone(&["test", "--doc", "--no-fail-fast"], &[FRESH])
        }),
    ];
    package(Which::Every).into_iter().chain(tests).collect()
}

fn features(which: Which) -> Step {
    Step::new("combinations of features", move || {
        let metadata = command(&["metadata", "--no-deps", "--format-version", "1"], &[]).output();
        let text = metadata.map_err(|error| error.to_string());
        let choices =
            text.and_then(|out| features::choices(&String::from_utf8_lossy(&out.stdout), which));
        let choices = choices.map_err(|error| eprintln!("{error}")).unwrap_or_default();
        // One check mostly uses one core, so the program's combinations are compiled in parallel with the other ones.
        let is_program = |choice: &&features::Choice| choice.package == "nanopace-cli";
        let (program, others): (Vec<_>, Vec<_>) = choices.iter().partition(is_program);
        let beside = package::target(Path::new(ROOT)).join("beside");
        let beside = format!("--target-dir={}", beside.display());
        let compile = |choices: &[&features::Choice], more: &[&str]| {
            !choices.is_empty() && choices.iter().all(|choice| compiles(choice, more))
        };
        thread::scope(|scope| {
            let others = scope.spawn(|| compile(&others, &[&beside]));
            compile(&program, &[]) & others.join().unwrap_or(false)
        })
    })
}

fn compiles(choice: &features::Choice, more: &[&str]) -> bool {
    let check = ["check", "--quiet", "--lib", "--no-default-features"];
    let which = ["--package", &choice.package, "--features", &choice.features];
    let output = command(&[&check[..], more, &which].concat(), &[FRESH]).output();
    output.is_ok_and(|output| {
        let told = String::from_utf8_lossy(&output.stderr);
        eprint!("{told}");
        output.status.success() && !told.contains("warning")
    })
}

fn alone(words: &[&str], variables: &[Variable]) -> bool {
    let unpacked = of_unpacked();
    cargo(&[words, &unpacked.each_ref().map(String::as_str)].concat(), variables)
}

/// Uses the usual target folder, because it already contains the built dependencies.
fn of_unpacked() -> [String; 4] {
    let target = package::target(Path::new(ROOT));
    let manifest = target.join("unpacked/Cargo.toml");
    [
        "--workspace".to_owned(),
        "--all-features".to_owned(),
        format!("--manifest-path={}", manifest.display()),
        format!("--target-dir={}", target.display()),
    ]
}

fn cargo(arguments: &[&str], variables: &[Variable]) -> bool {
    command(arguments, variables).status().is_ok_and(|status| status.success())
}

fn command(arguments: &[&str], variables: &[Variable]) -> Command {
    for (name, value) in variables {
        eprint!("{name}='{}' ", value.trim());
    }
    eprintln!("cargo {}", arguments.join(" "));
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    let variables = variables.iter().copied();
    command.args(arguments).envs(services::variables()).envs(variables).current_dir(ROOT);
    command
}
