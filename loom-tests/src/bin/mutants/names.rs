//! Whether the models that are named exist, and whether the README's table has every model and
//! every edit.

use crate::{ALL, Mutant, Trial, Verdict};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What is not as it is said to be, a line each.
pub(crate) fn wrong(root: &Path, mutants: &[Mutant]) -> io::Result<Vec<String>> {
    let models = models(root)?;
    let named = named(root)?;
    let rows = rows(&fs::read_to_string(root.join("loom-tests/README.md"))?);
    let told: BTreeSet<String> = rows.iter().map(|(model, _)| model.clone()).collect();
    let told_pairs =
        rows.iter().flat_map(|(model, edits)| edits.iter().map(|edit| pair(edit, model))).collect();
    let stored = pairs(mutants, |_| true);
    let caught = pairs(mutants, |trial| trial.expected == Verdict::Caught);
    let in_edits = stored.into_iter().map(|pair| pair.1).filter(|model| model != ALL).collect();
    Ok([
        missing(&named, &models, "is named, and there is no such model"),
        missing(&in_edits, &models, "is named by an edit, and there is no such model"),
        missing(&models, &told, "is a model that the README does not tell of"),
        missing(&told, &models, "is told of by the README, and there is no such model"),
        missing(&caught, &told_pairs, "are an edit and its model that the README does not tell of"),
        missing(&told_pairs, &caught, "are told of by the README, and no edit says so"),
    ]
    .concat())
}

/// Those that are not in `all`.
fn missing<T: Ord + Debug>(some: &BTreeSet<T>, all: &BTreeSet<T>, what: &str) -> Vec<String> {
    some.difference(all).map(|one| format!("{one:?} {what}")).collect()
}

fn pair(edit: &str, model: &str) -> (String, String) {
    (edit.to_owned(), model.to_owned())
}

/// Edits and the models that they are tried on.
fn pairs(mutants: &[Mutant], is_wanted: fn(&&Trial) -> bool) -> BTreeSet<(String, String)> {
    let of = |mutant: &Mutant| {
        let wanted = mutant.trials.iter().filter(is_wanted);
        wanted.map(|trial| pair(&mutant.name, &trial.model)).collect::<Vec<_>>()
    };
    mutants.iter().flat_map(of).collect()
}

/// Every test of `loom-tests/tests`.
fn models(root: &Path) -> io::Result<BTreeSet<String>> {
    let mut models = BTreeSet::new();
    for path in files(&root.join("loom-tests/tests"))? {
        let text = fs::read_to_string(path)?;
        let functions = text.split("#[test]\nfn ").skip(1).filter_map(|rest| rest.split_once("()"));
        models.extend(functions.map(|(name, _)| name.to_owned()));
    }
    Ok(models)
}

/// The models that are named in comments and in the page on orderings.
fn named(root: &Path) -> io::Result<BTreeSet<String>> {
    let mut paths = vec![root.join("docs/MEMORY-ORDERING.md")];
    for part in ["crates/core/src", "crates/limits/src", "crates/keyed/src"] {
        paths.extend(files(&root.join(part))?);
    }
    let mut named = BTreeSet::new();
    for path in paths {
        named.extend(named_models(&fs::read_to_string(path)?));
    }
    Ok(named)
}

/// All files in and below a folder.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

/// The names in sentences that begin with `Model:` or `Models:`, and in the last column of tables
/// about orderings.
fn named_models(text: &str) -> BTreeSet<String> {
    let lines =
        text.lines().map(|line| line.trim().trim_start_matches('/').trim_start_matches('!').trim());
    let flowing = lines.clone().collect::<Vec<_>>().join(" ");
    let sentences = flowing
        .split("Model")
        .skip(1)
        .filter(|rest| rest.starts_with(": ") || rest.starts_with("s: "));
    let told = sentences.map(|rest| rest.split(". ").next().unwrap_or(rest).to_owned());
    let columns = lines
        .filter(|line| line.starts_with("| `"))
        .filter_map(|line| line.trim_end_matches(" |").rsplit(" | ").next());
    told.chain(columns.map(str::to_owned))
        .flat_map(|text| code_words(&text))
        .filter(|word| is_name(word))
        .collect()
}

/// Names of models are sentences.
fn is_name(word: &str) -> bool {
    word.matches('_').count() >= 2
        && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
}

/// What stands between backquotes.
fn code_words(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Of the README's table of models: each model, and the edits that break it.
fn rows(readme: &str) -> Vec<(String, Vec<String>)> {
    let cells = |line: &str| line.trim_matches('|').split('|').map(code_words).collect::<Vec<_>>();
    let rows = readme
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(cells)
        .filter(|cells| cells.len() == 7);
    rows.filter_map(|mut cells| Some((cells[0].pop()?, cells.pop()?))).collect()
}
