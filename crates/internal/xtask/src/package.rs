//! Packages the published crates, and unpacks them in a separate workspace, where they use each other's unpacked
//! sources.

use crate::steps::leave_out;
use crate::wings;
use std::env;
use std::fs;
use std::io;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

const IN_EACH: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

pub(crate) struct Published {
    pub(crate) name: String,
    pub(crate) source: PathBuf,
    version: String,
}

impl Published {
    /// Returns the name of the folder in the archive, which is also the archive's name without its extension.
    fn folder(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }
}

pub(crate) fn unpack(root: &Path) -> Result<PathBuf, String> {
    let told = |error: io::Error| error.to_string();
    let published = published(&root.join("crates")).map_err(told)?;
    package(root, &published)?;
    let target = target(root);
    let alone = target.join("unpacked");
    let _ = fs::remove_dir_all(alone.join("crates"));
    fs::create_dir_all(alone.join("crates")).map_err(told)?;
    for package in &published {
        let archive = target.join("package").join(package.folder() + ".crate");
        // `-m` gives files the current time. Without `-m`, cargo would miss changed files, because the times in the
        // archive never change.
        let mut tar = Command::new("tar");
        succeeds(tar.arg("-xzmf").arg(archive).arg("-C").arg(alone.join("crates")))?;
        is_whole(&alone.join("crates").join(package.folder()))?;
    }
    // With the same profiles and versions, cargo does not build the dependencies again.
    let manifest = fs::read_to_string(root.join("Cargo.toml")).map_err(told)?;
    let profiles = manifest.find("[profile").map_or("", |at| &manifest[at..]);
    fs::write(alone.join("Cargo.toml"), workspace(&published) + "\n" + profiles).map_err(told)?;
    fs::copy(root.join("Cargo.lock"), alone.join("Cargo.lock")).map_err(told)?;
    Ok(alone)
}

fn is_whole(package: &Path) -> Result<(), String> {
    let missing = IN_EACH.into_iter().find(|name| !package.join(name).is_file());
    missing.map_or(Ok(()), |name| Err(format!("{} has no {name}", package.display())))
}

/// The URL of the `repository` is known only when the crates are published.
pub(crate) fn tells_whether_the_source_is_named(root: &Path) -> bool {
    let published = published(&root.join("crates")).unwrap_or_default();
    let is_named = |package: &&Published| {
        let manifest = fs::read_to_string(package.source.join("Cargo.toml")).unwrap_or_default();
        manifest.lines().any(|line| line.starts_with("repository"))
    };
    let unnamed = published.iter().filter(|package| !is_named(package));
    let names = unnamed.map(|package| &package.name[..]).collect::<Vec<_>>().join(", ");
    names.is_empty()
        || leave_out(
            "the address of the source",
            &format!(
                "these packages have no `repository`: {names}. Set it as described in docs/RELEASE.md"
            ),
        )
}

pub(crate) fn target(root: &Path) -> PathBuf {
    root.join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

pub(crate) fn published(crates: &Path) -> io::Result<Vec<Published>> {
    let workspace = fs::read_to_string(crates.join("../Cargo.toml"))?;
    let version = value(&workspace, "version").unwrap_or_default();
    let mut published = Vec::new();
    for source in wings::folders(crates)? {
        let manifest = fs::read_to_string(source.join("Cargo.toml"))?;
        if !manifest.lines().any(|line| line == "publish = false") {
            let name = value(&manifest, "name").unwrap_or_default().to_owned();
            published.push(Published { name, source, version: version.to_owned() });
        }
    }
    published.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(published)
}

fn value<'text>(manifest: &'text str, key: &str) -> Option<&'text str> {
    let of_key =
        |line: &'text str| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"');
    manifest.lines().find_map(of_key)
}

fn package(root: &Path, published: &[Published]) -> Result<(), String> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["package", "--quiet", "--allow-dirty", "--no-verify"]).current_dir(root);
    succeeds(cargo.args(published.iter().flat_map(|package| ["--package", &package.name])))
}

fn workspace(published: &[Published]) -> String {
    let head = "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n\n[patch.crates-io]\n";
    let patch = |package: &Published| {
        format!("{} = {{ path = \"crates/{}\" }}\n", package.name, package.folder())
    };
    iter::once(head.to_owned()).chain(published.iter().map(patch)).collect()
}

pub(crate) fn succeeds(command: &mut Command) -> Result<(), String> {
    eprintln!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(status.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_published_unless_its_manifest_says_otherwise() {
        let crates = Path::new(ROOT).join("crates");
        let published: Vec<String> =
            published(&crates).unwrap().iter().map(Published::folder).collect();
        for (folder, is_published) in
            [("nanopace-0.1.0", true), ("nanopace-nanos-0.1.0", true), ("xtask-0.1.0", false)]
        {
            assert_eq!(published.contains(&folder.to_owned()), is_published, "{published:?}");
        }
    }

    #[test]
    fn a_value_belongs_to_the_whole_key() {
        let manifest = "[package]\nname = \"one\"\nversion.workspace = true\nname = \"two\"\n";
        assert_eq!(value(manifest, "name"), Some("one"));
        assert_eq!(value(manifest, "version"), None);
    }
}
