//! A load generator for SQLite, whose driver blocks: one call in ten writes a note, the others read one.

use clap::Args;
use nanopace_load::{BlockingTarget, Done, Failure, Slot};
use rusqlite::{Connection, OptionalExtension};
use std::convert::Infallible;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const SET_UP: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL)";
const WRITE: &str = "INSERT OR REPLACE INTO notes VALUES (?1, 'a note')";
const READ: &str = "SELECT text FROM notes WHERE id = ?1";

/// Reads and writes notes.
#[derive(Clone, Debug, Args)]
struct Options {
    /// The file of the database, which is created if it does not exist
    #[arg(long, default_value = "notes.db")]
    file: PathBuf,
}

impl BlockingTarget for Options {
    type Session = Connection;

    fn connect(&self, _index: usize) -> Result<Connection, Failure> {
        let connection = Connection::open(&self.file)?;
        connection.busy_timeout(Duration::from_secs(1))?;
        connection.execute_batch(SET_UP)?;
        Ok(connection)
    }

    fn call(&self, connection: &mut Connection, slot: Slot) -> Result<Done, Failure> {
        let id = slot.number().wrapping_mul(0x9e37_79b9_7f4a_7c15) % 10_000;
        if slot.number() % 10 == 0 {
            connection.prepare_cached(WRITE)?.execute([id as u32])?;
            return Ok(Done::new().label("write"));
        }
        let mut read = connection.prepare_cached(READ)?;
        let note: Option<String> = read.query_row([id as u32], |row| row.get(0)).optional()?;
        Ok(Done::new().label(if note.is_some() { "read" } else { "read, not there" }))
    }
}

fn main() -> ExitCode {
    nanopace_load::main(|options: &Options| Ok::<_, Infallible>(options.clone()))
}
