//! Each public item of the library for loads is in an example of its documentation, all of which are tests.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The texts of a folder and all below it.
fn texts(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = |path: PathBuf| {
        if path.is_dir() { texts(&path) } else { vec![fs::read_to_string(path).unwrap()] }
    };
    entries.flat_map(texts).collect()
}

/// The examples in the comments of a source, or in a page.
fn examples(text: &str) -> String {
    let lines = text.lines().map(str::trim_start);
    let docs: Vec<&str> = lines.filter_map(|line| line.strip_prefix("///")).collect();
    let docs = if docs.is_empty() { text.to_owned() } else { docs.join("\n") };
    docs.split("```").skip(1).step_by(2).collect()
}

/// Names behind the first word of each row of the list of a crate's public items.
fn items(name: &str) -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/SURFACE.md")).unwrap();
    let (_, list) = page.split_once(&format!("\n## {name}: ")).unwrap();
    let rows = list.split("\n## ").next().unwrap().lines().filter(|line| line.contains('`'));
    let words = |row: &'_ str| -> Vec<String> {
        let words = row.split(['|', '`', ',', ' ']).filter(|word| !word.is_empty());
        words.skip(1).map(str::to_owned).collect()
    };
    rows.flat_map(words).collect()
}

#[test]
fn each_public_item_of_the_load_library_is_in_an_example() {
    let load = root().join("crates/load");
    let pages = [texts(&load.join("src")), texts(&load.join("docs"))].concat();
    let code: String = pages.iter().map(|text| examples(text)).collect();
    let words: Vec<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let items = items("nanopace-load");
    assert!(items.len() > 50, "the list has changed its form: {items:?}");
    let missing: Vec<_> = items.iter().filter(|item| !words.contains(&item.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
