//! Checks that the crates of a wing depend only on permitted crates of other wings, and that they do not hide items
//! from their documentation.

use crate::sources;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

struct Wing {
    name: &'static str,
    may_use: &'static [&'static str],
}

/// Crates of one wing may depend on each other. Crates of the wing `internal` may depend on all crates.
const WINGS: [Wing; 3] = [
    Wing { name: "engine", may_use: &[] },
    Wing { name: "limits", may_use: &["nanopace-nanos", "nanopace-async"] },
    Wing { name: "load", may_use: &["nanopace-nanos", "nanopace", "nanopace-async"] },
];

const INTERNAL: &str = "internal";

const HIDDEN: &str = "doc(hidden)";

struct Member {
    wing: String,
    name: String,
    uses: Vec<String>,
}

pub(crate) fn is_wing(name: &str) -> bool {
    WINGS.iter().any(|wing| wing.name == name)
}

pub(crate) fn folders(crates: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for wing in fs::read_dir(crates)? {
        let wing = wing?.path();
        if wing.is_dir() {
            let below = fs::read_dir(wing)?.collect::<io::Result<Vec<_>>>()?;
            folders.extend(below.iter().map(fs::DirEntry::path));
        }
    }
    folders.retain(|folder| folder.join("Cargo.toml").is_file());
    folders.sort();
    Ok(folders)
}

pub(crate) fn packages(root: &Path, wing: &str) -> io::Result<Vec<String>> {
    let workspace = fs::read_to_string(root.join("Cargo.toml"))?;
    let is_member = |folder: &Path| {
        let member = folder.strip_prefix(root).unwrap_or(folder).display().to_string();
        workspace.contains(&format!("\"{member}\""))
    };
    let folders = folders(&root.join("crates"))?;
    let members = folders.iter().filter(|folder| is_member(folder)).map(|folder| member(folder));
    let members = members.collect::<io::Result<Vec<_>>>()?;
    let of_wing = members.into_iter().filter(|it| [wing, INTERNAL].contains(&&*it.wing));
    Ok(of_wing.map(|member| member.name).collect())
}

pub(crate) fn check(crates: &Path) -> bool {
    let members = folders(crates).and_then(|all| all.iter().map(|it| member(it)).collect());
    let wrong = members.map(|members: Vec<Member>| wrong(&members));
    let hidden = hidden(crates);
    let wrong = wrong.and_then(|wrong| Ok([wrong, hidden?].concat()));
    let wrong = wrong.unwrap_or_else(|error| vec![error.to_string()]);
    for told in &wrong {
        eprintln!("  {told}");
    }
    wrong.is_empty()
}

fn wrong(members: &[Member]) -> Vec<String> {
    let wing_of = |name: &str| members.iter().find(|member| member.name == name);
    let mut wrong = Vec::new();
    for Member { wing, name, uses } in members.iter().filter(|member| member.wing != INTERNAL) {
        let Some(rule) = WINGS.iter().find(|rule| rule.name == wing) else {
            wrong.push(format!("{name} is in no wing: {wing}"));
            continue;
        };
        let is_other = |used: &&String| wing_of(used).is_none_or(|other| other.wing != *wing);
        let outside = uses.iter().filter(is_other);
        let outside = outside.filter(|used| !rule.may_use.contains(&used.as_str()));
        wrong.extend(outside.map(|used| format!("{name} in {wing} may not depend on {used}")));
    }
    wrong
}

fn hidden(crates: &Path) -> io::Result<Vec<String>> {
    let mut folders = folders(crates)?;
    folders.retain(|folder| !folder.starts_with(crates.join(INTERNAL)));
    let mut hidden = Vec::new();
    for folder in folders {
        for file in sources::files_below(&folder.join("src"))? {
            let shown = file.strip_prefix(crates).unwrap_or(&file).display();
            hidden.extend(
                hidden_lines(&fs::read_to_string(&file)?)
                    .map(|line| format!("{shown}:{line}: make this private, or document it")),
            );
        }
    }
    Ok(hidden)
}

fn hidden_lines(text: &str) -> impl Iterator<Item = usize> {
    let is_hidden = |line: &str| line.trim_start().starts_with('#') && line.contains(HIDDEN);
    text.lines().enumerate().filter(move |(_, line)| is_hidden(line)).map(|(index, _)| index + 1)
}

fn member(folder: &Path) -> io::Result<Member> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
    let wing = folder.parent().and_then(Path::file_name).unwrap_or_default();
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = \""));
    Ok(Member {
        wing: wing.to_string_lossy().into_owned(),
        name: name.unwrap_or_default().trim_end_matches('"').to_owned(),
        uses: used(&manifest),
    })
}

/// Returns the crates of this project among the dependencies, except those only of tests. A dependency may be a table of
/// its own, and may have another name than its package.
fn used(manifest: &str) -> Vec<String> {
    let mut uses = Vec::new();
    let mut is_dependency = false;
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            is_dependency = section.contains("dependencies") && !section.contains("dev-");
        }
        if is_dependency && let Some(at) = line.find("nanopace") {
            let is_of_name = |c: &char| c.is_alphanumeric() || *c == '-';
            uses.push(line[at..].chars().take_while(is_of_name).collect());
        }
    }
    uses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(wing: &str, name: &str, uses: &[&str]) -> Member {
        let uses = uses.iter().map(ToString::to_string).collect();
        Member { wing: wing.to_owned(), name: name.to_owned(), uses }
    }

    #[test]
    fn a_wing_depends_only_on_what_it_may() {
        let mut members = vec![
            member("engine", "nanopace-nanos", &[]),
            member("engine", "nanopace", &["nanopace-nanos"]),
            member("limits", "nanopace-limits", &["nanopace-nanos"]),
            member("load", "nanopace-load", &["nanopace"]),
            member("internal", "nanopace-trials", &["nanopace-load", "nanopace-limits"]),
        ];
        assert_eq!(wrong(&members), [""; 0]);
        members.push(member("engine", "nanopace-capi", &["nanopace-load"]));
        members.push(member("load", "nanopace-fleet", &["nanopace-limits", "nanopace"]));
        members.push(member("limits", "nanopace-keyed", &["nanopace-limits", "nanopace-load"]));
        members.push(member("attic", "nanopace-old", &[]));
        assert_eq!(
            wrong(&members),
            [
                "nanopace-capi in engine may not depend on nanopace-load",
                "nanopace-fleet in load may not depend on nanopace-limits",
                "nanopace-keyed in limits may not depend on nanopace-load",
                "nanopace-old is in no wing: attic",
            ]
        );
    }

    #[test]
    fn hidden_items_are_found_and_mentions_are_not() {
        let text = "/// Not `#[doc(hidden)]`.\npub fn a() {}\n    #[doc(hidden)]\npub fn b() {}\n\
                    #[cfg_attr(x, doc(hidden))]\npub fn c() {}\n";
        assert_eq!(hidden_lines(text).collect::<Vec<_>>(), [3, 5]);
    }

    #[test]
    fn dependencies_of_tests_do_not_count() {
        let manifest = "[dependencies]\nnanopace-nanos.workspace = true\nanyhow = \"1\"\n\
                        [target.'cfg(unix)'.dependencies]\nnanopace = { path = \"x\" }\n\
                        [dev-dependencies]\nnanopace-services.workspace = true\n[features]\nnanopace-x = []\n\
                        [dependencies.nanopace-load]\nworkspace = true\n\
                        [dependencies]\npacer = { package = \"nanopace-fleet\" }\n";
        assert_eq!(
            used(manifest),
            ["nanopace-nanos", "nanopace", "nanopace-load", "nanopace-fleet"]
        );
    }

    #[test]
    fn every_wing_has_crates_and_the_internal_ones() {
        let root = Path::new(crate::package::ROOT);
        for (wing, has) in
            [("engine", "nanopace-async"), ("limits", "nanopace-tower"), ("load", "nanopace-cli")]
        {
            let packages = packages(root, wing).unwrap();
            for name in [has, "nanopace-trials"] {
                assert!(packages.contains(&name.to_owned()), "{wing}: {packages:?}");
            }
        }
        let engine = packages(root, "engine").unwrap();
        assert!(!engine.contains(&"nanopace-load".to_owned()), "{engine:?}");
    }
}
