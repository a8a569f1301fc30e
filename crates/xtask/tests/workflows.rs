//! The workflows for GitHub, which nobody can run here, ask for what there is.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The lines of all workflows, without remarks, and the name of each one's file.
fn lines() -> Vec<(String, String)> {
    let folder = root().join(".github/workflows");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .flat_map(|file| {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let text = read(&file);
            let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
            lines.map(|line| (name.clone(), line.to_owned())).collect::<Vec<_>>()
        })
        .collect()
}

/// The words behind each of these words, up to the end of the line or of the command.
fn words_behind(command: &str) -> Vec<String> {
    let lines = lines();
    let behind = lines.iter().filter_map(|(_, line)| line.split_once(command));
    let words = behind.flat_map(|(_, rest)| rest.split("&&").next().unwrap().split_whitespace());
    words.map(str::to_owned).collect()
}

#[test]
fn recipes_that_are_asked_for_are_there() {
    let recipes = read(&root().join("justfile"));
    let words = words_behind("run: just ");
    assert!(words.len() >= 2, "{words:?}");
    for name in words {
        let is_recipe = |line: &str| line.split([' ', ':']).next() == Some(&name);
        assert!(recipes.lines().any(is_recipe), "{name}");
    }
}

#[test]
fn packages_that_are_asked_for_are_there() {
    let lock = read(&root().join("Cargo.lock"));
    let words = words_behind(" -p ");
    let names = words.iter().filter(|word| !word.starts_with('-'));
    assert!(names.clone().count() >= 5, "{words:?}");
    for name in names {
        assert!(lock.contains(&format!("\nname = \"{name}\"\n")), "{name}");
    }
}

#[test]
fn workflows_are_indented_by_spaces_and_ask_for_few_rights() {
    assert!(lines().iter().all(|(_, line)| !line.contains('\t')));
    let with_rights = lines().into_iter().filter(|(_, line)| line.contains(": write"));
    let files: Vec<_> = with_rights.map(|(file, _)| file).collect();
    assert_eq!(files, ["publish.yml"]);
}
