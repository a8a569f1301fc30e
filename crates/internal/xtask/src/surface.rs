//! Lists the public items of a crate by name: the items that its root and its public modules declare or re-export, with
//! their methods, associated constants, public fields and variants. Hidden items, items from macros, and implemented
//! traits are left out.

use crate::sources::{self, ModulePath, attributes, is_for_tests, is_hidden};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::Path;
use syn::{Field, Ident, ImplItem, Item, ItemImpl, TraitItem, UseTree, Visibility};

#[derive(Default)]
pub(crate) struct Surface {
    types: usize,
    methods: usize,
    /// The items by their paths from the crate's root, each with its kind and the names of its members.
    rows: BTreeMap<String, (&'static str, Vec<String>)>,
    /// The listed name of each item, by the path of its definition.
    shown: BTreeMap<ModulePath, String>,
}

impl Surface {
    pub(crate) fn read(folder: &Path) -> Result<Surface, String> {
        let files = sources::read(folder)?;
        Ok(Surface::of(files.into_iter().map(|(module, file)| (module, file.items)).collect()))
    }

    fn of(files: BTreeMap<ModulePath, Vec<Item>>) -> Surface {
        let mut modules = Modules::default();
        for (module, items) in files {
            modules.add(module, items);
        }
        modules.add_methods();
        let mut surface = Surface::default();
        surface.add_module(&modules, &[], "");
        surface
    }

    fn add_module(&mut self, modules: &Modules, module: &[String], prefix: &str) {
        for import in modules.imports.get(module).into_iter().flatten().filter(|it| it.is_public) {
            let name = format!("{prefix}{}", import.name);
            match modules.find(module, &import.path) {
                Some((home, item)) => self.add_item(modules, home, item, name),
                None => _ = self.rows.insert(name, ("use", vec![import.path.join("::")])),
            }
        }
        let shown = |item: &&Item| !is_hidden(attributes(item));
        for item in modules.items.get(module).into_iter().flatten().filter(shown) {
            let Some((kind, name, Visibility::Public(_))) = described(item) else { continue };
            let path = [module, &[name.to_string()]].concat();
            if kind == "mod" {
                self.add_module(modules, &path, &format!("{prefix}{name}::"));
            } else {
                self.add_item(modules, path, item, format!("{prefix}{name}"));
            }
        }
    }

    fn add_item(&mut self, modules: &Modules, home: ModulePath, item: &Item, name: String) {
        let Some((kind, ..)) = described(item) else { return };
        if let Some(first) = self.shown.get(&home) {
            self.rows.entry(name).or_insert_with(|| ("use", vec![first.clone()]));
            return;
        }
        let mut all = members(item);
        all.extend(modules.members.get(&home).into_iter().flatten().cloned());
        self.types += usize::from(["struct", "enum", "trait"].contains(&kind));
        self.methods += all.iter().filter(|member| member.is_method).count();
        self.shown.insert(home, name.clone());
        self.rows.insert(name, (kind, all.into_iter().map(|member| member.name).collect()));
    }
}

impl Display for Surface {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Surface { types, methods, rows, .. } = self;
        writeln!(f, "{types} types, {methods} methods\n\n| item | members |\n|---|---|")?;
        for (name, (kind, members)) in rows {
            writeln!(f, "| {kind} `{name}` | {} |", members.join(", "))?;
        }
        Ok(())
    }
}

#[derive(Clone)]
struct Member {
    name: String,
    is_method: bool,
}

impl Member {
    fn of(name: &Ident, is_method: bool) -> Member {
        Member { name: name.to_string(), is_method }
    }
}

fn members(item: &Item) -> Vec<Member> {
    match item {
        Item::Struct(item) => item.fields.iter().filter_map(public_field).collect(),
        Item::Enum(item) => item.variants.iter().map(|it| Member::of(&it.ident, false)).collect(),
        Item::Trait(item) => item.items.iter().filter_map(of_trait).collect(),
        _ => Vec::new(),
    }
}

fn public_field(field: &Field) -> Option<Member> {
    let member = field.ident.as_ref().map(|name| Member::of(name, false));
    matches!(field.vis, Visibility::Public(_))
        .then(|| member.unwrap_or(Member { name: "0".to_owned(), is_method: false }))
}

fn of_trait(item: &TraitItem) -> Option<Member> {
    let (name, is_method, attributes) = match item {
        TraitItem::Fn(item) => (&item.sig.ident, true, &item.attrs),
        TraitItem::Type(item) => (&item.ident, false, &item.attrs),
        TraitItem::Const(item) => (&item.ident, false, &item.attrs),
        _ => return None,
    };
    (!is_hidden(attributes)).then(|| Member::of(name, is_method))
}

fn of_type(item: &ImplItem) -> Option<Member> {
    match item {
        ImplItem::Fn(item)
            if matches!(item.vis, Visibility::Public(_)) && !is_hidden(&item.attrs) =>
        {
            Some(Member::of(&item.sig.ident, true))
        }
        ImplItem::Const(item)
            if matches!(item.vis, Visibility::Public(_)) && !is_hidden(&item.attrs) =>
        {
            Some(Member::of(&item.ident, false))
        }
        _ => None,
    }
}

fn described(item: &Item) -> Option<(&'static str, &Ident, &Visibility)> {
    match item {
        Item::Const(item) => Some(("const", &item.ident, &item.vis)),
        Item::Enum(item) => Some(("enum", &item.ident, &item.vis)),
        Item::Fn(item) => Some(("fn", &item.sig.ident, &item.vis)),
        Item::Mod(item) => Some(("mod", &item.ident, &item.vis)),
        Item::Static(item) => Some(("static", &item.ident, &item.vis)),
        Item::Struct(item) => Some(("struct", &item.ident, &item.vis)),
        Item::Trait(item) => Some(("trait", &item.ident, &item.vis)),
        Item::Type(item) => Some(("type", &item.ident, &item.vis)),
        _ => None,
    }
}

struct Import {
    name: String,
    path: Vec<String>,
    is_public: bool,
}

#[derive(Default)]
struct Modules {
    items: BTreeMap<ModulePath, Vec<Item>>,
    imports: BTreeMap<ModulePath, Vec<Import>>,
    /// The public members in the `impl` blocks of each type, by the path of the type's definition.
    members: BTreeMap<ModulePath, Vec<Member>>,
}

impl Modules {
    fn add(&mut self, module: ModulePath, items: Vec<Item>) {
        let mut items: Vec<Item> = items.into_iter().filter(|item| !is_for_tests(item)).collect();
        for item in &mut items {
            if let Item::Use(item) = item {
                let is_public = matches!(item.vis, Visibility::Public(_));
                let imports = self.imports.entry(module.clone()).or_default();
                add_imports(imports, is_public, &[], &item.tree);
            } else if let Item::Mod(inner) = item
                && let Some((_, items)) = inner.content.take()
            {
                self.add([&module[..], &[inner.ident.to_string()]].concat(), items);
            }
        }
        self.items.insert(module, items);
    }

    fn add_methods(&mut self) {
        let mut found: BTreeMap<ModulePath, Vec<Member>> = BTreeMap::new();
        for (module, items) in &self.items {
            for item in items {
                let Item::Impl(item @ ItemImpl { trait_: None, .. }) = item else { continue };
                let syn::Type::Path(of) = &*item.self_ty else { continue };
                if is_hidden(&item.attrs) {
                    continue;
                }
                let path: Vec<String> =
                    of.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
                let Some((home, _)) = self.find(module, &path) else { continue };
                found.entry(home).or_default().extend(item.items.iter().filter_map(of_type));
            }
        }
        self.members = found;
    }

    fn find(&self, module: &[String], path: &[String]) -> Option<(ModulePath, &Item)> {
        let (first, rest) = path.split_first()?;
        let inner = [module, std::slice::from_ref(first)].concat();
        match first.as_str() {
            "crate" => return self.find(&[], rest),
            "self" => return self.find(module, rest),
            "super" => return self.find(module.split_last()?.1, rest),
            _ if !rest.is_empty() && self.items.contains_key(&inner) => {
                return self.find(&inner, rest);
            }
            _ => {}
        }
        let is_it = |item: &&Item| {
            described(item).is_some_and(|(kind, name, _)| kind != "mod" && name == first)
        };
        if let Some(item) = self.items.get(module)?.iter().find(is_it).filter(|_| rest.is_empty()) {
            return Some((inner, item));
        }
        let import = self.imports.get(module)?.iter().find(|it| it.name == *first)?;
        let path = [&import.path[..], rest].concat();
        (import.path[0] != *first).then(|| self.find(module, &path)).flatten()
    }
}

fn add_imports(imports: &mut Vec<Import>, is_public: bool, prefix: &[String], tree: &UseTree) {
    let joined = |name: &Ident| [prefix, &[name.to_string()]].concat();
    let mut add = |name: String, path| imports.push(Import { name, path, is_public });
    match tree {
        UseTree::Path(path) => add_imports(imports, is_public, &joined(&path.ident), &path.tree),
        UseTree::Name(name) => add(name.ident.to_string(), joined(&name.ident)),
        UseTree::Rename(rename) => add(rename.rename.to_string(), joined(&rename.ident)),
        UseTree::Glob(_) => add("*".to_owned(), prefix.to_vec()),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| add_imports(imports, is_public, prefix, tree));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_that_can_be_named_from_outside_are_listed() {
        let root = "mod a; pub mod b; pub use a::{A, Open as O}; pub use other::Else; struct Own;";
        let a = "pub struct A { pub x: u8, y: u8 } pub enum Open { V } pub struct Hidden; \
                 impl A { pub fn f() {} fn g() {} pub(crate) fn h() {} #[doc(hidden)] pub fn m() {} #[doc(hidden)] pub const P: u8 = 0; } \
                 #[doc(hidden)] impl A { pub fn n() {} } impl Hidden { pub fn i() {} }";
        let b = "use crate::a::A; impl A { pub fn k() {} } pub trait T { fn l(); #[doc(hidden)] fn o(); } \
                 #[cfg(test)] pub struct Test; #[doc(hidden)] pub mod internal { pub use crate::a::Hidden; } impl Clone for A { fn clone() {} }";
        let files = [("", root), ("a", a), ("b", b)].map(|(module, code)| {
            let module = module.split("::").filter(|it| !it.is_empty()).map(str::to_owned);
            (module.collect(), syn::parse_file(code).unwrap().items)
        });
        let shown = Surface::of(files.into()).to_string();
        let rows: Vec<&str> = shown.lines().skip(4).collect();
        assert!(shown.starts_with("3 types, 3 methods\n"), "{shown}");
        assert_eq!(
            rows,
            [
                "| struct `A` | x, f, k |",
                "| use `Else` | other::Else |",
                "| enum `O` | V |",
                "| trait `b::T` | l |"
            ]
        );
    }
}
