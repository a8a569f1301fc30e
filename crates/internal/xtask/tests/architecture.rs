//! Checks the statements of docs/ARCHITECTURE.md about the source, with one test for each invariant.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn page() -> String {
    fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap()
}

struct Layered {
    name: &'static str,
    first: &'static str,
    beside: &'static [&'static str],
    impure: &'static [&'static str],
}

const ENGINE: Layered = Layered {
    name: "engine/core",
    first: "nanos",
    beside: &["lib", "_documentation"],
    impure: &["sync::", "Clock", "Instant", "thread"],
};

const LOAD: Layered = Layered {
    name: "load/load",
    first: "console",
    beside: &["lib", "_documentation"],
    impure: &["sync::", "Clock", "Instant", "thread::", "::now()", "fs::", "Pacer"],
};

impl Layered {
    fn sources(&self) -> BTreeMap<String, String> {
        let files = texts(&root().join("crates").join(self.name).join("src"));
        files.into_iter().map(|(file, text)| (file, code(&text))).collect()
    }

    fn listed_sources(&self) -> BTreeMap<String, String> {
        let mut sources = self.sources();
        sources.retain(|file, _| !self.beside.contains(&module(file)));
        sources
    }

    fn layers(&self) -> Vec<(String, bool)> {
        let (page, begin) = (page(), format!("\n{} ", self.first));
        let list = page.split("```text").find(|block| block.starts_with(&begin)).unwrap();
        let list = list.split("```").next().unwrap();
        let names =
            list.lines().filter(|line| line.starts_with(|first: char| first.is_alphabetic()));
        names
            .map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                (words[0].to_owned(), words[1] == "pure")
            })
            .collect()
    }
}

fn texts(src: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![src.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(src).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

fn code(text: &str) -> String {
    let is_tests =
        |rest: &str| rest.starts_with("mod tests") || rest.starts_with("pub(crate) mod tests");
    let mut tests = text
        .match_indices("#[cfg(test)]\n")
        .filter(|(at, mark)| is_tests(&text[at + mark.len()..]));
    let text = tests.next().map_or(text, |(at, _)| &text[..at]);
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| line.split(" // ").next().unwrap()).collect::<Vec<_>>().join("\n")
}

fn module(file: &str) -> &str {
    file.split(['/', '.']).next().unwrap()
}

/// Returns the code of the engine's files, by their paths below `crates/engine` without `src`.
fn engine_sources() -> BTreeMap<String, String> {
    let of = |name: &'static str| {
        let files = texts(&root().join("crates/engine").join(name).join("src"));
        files.into_iter().map(move |(file, text)| (format!("{name}/{file}"), code(&text)))
    };
    of("core").chain(of("nanos")).collect()
}

fn only(words: &[&str], allowed: &[&str]) {
    let has = |text: &str| words.iter().any(|word| text.contains(word));
    let sources = engine_sources();
    let files: Vec<&String> =
        sources.iter().filter(|(_, text)| has(text)).map(|(file, _)| file).collect();
    assert_eq!(files, allowed, "{words:?}");
}

#[test]
fn the_engine_depends_on_nanos_and_nanos_on_nothing_by_default() {
    let manifest =
        |name| fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
    let core = manifest("engine/core");
    let (_, dependencies) = core.split_once("[dependencies]").unwrap();
    assert_eq!(dependencies.matches("nanopace").count(), 1, "{dependencies}");
    assert!(dependencies.contains("\nnanopace-nanos = {"), "{dependencies}");
    let nanos = manifest("engine/nanos");
    let (_, dependencies) = nanos.split_once("[dependencies]").unwrap();
    let (dependencies, _) = dependencies.split_once("[lints]").unwrap();
    for dependency in dependencies.lines().filter(|line| line.contains(" = ")) {
        assert!(dependency.contains("optional = true"), "{dependency}");
    }
}

/// If limiters used more of `nanopace-async` than its timers, programs that use limiters in tasks would also compile
/// the engine.
#[test]
fn the_limits_use_of_the_tasks_only_timers() {
    let mut users = 0;
    for folder in fs::read_dir(root().join("crates/limits")).unwrap() {
        let manifest = folder.unwrap().path().join("Cargo.toml");
        let manifest = fs::read_to_string(manifest).unwrap_or_default();
        for line in manifest.lines().filter(|line| line.starts_with("nanopace-async")) {
            assert!(line.contains("workspace = true") && !line.contains("\"pacer\""), "{line}");
            users += 1;
        }
    }
    assert!(users > 0);
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let shared = workspace.lines().find(|line| line.starts_with("nanopace-async = "));
    assert!(shared.unwrap().contains("default-features = false"));
}

#[test]
fn a_module_uses_only_modules_above_it() {
    for of in [ENGINE, LOAD] {
        let layers: Vec<String> = of.layers().into_iter().map(|(name, _)| name).collect();
        let rank = |name: &str| layers.iter().position(|layer| layer == name);
        let exports = exports(&of.sources()["lib.rs"]);
        for (file, text) in of.listed_sources() {
            let own = rank(module(&file))
                .unwrap_or_else(|| panic!("{file} is not in the list of modules"));
            for used in crate_paths(&text) {
                let used = exports.get(&used).unwrap_or(&used);
                if used == "nanopace_nanos" {
                    continue;
                }
                let other = rank(used).unwrap_or_else(|| {
                    panic!("{file} uses {used}, which is not in the list of modules")
                });
                assert!(
                    other <= own,
                    "{file} uses {used}, which is below it in the list of modules"
                );
            }
        }
    }
}

#[test]
fn the_list_has_every_module_and_nothing_else() {
    for of in [ENGINE, LOAD] {
        let listed: BTreeSet<String> = of.layers().into_iter().map(|(name, _)| name).collect();
        let sources = of.listed_sources();
        assert_eq!(listed, sources.keys().map(|file| module(file).to_owned()).collect());
    }
}

/// proptest reads the counterexamples of a source file from a file with the same path below `proptest-regressions`, a
/// folder beside that of the crate root.
#[test]
fn each_file_of_counterexamples_has_its_source() {
    let mut folders = vec![root().join("crates"), root().join("benches")];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(!name.ends_with(".proptest-regressions"), "{name} is never read");
            if name == "proptest-regressions" {
                count += assert_have_sources(&path);
            } else if path.is_dir() && name != "target" {
                folders.push(path);
            }
        }
    }
    assert!(count > 0);
}

fn assert_have_sources(regressions: &Path) -> usize {
    let is_root =
        |folder: &PathBuf| ["lib.rs", "main.rs"].iter().any(|file| folder.join(file).is_file());
    let mut roots = entries(regressions.parent().unwrap());
    roots.retain(is_root);
    let mut folders = vec![regressions.to_owned()];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = path.strip_prefix(regressions).unwrap().with_extension("rs");
            assert!(roots.iter().any(|root| root.join(&source).is_file()), "{}", path.display());
            count += 1;
        }
    }
    count
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Maps each exported name to its module. For `pub use pacer::Pacer`, maps `Pacer` to `pacer`.
fn exports(lib: &str) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for line in lib.lines().filter_map(|line| line.strip_prefix("pub use ")) {
        let (module, path) = line.trim_end_matches(';').split_once("::").unwrap();
        let names = path.rsplit("::").next().unwrap();
        for name in names.trim_matches(['{', '}']).split(',') {
            exports.insert(name.trim().to_owned(), module.to_owned());
        }
    }
    exports
}

fn crate_paths(text: &str) -> Vec<String> {
    let name = |path: &str| -> String {
        path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut paths = Vec::new();
    for path in text.split("crate::").skip(1) {
        match path.strip_prefix('{') {
            None => paths.push(name(path)),
            Some(group) => {
                let group = group.split(';').next().unwrap();
                paths.extend(group.split(',').map(|item| name(item.trim())));
            }
        }
    }
    paths.retain(|path| !path.is_empty());
    paths
}

#[test]
fn pure_modules_use_no_atomics_no_locks_and_no_clock() {
    for of in [ENGINE, LOAD] {
        let pure: Vec<String> =
            of.layers().into_iter().filter(|(_, pure)| *pure).map(|(name, _)| name).collect();
        assert!(!pure.is_empty(), "the list of modules has no pure module, or another format");
        for (file, text) in of.sources() {
            if pure.iter().any(|name| name == module(&file)) {
                let text = text.replace("use std::sync::Arc;", "");
                for word in of.impure {
                    assert!(!text.contains(word), "{file} has {word}");
                }
            }
        }
    }
}

#[test]
fn atomics_are_in_few_files() {
    only(
        &["AtomicU64", "fetch_", "compare_exchange", "Relaxed"],
        &[
            "core/pause/pausing.rs",
            "core/pause/permits.rs",
            "core/sync.rs",
            "core/timeline.rs",
            "core/timeline/drawn.rs",
            "core/timeline/published.rs",
            "nanos/clock/manual.rs",
            "nanos/sync.rs",
        ],
    );
}

/// A comment that begins with an ordering must come before the operation, in the same function.
#[test]
fn every_atomic_operation_says_why_its_ordering_is_enough() {
    let orderings = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];
    let mut operations = 0;
    for name in ["engine/nanos", "engine/core", "limits/limits", "limits/keyed"] {
        for (file, text) in texts(&root().join("crates").join(name).join("src")) {
            let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            let mut reason = "";
            for line in text.lines().map(str::trim) {
                if let Some(comment) = line.strip_prefix("// ") {
                    let given = orderings.iter().find(|name| comment.starts_with(**name));
                    reason = given.map_or(reason, |name| *name);
                } else if line.contains("fn ") {
                    reason = "";
                } else if !line.starts_with("//") && has_ordering(line) {
                    assert!(!reason.is_empty(), "{name}/{file}: {line}");
                    operations += 1;
                }
            }
        }
    }
    assert!(operations > 40, "{operations}");
}

fn has_ordering(line: &str) -> bool {
    let names = ["Relaxed)", "Acquire)", "Release)", "AcqRel)", "SeqCst)"];
    line.contains('(') && names.iter().any(|name| line.contains(name))
}

#[test]
fn locks_are_taken_in_few_files() {
    only(
        &[".lock()", ".try_lock()"],
        &[
            "core/sleepers.rs",
            "core/sync.rs",
            "core/timeline/guarded.rs",
            "core/timeline/held.rs",
            "nanos/sync.rs",
        ],
    );
}

#[test]
fn only_sync_names_the_world_of_threads() {
    only(
        &[
            "std::sync::atomic",
            "std::sync::Mutex",
            "std::sync::Condvar",
            "std::thread::",
            "crossbeam_utils::sync",
            "loom",
        ],
        &["core/sync.rs", "nanos/sync.rs"],
    );
}

#[test]
fn only_clocks_ask_the_machine_for_the_time() {
    only(
        &["Instant", "SystemTime", "quanta", "clock_gettime"],
        &[
            "core/pause/sleep.rs",
            "nanos/clock/monotonic.rs",
            "nanos/clock/std.rs",
            "nanos/clock/tsc.rs",
        ],
    );
}

#[test]
fn the_clock_is_read_in_few_modules() {
    let readers: Vec<String> = ENGINE
        .sources()
        .into_iter()
        .filter(|(_, text)| text.contains("clock.now()"))
        .map(|(file, _)| module(&file).to_owned())
        .collect();
    let mut modules = readers.clone();
    modules.dedup();
    assert_eq!(modules, ["builder", "pause", "timeline"], "{readers:?}");
}

#[test]
fn threads_give_up_the_processor_in_few_files() {
    only(
        &["yield_now()", "spin_loop()", ".park(", "park_timeout("],
        &[
            "core/pause/busy.rs",
            "core/pause/sleep.rs",
            "core/sync.rs",
            "nanos/clock.rs",
            "nanos/clock/manual.rs",
            "nanos/sync.rs",
        ],
    );
}

#[test]
fn only_the_load_generator_and_the_benchmarks_pin_threads() {
    let mut with = Vec::new();
    for crates in ["crates/engine", "crates/limits", "crates/load", "crates/internal", "."] {
        for entry in fs::read_dir(root().join(crates)).unwrap() {
            let entry = entry.unwrap();
            let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap_or_default();
            if manifest.contains("core_affinity") {
                with.push(entry.file_name().into_string().unwrap());
            }
        }
    }
    with.sort();
    assert_eq!(with, ["benches", "load"]);
}

#[test]
fn values_are_made_once_in_few_files() {
    only(&["OnceLock", "LazyLock"], &["core/pause/permits.rs", "nanos/clock/tsc.rs"]);
}

/// `cargo xtask test` runs all ignored tests, so a test must not be ignored for another reason.
#[test]
fn a_test_is_ignored_only_for_what_it_needs() {
    let mut folders =
        vec![root().join("crates"), root().join("benches"), root().join("loom-tests")];
    let mut ignored = 0;
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let marks = text.lines().filter(|line| line.trim_start().starts_with("#[ignore"));
                for mark in marks {
                    assert!(mark.contains("= \"needs "), "{}: {mark}", path.display());
                    ignored += 1;
                }
            }
        }
    }
    assert!(ignored > 0);
}

#[test]
fn the_files_to_change_exist() {
    let page = page();
    let table = page.split("## Where to change things").nth(1).unwrap();
    let table = table.split("\n## ").next().unwrap();
    let paths: Vec<_> =
        table.split('`').skip(1).step_by(2).filter(|it| it.contains("/src")).collect();
    assert!(paths.len() > 10, "{paths:?}");
    for path in paths {
        let of_wing = |wing| root().join("crates").join(wing).join(path).exists();
        assert!(["engine", "limits", "load"].into_iter().any(of_wing), "{path}");
    }
}
