//! Tests the configuration: its entries, batches of changes, and versions.

use nanopace_keyed::{Change, ConfigSnapshot, ConfigStore, MemoryConfig, Scope};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A change: whether it is for a prefix; the name of the prefix or key; the new count per second, where `None` removes
/// the limits.
type Step = (bool, String, Option<u64>);

pub(crate) fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let name = prop_oneof![4 => "[ab\u{e9}]{0,3}", 1 => any::<String>()];
    prop::collection::vec((any::<bool>(), name, prop::option::weighted(0.7, 1..5_u64)), 0..30)
}

pub(crate) fn changes(steps: &[Step]) -> Vec<Change<'_>> {
    steps.iter().map(change).collect()
}

fn change((is_prefix, name, count): &Step) -> Change<'_> {
    let scope = if *is_prefix { Scope::Prefix(name) } else { Scope::Key(name) };
    match count {
        Some(count) => Change::set(scope, format!("{count}/s, 1000/h in 60").parse().unwrap()),
        None => Change::unset(scope),
    }
}

fn listed(snapshot: &ConfigSnapshot) -> Vec<(bool, String, String)> {
    let keys = snapshot.keys().map(|(key, limits)| (false, key.to_owned(), limits.to_string()));
    let prefixes = snapshot.prefixes();
    keys.chain(prefixes.map(|(prefix, limits)| (true, prefix.to_owned(), limits.to_string())))
        .collect()
}

fn expected(steps: &[Step]) -> Vec<(bool, String, String)> {
    let mut all = BTreeMap::new();
    for (is_prefix, name, count) in steps {
        all.insert((*is_prefix, name.clone()), count);
    }
    let text = |count: &u64| format!("{count}/s, 1000/h in 60");
    all.into_iter()
        .filter_map(|((is_prefix, name), count)| Some((is_prefix, name, count.as_ref().map(text)?)))
        .collect()
}

proptest! {
    #[test]
    fn a_batch_is_its_changes_one_by_one(steps in any_steps()) {
        let (at_once, one_by_one) = (MemoryConfig::new(), MemoryConfig::new());
        let found = at_once.apply(&changes(&steps)).unwrap();
        let each = |change: &Change<'_>| one_by_one.apply(std::slice::from_ref(change)).unwrap();
        prop_assert_eq!(found, changes(&steps).iter().map(each).sum::<usize>());
        prop_assert_eq!(at_once.snapshot(), one_by_one.snapshot());
        prop_assert_eq!(listed(&at_once.snapshot()), expected(&steps));
        prop_assert_eq!(at_once.snapshot().keys().len(), at_once.snapshot().keys().count());
    }

    #[test]
    fn a_snapshot_never_changes(before in any_steps(), after in any_steps()) {
        let config = MemoryConfig::new();
        config.apply(&changes(&before)).unwrap();
        let snapshot = config.snapshot();
        config.apply(&changes(&after)).unwrap();
        prop_assert_eq!(listed(&snapshot), expected(&before));
        prop_assert_eq!(listed(&config.snapshot()), expected(&[before, after].concat()));
    }

    #[test]
    fn the_difference_makes_one_of_the_other(one in any_steps(), other in any_steps()) {
        let (one_config, other_config) = (MemoryConfig::new(), MemoryConfig::new());
        one_config.apply(&changes(&one)).unwrap();
        other_config.apply(&changes(&other)).unwrap();
        let (from, to) = (one_config.snapshot(), other_config.snapshot());
        let difference = to.changes_from(&from);
        one_config.apply(&difference).unwrap();
        prop_assert_eq!(&one_config.snapshot(), &to);
        prop_assert!(to.changes_from(&to).is_empty());
        let same = listed(&from).into_iter().filter(|entry| listed(&to).contains(entry)).count();
        let names = |all: &ConfigSnapshot| listed(all).into_iter().map(|(is_prefix, name, _)| (is_prefix, name));
        let all: std::collections::BTreeSet<_> = names(&from).chain(names(&to)).collect();
        prop_assert_eq!(difference.len(), all.len() - same);
    }

    #[test]
    fn a_change_of_limits_changes_the_version(steps in any_steps(), key in "[ab\u{e9}]{0,3}") {
        let config = MemoryConfig::new();
        for change in changes(&steps) {
            let (limits, version) = (config.limits_of(&key), config.version_of(&key));
            config.apply(&[change]).unwrap();
            if config.version_of(&key) == version {
                prop_assert_eq!(config.limits_of(&key), limits);
            }
        }
    }
}

#[test]
fn a_change_of_one_key_concerns_few_others() {
    let config = MemoryConfig::new();
    let keys: Vec<String> = (0..10_000).map(|number| format!("user {number}")).collect();
    let versions = || keys.iter().map(|key| config.version_of(key)).collect::<Vec<_>>();
    let before = versions();
    config.set(Scope::Key(&keys[0]), "1/s".parse().unwrap()).unwrap();
    let after = versions();
    assert_ne!(before[0], after[0]);
    let concerned = before.iter().zip(&after).filter(|(before, after)| before != after).count();
    assert!(concerned < 100, "{concerned} of 10000");
    config.set(Scope::Prefix("user"), "1/s".parse().unwrap()).unwrap();
    assert!(versions().iter().zip(&after).all(|(now, after)| now != after));
}
