//! Checks that every page is in the book and that all links, tables and lists are valid, and copies the pages for
//! mdBook.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The table of contents. Its paths are relative to the project's root.
const CONTENTS: &str = "book/SUMMARY.md";

const WITHOUT: [&str; 4] = ["target", "patch", "patches", "node_modules"];

pub(crate) fn check(root: &Path) -> Result<(), String> {
    let contents = contents(root)?;
    let mut wrong: Vec<String> = Vec::new();
    for page in pages(root, Path::new("")) {
        if !contents.contains(&page) {
            wrong.push(format!("{} is not in {CONTENTS}", page.display()));
        }
    }
    for page in &contents {
        let (text, name) = (read(root, page)?, page.display());
        for link in links(&text) {
            if !leads_somewhere(root, page, &link) {
                wrong.push(format!("{name}: the link {link} is broken"));
            }
        }
        let broken = prose(&text).filter(|line| is_broken(line));
        wrong.extend(broken.map(|line| format!("{name}: a table or a list is broken: {line}")));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

pub(crate) fn lay_out(root: &Path, folder: &Path) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    let _ = fs::remove_dir_all(folder);
    let source = folder.join("src");
    let mut files = BTreeSet::new();
    for page in contents(root)? {
        let text = read(root, &page)?;
        let linked = links(&text).into_iter().map(|link| place(&page, &link).0);
        files.extend(linked.filter(|file| root.join(file).is_file()));
        write(&source.join(&page), without_items(&text)).map_err(told)?;
    }
    for file in files.iter().filter(|file| !source.join(file).exists()) {
        let bytes = fs::read(root.join(file)).map_err(told)?;
        write(&source.join(file), bytes).map_err(told)?;
    }
    write(&source.join("SUMMARY.md"), read(root, Path::new(CONTENTS))?).map_err(told)?;
    fs::copy(root.join("book/book.toml"), folder.join("book.toml")).map_err(told)?;
    Ok(())
}

fn write(file: &Path, text: impl AsRef<[u8]>) -> std::io::Result<()> {
    fs::create_dir_all(file.parent().unwrap_or(Path::new("")))?;
    fs::write(file, text)
}

fn contents(root: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let links = links(&read(root, Path::new(CONTENTS))?);
    Ok(links.into_iter().map(PathBuf::from).collect())
}

fn read(root: &Path, page: &Path) -> Result<String, String> {
    fs::read_to_string(root.join(page)).map_err(|error| format!("{}: {error}", page.display()))
}

fn pages(root: &Path, folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
        let (name, kind) = (entry.file_name(), entry.file_type());
        let name = name.to_string_lossy();
        let path = folder.join(&*name);
        match kind {
            Ok(kind) if kind.is_dir() && !name.starts_with('.') && !is_left_out(&name) => {
                found.extend(pages(root, &path));
            }
            Ok(kind) if kind.is_file() && is_page(&path) => found.push(path),
            _ => {}
        }
    }
    found
}

fn is_left_out(folder: &str) -> bool {
    WITHOUT.contains(&folder)
}

fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "md") && path != Path::new(CONTENTS)
}

fn links(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(page) {
        let behind = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        found.extend(behind.filter(|link| is_local(link)).map(str::to_owned));
        let definition = line.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
        found.extend(definition.map(|(_, link)| link.to_owned()).filter(|link| is_local(link)));
    }
    found
}

fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut is_example = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_example ^= is_fence;
        !is_example && !is_fence
    })
}

/// Returns whether a table row goes on in the next line, or a list item begins within a line.
fn is_broken(line: &str) -> bool {
    let has_item = [". * ", ". - "].iter().any(|item| line.contains(item));
    has_item || (line.starts_with('|') && !line.ends_with('|'))
}

fn is_local(link: &str) -> bool {
    !link.contains("://") && !is_item(link)
}

fn is_item(link: &str) -> bool {
    link.contains("::")
}

fn without_items(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, behind)) = rest.split_once("](") {
        let (link, after) = behind.split_once(')').unwrap_or((behind, ""));
        let named = before.rfind('[').filter(|_| is_item(link));
        match named {
            Some(at) => text.extend([&before[..at], &before[at + 1..]]),
            None => text.extend([before, "](", link, ")"]),
        }
        rest = after;
    }
    text + rest
}

/// Returns the file to which a link on `page` leads, by its path from the project's root, and the heading in that file.
fn place(page: &Path, link: &str) -> (PathBuf, Option<String>) {
    let (file, heading) = link.split_once('#').map_or((link, None), |(f, h)| (f, Some(h)));
    let path = page.parent().unwrap_or(Path::new("")).join(file);
    let mut place = if file.is_empty() { page.to_owned() } else { PathBuf::new() };
    for part in path.components().filter(|_| !file.is_empty()) {
        match part {
            Component::ParentDir => _ = place.pop(),
            part => place.push(part),
        }
    }
    (place, heading.map(str::to_owned))
}

fn leads_somewhere(root: &Path, page: &Path, link: &str) -> bool {
    let (file, heading) = place(page, link);
    let Some(heading) = heading else { return root.join(&file).is_file() };
    read(root, &file).is_ok_and(|text| {
        prose(&text).filter_map(|line| line.strip_prefix('#')).any(|title| anchor(title) == heading)
    })
}

fn anchor(title: &str) -> String {
    let title = title.trim_start_matches('#').trim().to_lowercase();
    let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_in_prose_are_found() {
        let page =
            "[a](b.md#c) [d](https://e) ![f](g.svg)\n```\n[h](i.md)\n```\n[j]: k.md\n[l](m::N)";
        assert_eq!(links(page), ["b.md#c", "g.svg", "k.md"]);
    }

    #[test]
    fn rows_over_several_lines_and_items_within_a_line_are_found() {
        for line in ["| a | b", "  c. * d", "- c. - d"] {
            assert!(is_broken(line), "{line}");
        }
        for line in ["| a | b |", "* c.", "  * d * e", "c. d - e"] {
            assert!(!is_broken(line), "{line}");
        }
    }

    #[test]
    fn a_link_to_an_item_becomes_its_name() {
        let page = "a [`B`](c::B) and [d](e.md), [f";
        assert_eq!(without_items(page), "a `B` and [d](e.md), [f");
    }

    #[test]
    fn a_link_is_resolved_from_the_root() {
        let page = Path::new("crates/engine/core/README.md");
        let heading = Some("a-b".to_owned());
        assert_eq!(
            place(page, "../load/x.md#a-b"),
            ("crates/engine/load/x.md".into(), heading.clone())
        );
        assert_eq!(place(page, "#a-b"), (page.into(), heading));
        assert_eq!(anchor("## What `a` is, and b-c"), "what-a-is-and-b-c");
    }
}
