//! Reads and writes the tables of the database: limits by name, as strings.

use crate::{Change, Scope};
use redb::backends::FileBackend;
use redb::{Database, Error, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};
use std::fs::File;

const KEYS: TableDefinition<'_, &str, &str> = TableDefinition::new("keys");
const PREFIXES: TableDefinition<'_, &str, &str> = TableDefinition::new("prefixes");

/// An entry: whether its name is a prefix, its name, and its limits.
pub(super) type Stored = (bool, String, String);

pub(super) fn read(database: &Database) -> Result<Vec<Stored>, Error> {
    let transaction = database.begin_read()?;
    let mut entries = Vec::new();
    for (is_prefix, table) in [(false, KEYS), (true, PREFIXES)] {
        for entry in transaction.open_table(table)?.iter()? {
            let (name, text) = entry?;
            entries.push((is_prefix, name.value().to_owned(), text.value().to_owned()));
        }
    }
    Ok(entries)
}

/// Begins a transaction that commits in two phases. After such a commit, an incomplete last state is treated as damage,
/// and not replaced by an older state.
fn begin_write(database: &Database) -> Result<WriteTransaction, Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_two_phase_commit(true);
    Ok(transaction)
}

/// Creates both tables, because `read` fails if one is missing.
pub(super) fn create(file: File) -> Result<(), Error> {
    let database = Database::builder().create_with_backend(FileBackend::new(file)?)?;
    let transaction = begin_write(&database)?;
    transaction.open_table(KEYS)?;
    transaction.open_table(PREFIXES)?;
    Ok(transaction.commit()?)
}

pub(super) fn write(database: &Database, changes: &[Change<'_>]) -> Result<(), Error> {
    let transaction = begin_write(database)?;
    {
        let mut keys = transaction.open_table(KEYS)?;
        let mut prefixes = transaction.open_table(PREFIXES)?;
        for change in changes {
            let (table, name) = match change.scope {
                Scope::Key(key) => (&mut keys, key),
                Scope::Prefix(prefix) => (&mut prefixes, prefix),
            };
            match &change.limits {
                Some(limits) => table.insert(name, limits.to_string().as_str())?,
                None => table.remove(name)?,
            };
        }
    }
    Ok(transaction.commit()?)
}
