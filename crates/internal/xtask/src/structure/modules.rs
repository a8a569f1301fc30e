//! Finds the dependencies between the modules of a crate.

use super::paths::{Named, Paths};
use crate::sources::{self, ModulePath};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

#[derive(Debug, Default)]
pub(crate) struct Crate {
    pub(crate) modules: BTreeMap<ModulePath, Vec<Named>>,
    /// The imported names of each module, with the path to which each name refers.
    imports: BTreeMap<(ModulePath, String), Named>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Dependency {
    pub(crate) from: ModulePath,
    pub(crate) to: ModulePath,
    pub(crate) path: String,
}

const MOST_IMPORTS: usize = 8;

impl Crate {
    pub(crate) fn read(folder: &Path) -> Result<Crate, String> {
        let mut read = Crate::default();
        for (module, file) in sources::read(folder)? {
            read.add(module, &file);
        }
        Ok(read)
    }

    fn add(&mut self, module: ModulePath, file: &syn::File) {
        let found = Paths::of(file, module.clone()).found;
        for named in &found {
            if let Some(name) = &named.import {
                self.imports.insert((named.scope.clone(), name.clone()), named.clone());
            }
        }
        self.modules.insert(module, found);
    }

    pub(crate) fn dependencies(&self) -> BTreeSet<Dependency> {
        let mut dependencies = BTreeSet::new();
        for (from, named) in &self.modules {
            for named in named.iter().filter(|named| !named.is_reexport) {
                let Some(to) = self.resolve(named, MOST_IMPORTS) else { continue };
                if to != *from {
                    let path = named.path.join("::");
                    dependencies.insert(Dependency { from: from.clone(), to, path });
                }
            }
        }
        dependencies
    }

    /// Returns the module that defines the item, or `None` if another crate defines it.
    fn resolve(&self, named: &Named, imports: usize) -> Option<ModulePath> {
        let start = self.start(named);
        let is_ours = start.is_some();
        let (mut module, mut rest) = start.unwrap_or((named.scope.clone(), &named.path[..]));
        while let Some((name, after)) = rest.split_first().filter(|_| is_ours) {
            module.push(name.clone());
            if !self.modules.contains_key(&module) {
                module.pop();
                break;
            }
            rest = after;
        }
        match self.imported(named, &module, rest) {
            Some(import) if imports > 0 => self.resolve(&import, imports - 1),
            _ => is_ours.then(|| self.file_module(module)),
        }
    }

    fn imported(&self, named: &Named, module: &[String], rest: &[String]) -> Option<Named> {
        let (name, after) = rest.split_first()?;
        let import = self.imports.get(&(module.to_vec(), name.clone()))?;
        let path = [&import.path[..], after].concat();
        (import != named).then(|| Named { path, ..import.clone() })
    }

    /// Splits a path into the module at its start and the remaining names. Returns `None` if the path starts outside
    /// the crate.
    fn start<'a>(&self, named: &'a Named) -> Option<(ModulePath, &'a [String])> {
        let (mut module, mut rest) = (named.scope.clone(), &named.path[..]);
        match rest.first()?.as_str() {
            "crate" => {
                module.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    module.pop()?;
                    rest = &rest[1..];
                }
            }
            child => {
                let module = [&module[..], &[child.to_owned()]].concat();
                self.modules.contains_key(&module).then_some(())?;
            }
        }
        Some((module, rest))
    }

    /// Returns the module whose file contains this module. For an inline module, this is an outer module.
    fn file_module(&self, mut module: ModulePath) -> ModulePath {
        while !self.modules.contains_key(&module) {
            module.pop();
        }
        module
    }
}

#[cfg(test)]
pub(crate) fn crate_of(files: &[(&str, &str)]) -> Crate {
    let mut made = Crate::default();
    for (module, code) in files {
        let module = module.split("::").filter(|name| !name.is_empty()).map(str::to_owned);
        made.add(module.collect(), &syn::parse_file(code).unwrap());
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependencies(files: &[(&str, &str)]) -> Vec<String> {
        let found = crate_of(files).dependencies();
        found
            .iter()
            .map(|found| format!("{} -> {}", found.from.join("::"), found.to.join("::")))
            .collect()
    }

    #[test]
    fn names_are_found_where_they_are_defined() {
        let root = ("", "mod a; mod b; pub use b::B;");
        for (code, expected) in [
            ("use crate::b::B;", &["a -> b"][..]),
            ("use super::b::c::C;", &["a -> b"]),
            // The root re-exports `B`, and counts as the module that defines `Other`.
            ("use crate::B;", &["a -> b"]),
            ("use crate::Other;", &["a -> "]),
            // `Serialize` belongs to another crate, and `A` is defined in the same file.
            ("use serde::Serialize; struct A; fn f(_: A, _: Serialize) {}", &[]),
            ("mod inner { fn f() { super::super::b::g(); } }", &["a -> b"]),
            ("fn f() { vec![crate::b::g()]; }", &["a -> b"]),
        ] {
            let found = dependencies(&[root, ("a", code), ("b", "pub struct B;")]);
            assert_eq!(found, expected, "{code}");
        }
    }

    #[test]
    fn re_exporting_a_name_is_not_a_dependency_but_using_it_is() {
        let child = ("a", "pub struct A;");
        assert!(dependencies(&[("", "mod a; pub use a::A;"), child]).is_empty());
        let root = ("", "mod a; pub use a::A; fn f(_: A) {}");
        assert_eq!(dependencies(&[root, child]), [" -> a"]);
    }
}
