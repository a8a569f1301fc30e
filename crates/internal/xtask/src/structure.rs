//! Checks that the modules of a crate have no circular dependencies.
//!
//! Each folder is checked separately. The nodes of a folder's dependency graph are the modules in the folder, each with
//! the modules below it, and the file of the module to which the folder belongs. A module depends on another one if it
//! names an item of that module. A name that a module only re-exports belongs to the module that defines it. Tests are
//! ignored.

mod circles;
mod modules;
mod paths;

use crate::wings;
use circles::{ITSELF, Tolerated, folder_name};
use modules::Crate;
use std::path::Path;

/// Dependencies that close a circle and are tolerated for now. Do not add any.
const TOLERATED: &[Tolerated] = &[core("timeline", "guarded", ITSELF, SHARES_TYPES)];

const SHARES_TYPES: &str = "the folder's own file has types that this module needs";

const fn core(
    folder: &'static str,
    from: &'static str,
    to: &'static str,
    reason: &'static str,
) -> Tolerated {
    Tolerated { in_crate: "core", folder, from, to, reason }
}

pub(crate) fn check(crates: &Path) -> bool {
    let folders = wings::folders(crates).unwrap_or_default();
    let results: Vec<bool> = folders.iter().map(|folder| check_crate(folder)).collect();
    !results.is_empty() && results.into_iter().all(|passed| passed)
}

fn check_crate(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let parsed = match Crate::read(folder) {
        Ok(parsed) => parsed,
        Err(error) => {
            eprintln!("{name}: {error}");
            return false;
        }
    };
    let tolerated: Vec<_> =
        TOLERATED.iter().copied().filter(|pair| pair.in_crate == name).collect();
    let found = circles::find(&parsed, &tolerated);
    let modules = parsed.modules.len();
    let shown = match found.circles.len() {
        0 => "no circles".to_owned(),
        1 => "1 circle".to_owned(),
        number => format!("{number} circles"),
    };
    eprintln!("{name:<10} {modules:>3} modules, {shown}");
    found.circles.iter().for_each(|circle| eprint!("{circle}"));
    for Tolerated { folder, from, to, reason, .. } in &tolerated {
        eprintln!("  tolerated in {}: {from} -> {to}: {reason}", folder_name(folder));
    }
    for Tolerated { folder, from, to, .. } in &found.outdated {
        let folder = folder_name(folder);
        eprintln!("  {from} -> {to} in {folder} closes no circle: remove it from TOLERATED");
    }
    found.circles.is_empty() && found.outdated.is_empty()
}
