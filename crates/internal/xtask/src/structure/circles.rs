//! Finds circular dependencies of modules, folder by folder.

use super::modules::{Crate, Dependency};
use crate::sources::ModulePath;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::{self, Display, Formatter};

pub(crate) const ITSELF: &str = "(itself)";

#[derive(Debug)]
pub(crate) struct Circle {
    /// The module that the folder belongs to. Empty for the crate's root.
    pub(crate) folder: String,
    /// Each module of the circle, with a dependency on the next one.
    links: Vec<(String, Dependency)>,
}

impl Circle {
    pub(crate) fn members(&self) -> impl Iterator<Item = &str> {
        self.links.iter().map(|(name, _)| name.as_str())
    }
}

impl Display for Circle {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let folder = folder_name(&self.folder);
        let names: Vec<&str> = self.members().chain(self.members().next()).collect();
        writeln!(f, "  circle in {folder}: {}", names.join(" -> "))?;
        for (_, Dependency { from, path, .. }) in &self.links {
            let from =
                if from.is_empty() { "the crate's root".to_owned() } else { from.join("::") };
            writeln!(f, "    {from} names {path}")?;
        }
        Ok(())
    }
}

pub(crate) fn folder_name(folder: &str) -> &str {
    if folder.is_empty() { "the crate's root" } else { folder }
}

/// The dependencies between the modules of a folder, with one example per pair of modules.
type Graph = BTreeMap<String, BTreeMap<String, Dependency>>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerated {
    pub(crate) in_crate: &'static str,
    pub(crate) folder: &'static str,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    pub(crate) reason: &'static str,
}

#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) circles: Vec<Circle>,
    pub(crate) outdated: Vec<Tolerated>,
}

pub(crate) fn find(of: &Crate, tolerated: &[Tolerated]) -> Found {
    let dependencies = of.dependencies();
    let folders: BTreeSet<&[String]> =
        of.modules.keys().filter_map(|module| Some(module.split_last()?.1)).collect();
    let mut found = Found { circles: Vec::new(), outdated: tolerated.to_vec() };
    for folder in folders {
        let name = folder.join("::");
        let mut graph = graph(folder, &dependencies);
        found.outdated.retain(|pair| pair.folder != name || !closes_circle(&graph, pair));
        for pair in tolerated.iter().filter(|pair| pair.folder == name) {
            graph.get_mut(pair.from).and_then(|targets| targets.remove(pair.to));
        }
        found.circles.extend(circles_in(&name, &graph));
    }
    found
}

fn closes_circle(graph: &Graph, pair: &Tolerated) -> bool {
    let exists = graph.get(pair.from).is_some_and(|targets| targets.contains_key(pair.to));
    exists && way(graph, pair.to, pair.from).is_some()
}

fn circles_in(folder: &str, graph: &Graph) -> Vec<Circle> {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut circles = Vec::new();
    for start in graph.keys() {
        if seen.contains(start) {
            continue;
        }
        if let Some(names) = way(graph, start, start) {
            seen.extend(names.iter().cloned());
            let next = names.iter().cycle().skip(1);
            let links = names.iter().zip(next);
            let links = links.map(|(from, to)| (from.clone(), graph[from][to].clone())).collect();
            circles.push(Circle { folder: folder.to_owned(), links });
        }
    }
    circles
}

fn graph(folder: &[String], dependencies: &BTreeSet<Dependency>) -> Graph {
    let node = |module: &ModulePath| {
        let below = module.strip_prefix(folder)?;
        Some(below.first().cloned().unwrap_or_else(|| ITSELF.to_owned()))
    };
    let mut graph = Graph::new();
    for dependency in dependencies {
        if let (Some(from), Some(to)) = (node(&dependency.from), node(&dependency.to))
            && from != to
        {
            graph.entry(from).or_default().entry(to).or_insert_with(|| dependency.clone());
        }
    }
    graph
}

/// Returns the shortest path of at least one step from one module to another, without the last module.
fn way(graph: &Graph, start: &str, end: &str) -> Option<Vec<String>> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(name) = queue.pop_front() {
        for next in graph.get(name).into_iter().flat_map(BTreeMap::keys) {
            if next == end {
                return Some(trace(start, name, &came_from));
            }
            if next != start && !came_from.contains_key(next.as_str()) {
                came_from.insert(next, name);
                queue.push_back(next);
            }
        }
    }
    None
}

fn trace(start: &str, end: &str, came_from: &BTreeMap<&str, &str>) -> Vec<String> {
    let mut way = vec![end.to_owned()];
    let mut name = end;
    while name != start {
        name = came_from[name];
        way.push(name.to_owned());
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::modules::crate_of;

    fn circles(files: &[(&str, &str)], tolerated: &[Tolerated]) -> Vec<String> {
        let found = find(&crate_of(files), tolerated);
        let shown = found.circles.iter().map(|circle| {
            format!("{}: {}", circle.folder, circle.members().collect::<Vec<_>>().join(" "))
        });
        let outdated = found.outdated.iter().map(|pair| format!("outdated {}", pair.from));
        shown.chain(outdated).collect()
    }

    const ROUND: [(&str, &str); 4] = [
        ("", "mod a; mod b; mod c;"),
        ("a", "use crate::b::B;"),
        ("b", "fn f() { crate::c::g(); }"),
        ("c", "use super::a;"),
    ];

    const BROKEN: Tolerated =
        Tolerated { in_crate: "this", folder: "", from: "b", to: "c", reason: "it is a test" };

    #[test]
    fn a_circle_is_named_once() {
        assert_eq!(circles(&ROUND, &[]), [": a b c"]);
        assert!(circles(&ROUND[..3], &[]).is_empty());
    }

    #[test]
    fn a_tolerated_dependency_excuses_only_its_own_circle() {
        assert!(circles(&ROUND, &[BROKEN]).is_empty());
        let mut two = ROUND.to_vec();
        two[2].1 = "use crate::c; use crate::a;";
        assert_eq!(circles(&two, &[BROKEN]), [": a b"]);
        assert_eq!(circles(&ROUND[..3], &[BROKEN]), ["outdated b"]);
        let unknown = Tolerated { folder: "elsewhere", ..BROKEN };
        assert_eq!(circles(&ROUND, &[unknown]), [": a b c", "outdated b"]);
    }

    #[test]
    fn a_module_includes_the_modules_below_it_and_folders_are_checked_too() {
        let files = [
            ("", "mod a; mod b;"),
            ("a", "mod x; mod y;"),
            ("a::x", "use super::y::Y; use crate::b;"),
            ("a::y", "use super::x::X;"),
            ("b", "use crate::a::y::Y;"),
        ];
        assert_eq!(circles(&files, &[]), [": a b", "a: x y"]);
    }

    #[test]
    fn a_module_and_its_children_are_not_one_unit() {
        let files = [("", "mod a;"), ("a", "mod x; fn f() { x::g(); }"), ("a::x", "use super::f;")];
        assert_eq!(circles(&files, &[]), ["a: (itself) x"]);
    }
}
