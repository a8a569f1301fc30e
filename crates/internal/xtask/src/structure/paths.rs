//! Finds the paths in a file: in `use` declarations, in other code, in macros, and in attributes.

use crate::sources::is_for_tests;
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, Meta, UseTree, VisRestricted, Visibility};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) scope: Vec<String>,
    pub(crate) path: Vec<String>,
    /// The name that a `use` declaration gives to the path, or `None` for globs and outside `use` declarations.
    pub(crate) import: Option<String>,
    /// Whether the `use` declaration has a visibility, such as `pub use`.
    pub(crate) is_reexport: bool,
}

pub(crate) struct Paths {
    scope: Vec<String>,
    in_reexport: bool,
    pub(crate) found: Vec<Named>,
}

impl Paths {
    pub(crate) fn of(file: &syn::File, scope: Vec<String>) -> Paths {
        let mut paths = Paths { scope, in_reexport: false, found: Vec::new() };
        paths.visit_file(file);
        paths
    }

    fn add(&mut self, path: Vec<String>, import: Option<String>) {
        let (scope, is_reexport) = (self.scope.clone(), self.in_reexport);
        self.found.push(Named { scope, path, import, is_reexport });
    }

    fn add_tree(&mut self, prefix: &[String], tree: &UseTree) {
        let joined = |name: String| [prefix, &[name]].concat();
        match tree {
            UseTree::Path(path) => self.add_tree(&joined(path.ident.to_string()), &path.tree),
            UseTree::Name(name) if name.ident == "self" => {
                self.add(prefix.to_vec(), prefix.last().cloned());
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.add(joined(name.clone()), Some(name));
            }
            UseTree::Rename(rename) => {
                let name = rename.ident.to_string();
                let path = if name == "self" { prefix.to_vec() } else { joined(name) };
                self.add(path, Some(rename.rename.to_string()));
            }
            UseTree::Glob(_) => self.add(prefix.to_vec(), None),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.add_tree(prefix, tree));
            }
        }
    }

    /// Adds the paths in tokens that `syn` does not parse: lists of names that are joined by `::`.
    ///
    /// `colons` is the number of `:` since the last name. Only two of them join the next name to the path.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                // This name is part of a path such as `::name` or `field: ::name`. The later names of that path are
                // skipped too, because `path` stays empty.
                TokenTree::Ident(_) if colons == 3 || colons == 2 && path.is_empty() => {
                    self.add_named(std::mem::take(&mut path));
                }
                TokenTree::Ident(name) if colons == 2 => path.push(name.to_string()),
                TokenTree::Ident(name) => {
                    self.add_named(std::mem::replace(&mut path, vec![name.to_string()]));
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                other => {
                    self.add_named(std::mem::take(&mut path));
                    if let TokenTree::Group(group) = other {
                        self.add_tokens(group.stream());
                    }
                }
            }
            colons = 0;
        }
        self.add_named(path);
    }

    fn add_named(&mut self, path: Vec<String>) {
        if !path.is_empty() {
            self.add(path, None);
        }
    }
}

/// Skips paths that begin with `::`, because their first name is another crate.
impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        self.scope.push(module.ident.to_string());
        let items = module.content.iter().flat_map(|(_, items)| items);
        items.for_each(|item| self.visit_item(item));
        self.scope.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if item.leading_colon.is_none() {
            self.in_reexport = !matches!(item.vis, Visibility::Inherited);
            self.add_tree(&[], &item.tree);
            self.in_reexport = false;
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.add_named(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        self.add_tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.add_tokens(list.tokens.clone());
        }
    }

    /// Ignores `pub(in crate::module)`, which names a module but does not depend on it.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(code: &str) -> Vec<String> {
        let file = syn::parse_file(code).unwrap();
        let found = Paths::of(&file, vec!["here".to_owned()]).found;
        found
            .iter()
            .filter(|named| named.path.len() > 1)
            .map(|named| format!("{}: {}", named.scope.join("::"), named.path.join("::")))
            .collect()
    }

    #[test]
    fn declarations_code_and_macros_name_paths() {
        for (code, expected) in [
            ("use crate::a::{b, c::D as E};", &["here: crate::a::b", "here: crate::a::c::D"][..]),
            ("use super::a::{self, *};", &["here: super::a", "here: super::a"]),
            ("fn f() { a::g(); h(); }", &["here: a::g"]),
            (
                "fn f() { format!(\"{}\", super::a::g(b::c(1))); }",
                &["here: super::a::g", "here: b::c"],
            ),
            ("mod inner { use super::a; }", &["here::inner: super::a"]),
            ("pub(in crate::a) fn f() {}", &[]),
            ("use ::std::fmt::Debug; fn f() { ::std::mem::drop(()); }", &[]),
            (
                "fn f() { m!(::std::mem::drop(1), x: ::std::f(a::g(2)), <T>::new); }",
                &["here: a::g"],
            ),
            (
                "fn f() { m!(a::b::<c::D>::e, x: super::g) }",
                &["here: a::b", "here: c::D", "here: super::g"],
            ),
            ("#[cfg(test)] mod tests { use crate::a::b; }", &[]),
            ("#[cfg(test)] const C: a::B = a::B::C; #[cfg(test)] static S: a::B = a::B::C;", &[]),
            ("#[cfg(test)] struct S(a::B); #[cfg(test)] enum E { B(a::B) }", &[]),
            ("#[cfg(test)] trait T: a::B {} #[cfg(test)] type U = a::B;", &[]),
            ("#[cfg(test)] fn f() { a::b() } #[cfg(test)] impl a::T for S {}", &[]),
            ("#[cfg(test)] use crate::a::b;", &[]),
            ("#[cfg(not(test))] use crate::a::b;", &["here: crate::a::b"]),
            ("/// [`crate::a::b`] \nfn f() { \"crate::a::b\"; }", &[]),
        ] {
            assert_eq!(paths(code), expected, "{code}");
        }
    }
}
