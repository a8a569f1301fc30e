//! Generates `docs/SURFACE.md` and the C header from the source, or compares them with the existing files.

use crate::package::{self, Published};
use crate::surface::Surface;
use std::fs;
use std::path::Path;

const SURFACE: &str = "docs/SURFACE.md";
const HEADER: &str = "crates/engine/capi/include/nanopace.h";

const SURFACE_HEAD: &str = "# Public items\n\n\
    This page lists the public items of each published crate. `cargo xtask pages` generates it, and\n\
    `cargo xtask lint` fails if it is out of date.\n";

pub(crate) type Header = fn() -> Result<String, String>;

pub(crate) fn write(root: &Path, header: Header) -> Result<(), String> {
    for (page, text) in made(root, header)? {
        fs::write(root.join(page), text).map_err(|error| format!("{page}: {error}"))?;
    }
    Ok(())
}

pub(crate) fn check(root: &Path, header: Header) -> Result<(), String> {
    for (page, text) in made(root, header)? {
        let there = fs::read_to_string(root.join(page)).unwrap_or_default();
        if there != text {
            let differs = |(one, other): &(&str, &str)| one != other;
            let (was, is) = there.lines().zip(text.lines()).find(differs).unwrap_or_default();
            return Err(format!(
                "{page} differs from the source; to update it: cargo xtask pages\n- {was}\n+ {is}"
            ));
        }
    }
    Ok(())
}

fn made(root: &Path, header: Header) -> Result<Vec<(&'static str, String)>, String> {
    Ok(vec![(SURFACE, surface(root)?), (HEADER, header()?)])
}

fn surface(root: &Path) -> Result<String, String> {
    let crates = package::published(&root.join("crates")).map_err(|error| error.to_string())?;
    let part = |published: &Published| match Surface::read(&published.source) {
        Ok(surface) => Ok(format!("\n## {}: {surface}", published.name)),
        Err(error) => Err(format!("{}: {error}", published.name)),
    };
    let parts: Result<String, String> = crates.iter().map(part).collect();
    Ok(SURFACE_HEAD.to_owned() + &parts?)
}
