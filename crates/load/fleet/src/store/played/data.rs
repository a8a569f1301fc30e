//! Imitates the keys and commands of Redis that the scripts use, in memory, for tests and simulations.

use redis::Value;
use std::collections::BTreeMap;

type Bytes = Vec<u8>;

#[derive(Debug, Default)]
pub(super) struct Data {
    now_us: i64,
    keys: BTreeMap<Bytes, StoredValue>,
    /// The expiry times of keys, in microseconds of the store's clock.
    expires: BTreeMap<Bytes, i64>,
}

#[derive(Debug)]
enum StoredValue {
    Hash(BTreeMap<Bytes, Bytes>),
    List(Vec<Bytes>),
    Text(Bytes),
}

impl Data {
    pub(super) fn set(&mut self, now_us: i64) {
        self.now_us = now_us;
        self.keys.retain(|key, _| self.expires.get(key).is_none_or(|&moment| now_us < moment));
    }

    /// Performs a command. Panics if Redis would reject the command, or if it is not implemented here because no script
    /// uses it.
    pub(super) fn call(&mut self, words: &[Bytes]) -> Value {
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        match (words[0], &words[1..]) {
            (b"TIME", []) => {
                let (seconds, rest) = (self.now_us / 1_000_000, self.now_us % 1_000_000);
                Value::Array(vec![text(seconds), text(rest)])
            }
            (b"DEL", keys) => {
                let gone = keys.iter().filter(|key| self.keys.remove(**key).is_some());
                count(gone.count())
            }
            (b"PEXPIRE", [key, time]) => {
                let is_there = self.keys.contains_key(*key);
                if is_there {
                    self.expires.insert(key.to_vec(), self.now_us + 1_000 * number(time));
                }
                count(usize::from(is_there))
            }
            (
                b"HGET" | b"HMGET" | b"HGETALL" | b"HKEYS" | b"HEXISTS" | b"HSET" | b"HDEL"
                | b"HINCRBY",
                [key, rest @ ..],
            ) => of_hash(self.hash(key), words[0], rest),
            (b"RPUSH" | b"LRANGE" | b"LINDEX", [key, rest @ ..]) => {
                of_list(self.list(key), words[0], rest)
            }
            (b"GET" | b"GETRANGE" | b"SETRANGE", [key, rest @ ..]) => {
                of_text(self.text(key), words[0], rest)
            }
            _ => {
                panic!("the played store does not support {:?}", String::from_utf8_lossy(words[0]))
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let of = |kept: &StoredValue| match kept {
            StoredValue::Hash(hash) => hash.iter().map(|(f, v)| f.len() + v.len()).sum(),
            StoredValue::List(items) => items.iter().map(Vec::len).sum(),
            StoredValue::Text(text) => text.len(),
        };
        self.keys.iter().map(|(key, kept)| key.len() + of(kept)).sum()
    }

    fn kept(&mut self, key: &[u8], empty: StoredValue) -> &mut StoredValue {
        if !self.keys.contains_key(key) {
            self.expires.remove(key);
        }
        self.keys.entry(key.to_vec()).or_insert(empty)
    }

    fn hash(&mut self, key: &[u8]) -> &mut BTreeMap<Bytes, Bytes> {
        match self.kept(key, StoredValue::Hash(BTreeMap::new())) {
            StoredValue::Hash(hash) => hash,
            other => panic!("{other:?} is no hash"),
        }
    }

    fn list(&mut self, key: &[u8]) -> &mut Vec<Bytes> {
        match self.kept(key, StoredValue::List(Vec::new())) {
            StoredValue::List(list) => list,
            other => panic!("{other:?} is no list"),
        }
    }

    fn text(&mut self, key: &[u8]) -> &mut Bytes {
        match self.kept(key, StoredValue::Text(Vec::new())) {
            StoredValue::Text(text) => text,
            other => panic!("{other:?} is no text"),
        }
    }
}

fn of_hash(hash: &mut BTreeMap<Bytes, Bytes>, command: &[u8], rest: &[&[u8]]) -> Value {
    let get = |field: &[u8]| hash.get(field).cloned().map_or(Value::Nil, Value::BulkString);
    match (command, rest) {
        (b"HGET", [field]) => get(field),
        (b"HMGET", fields) => Value::Array(fields.iter().map(|field| get(field)).collect()),
        (b"HEXISTS", [field]) => count(usize::from(hash.contains_key(*field))),
        (b"HGETALL", []) => {
            let pairs = hash.iter().flat_map(|(field, value)| [field.clone(), value.clone()]);
            Value::Array(pairs.map(Value::BulkString).collect())
        }
        (b"HKEYS", []) => Value::Array(hash.keys().cloned().map(Value::BulkString).collect()),
        (b"HDEL", [field]) => count(usize::from(hash.remove(*field).is_some())),
        (b"HINCRBY", [field, by]) => {
            let sum = hash.get(*field).map_or(0, |value| number(value)) + number(by);
            hash.insert(field.to_vec(), sum.to_string().into_bytes());
            Value::Int(sum)
        }
        (b"HSET", pairs) if pairs.len() % 2 == 0 => {
            let set = |pair: &&[&[u8]]| hash.insert(pair[0].to_vec(), pair[1].to_vec()).is_none();
            count(pairs.chunks_exact(2).filter(set).count())
        }
        _ => panic!("the played store does not support this command on a hash"),
    }
}

fn of_list(list: &mut Vec<Bytes>, command: &[u8], rest: &[&[u8]]) -> Value {
    let item = |item: &Bytes| Value::BulkString(item.clone());
    match (command, rest) {
        (b"RPUSH", items) => {
            list.extend(items.iter().map(|item| item.to_vec()));
            count(list.len())
        }
        (b"LRANGE", [from, b"-1"]) => {
            Value::Array(list.iter().skip(index(from)).map(item).collect())
        }
        (b"LINDEX", [at]) => list.get(index(at)).map_or(Value::Nil, item),
        _ => panic!("the played store does not support this command on a list"),
    }
}

fn of_text(text: &mut Bytes, command: &[u8], rest: &[&[u8]]) -> Value {
    match (command, rest) {
        (b"GET", []) if text.is_empty() => Value::Nil,
        (b"GET", []) => Value::BulkString(text.clone()),
        (b"GETRANGE", [from, to]) => {
            let end = (index(to) + 1).min(text.len());
            Value::BulkString(text.get(index(from)..end).unwrap_or_default().to_vec())
        }
        (b"SETRANGE", [from, value]) => {
            let (from, end) = (index(from), index(from) + value.len());
            text.resize(text.len().max(end), 0);
            text[from..end].copy_from_slice(value);
            count(text.len())
        }
        _ => panic!("the played store does not support this command on a string"),
    }
}

fn number(text: &[u8]) -> i64 {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| panic!("{:?} is not a number", String::from_utf8_lossy(text)))
}

fn index(text: &[u8]) -> usize {
    usize::try_from(number(text)).expect("an index is not negative")
}

fn text(number: i64) -> Value {
    Value::BulkString(number.to_string().into_bytes())
}

fn count(number: usize) -> Value {
    Value::Int(number.cast_signed() as i64)
}
