//! Checks that all named models exist, and that each model has an edit that breaks it.

use crate::{ALL, Mutant, Trial, Verdict};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) fn wrong(root: &Path, mutants: &[Mutant]) -> io::Result<Vec<String>> {
    let models = models(root)?;
    let in_edits = of_edits(mutants, |trial| trial.model != ALL);
    let broken = of_edits(mutants, |trial| trial.expected == Verdict::Caught);
    Ok([
        missing(
            &named(root)?,
            &models,
            "is named in a comment or a page, but there is no such model",
        ),
        missing(&in_edits, &models, "is named in an edit, but there is no such model"),
        missing(&models, &broken, "is a model that no edit breaks"),
    ]
    .concat())
}

fn missing(some: &BTreeSet<String>, all: &BTreeSet<String>, what: &str) -> Vec<String> {
    some.difference(all).map(|one| format!("{one} {what}")).collect()
}

fn of_edits(mutants: &[Mutant], is_wanted: fn(&&Trial) -> bool) -> BTreeSet<String> {
    let trials = mutants.iter().flat_map(|mutant| &mutant.trials);
    trials.filter(is_wanted).map(|trial| trial.model.clone()).collect()
}

fn models(root: &Path) -> io::Result<BTreeSet<String>> {
    let mut models = BTreeSet::new();
    for path in files(&root.join("loom-tests/tests"))? {
        let text = fs::read_to_string(path)?;
        let functions = text.split("#[test]\nfn ").skip(1).filter_map(|rest| rest.split_once("()"));
        models.extend(functions.map(|(name, _)| name.to_owned()));
    }
    Ok(models)
}

fn named(root: &Path) -> io::Result<BTreeSet<String>> {
    let mut paths = vec![root.join("docs/MEMORY-ORDERING.md")];
    for part in ["crates/engine/core/src", "crates/limits/limits/src", "crates/limits/keyed/src"] {
        paths.extend(files(&root.join(part))?);
    }
    let mut named = BTreeSet::new();
    for path in paths {
        named.extend(named_models(&fs::read_to_string(path)?));
    }
    Ok(named)
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

/// Returns the names in sentences that begin with `Model:` or `Models:`.
fn named_models(text: &str) -> BTreeSet<String> {
    let lines =
        text.lines().map(|line| line.trim().trim_start_matches('/').trim_start_matches('!').trim());
    let flowing = lines.collect::<Vec<_>>().join(" ");
    let sentences = flowing
        .split("Model")
        .skip(1)
        .filter(|rest| rest.starts_with(": ") || rest.starts_with("s: "));
    let told = sentences.map(|rest| rest.split(". ").next().unwrap_or(rest));
    told.flat_map(code_words).filter(|word| is_name(word)).collect()
}

fn is_name(word: &str) -> bool {
    word.matches('_').count() >= 2
        && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
}

fn code_words(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}
