//! Prints the number of lines of Rust in the project, and of code in the crates of its wings.

use crate::{sources, wings};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

pub(crate) fn print(root: &Path) {
    let folders = wings::folders(&root.join("crates")).unwrap_or_default();
    let published =
        folders.iter().filter(|folder| !folder.starts_with(root.join("crates/internal")));
    let code: usize = published.map(|folder| sources::lines(folder).unwrap_or(0)).sum();
    let all = below(root);
    eprintln!("{all} lines of Rust; {code} lines of code in the wings, without tests");
}

fn below(folder: &Path) -> usize {
    let files = sources::all_files(folder).into_iter();
    let files = files.filter(|path| path.extension() == Some(OsStr::new("rs")));
    files.map(|path| fs::read_to_string(path).unwrap_or_default().lines().count()).sum()
}
