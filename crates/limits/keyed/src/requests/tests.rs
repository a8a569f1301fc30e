//! Memory follows the number of active keys.

use super::RequestStore;
use crate::sync::lock;
use nanopace_limits::Gcra;
use nanopace_nanos::Nanos;

const HOUR: u64 = 3_600_000_000_000;

/// How many keys the tables have room for.
fn room(store: &RequestStore<u32, Gcra>) -> usize {
    store.shards.iter().map(|shard| lock(shard).entries.capacity()).sum()
}

#[test]
fn tables_give_their_memory_back_when_their_keys_are_idle() {
    for active in [0, 1, 100, 2_000] {
        let store = RequestStore::new(Gcra::new("1/h".parse().unwrap()), 10_000);
        let ask = |key: u32, at: u64| store.try_acquire_n_at(&key, 1, Nanos::from_nanos(at));
        assert!((0..10_000).all(|key| ask(key, 0).is_ok()));
        assert!(room(&store) >= 10_000);
        assert!((0..active).all(|key| ask(key, HOUR).is_ok()));
        store.sweep(Nanos::from_nanos(HOUR + HOUR / 2), usize::MAX);
        assert_eq!(store.keys(), active as usize);
        // A quarter of each table is in use, unless the table is one of the smallest.
        let most = 4 * store.keys() + 16 * 8;
        assert!(room(&store) <= most, "{active}: {} of {most}", room(&store));
        assert!((0..active).all(|key| ask(key, HOUR + 1).is_err()), "{active}");
    }
}
