//! Reads the files of a crate, and parses its modules.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use syn::{Attribute, Item, Meta};

/// The path of a module in its crate. It is empty for the crate's root module.
pub(crate) type ModulePath = Vec<String>;

/// Parses the modules of a crate, except modules for tests.
pub(crate) fn read(folder: &Path) -> Result<BTreeMap<ModulePath, syn::File>, String> {
    Ok(read_with_texts(folder)?.into_iter().map(|(module, (file, _))| (module, file)).collect())
}

pub(crate) fn lines(folder: &Path) -> Result<usize, String> {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let code = |text: &str| {
        let before_tests = text.lines().take_while(|&line| line != "mod tests {");
        before_tests.filter(is_code).count()
    };
    Ok(read_with_texts(folder)?.values().map(|(_, text)| code(text)).sum())
}

fn read_with_texts(folder: &Path) -> Result<BTreeMap<ModulePath, (syn::File, String)>, String> {
    let source = folder.join("src");
    let roots = [source.join("lib.rs"), source.join("main.rs")];
    let root = roots.into_iter().find(|file| file.is_file()).ok_or("the crate has no root")?;
    let mut read = BTreeMap::new();
    let mut files = vec![(Vec::new(), root)];
    while let Some((module, path)) = files.pop() {
        let shown = path.strip_prefix(folder).unwrap_or(&path).display();
        let text = fs::read_to_string(&path).map_err(|error| format!("{shown}: {error}"))?;
        let file = syn::parse_file(&text).map_err(|error| format!("{shown}: {error}"))?;
        for module in declared(&file.items, &module) {
            let file = file_of(&source, &module)?;
            files.push((module, file));
        }
        read.insert(module, (file, text));
    }
    Ok(read)
}

pub(crate) fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Returns all files below the folder, without links, build output and hidden folders.
pub(crate) fn all_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.flat_map(|entry| match (entry.path(), entry.file_type()) {
        (path, Ok(kind)) if kind.is_file() => vec![path],
        (path, Ok(kind)) if kind.is_dir() && !is_left_out(&path) => all_files(&path),
        _ => Vec::new(),
    });
    files.collect()
}

fn is_left_out(folder: &Path) -> bool {
    let is_hidden =
        folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    is_hidden || folder.join("CACHEDIR.TAG").is_file()
}

fn declared(items: &[Item], scope: &[String]) -> Vec<ModulePath> {
    let mut found = Vec::new();
    for item in items.iter().filter(|item| !is_for_tests(item)) {
        let Item::Mod(module) = item else { continue };
        let path = [scope, &[module.ident.to_string()]].concat();
        match &module.content {
            Some((_, items)) => found.extend(declared(items, &path)),
            None => found.push(path),
        }
    }
    found
}

fn file_of(source: &Path, module: &[String]) -> Result<PathBuf, String> {
    let folder: PathBuf = source.join(module.join("/"));
    let candidates = [folder.with_extension("rs"), folder.join("mod.rs")];
    let found = candidates.into_iter().find(|file| file.is_file());
    found.ok_or_else(|| format!("{} has no file", module.join("::")))
}

pub(crate) fn is_for_tests(item: &Item) -> bool {
    attributes(item).iter().any(is_cfg_test)
}

pub(crate) fn is_hidden(attributes: &[Attribute]) -> bool {
    let says_hidden = |attribute: &Attribute| {
        attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "hidden")
    };
    attributes.iter().any(|attribute| attribute.path().is_ident("doc") && says_hidden(attribute))
}

pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        // This arm is for syntax that `syn` cannot parse, and for variants that later versions of `syn` add.
        _ => &[],
    }
}

fn is_cfg_test(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    let condition: String = list.tokens.to_string().split_whitespace().collect();
    list.path.is_ident("cfg") && (condition == "test" || condition.starts_with("all(test,"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_without_a_body_is_a_file() {
        let file = syn::parse_file("mod a; mod b { mod c; } #[cfg(test)] mod d;").unwrap();
        let expected = [vec!["a".to_owned()], vec!["b".to_owned(), "c".to_owned()]];
        assert_eq!(declared(&file.items, &[]), expected);
    }
}
