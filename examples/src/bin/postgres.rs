//! A load generator for PostgreSQL: one call in ten moves money in a transaction, the others read an account.

use clap::Args;
use nanopace_load::{Done, Failure, Slot, Target};
use std::process::ExitCode;
use tokio_postgres::{Client, Config, Error, NoTls, Statement};

const READ: &str = "SELECT balance FROM accounts WHERE id = $1";
const ADD: &str = "UPDATE accounts SET balance = balance + $2 WHERE id = $1";
const SET_UP: &str =
    "CREATE TABLE IF NOT EXISTS accounts (id int PRIMARY KEY, balance int NOT NULL);
    INSERT INTO accounts SELECT n, 100 FROM generate_series(0, 9999) n ON CONFLICT DO NOTHING";

/// Reads accounts, and moves money.
#[derive(Debug, Args)]
struct Options {
    /// The address and the user of the server
    #[arg(long, default_value = "host=/run/postgresql user=postgres")]
    server: String,
}

struct Bank(Config);

impl Target for Bank {
    type Session = (Client, Statement, Statement);

    async fn connect(&self, _index: usize) -> Result<Self::Session, Failure> {
        let (client, connection) = self.0.connect(NoTls).await?;
        tokio::spawn(connection); // ends with the client
        let (read, add) = (client.prepare(READ).await?, client.prepare(ADD).await?);
        Ok((client, read, add))
    }

    async fn call(&self, session: &mut Self::Session, slot: Slot) -> Result<Done, Failure> {
        let (client, read, add) = session;
        let id = (slot.number().wrapping_mul(0x9e37_79b9_7f4a_7c15) % 9_999) as i32;
        if slot.number() % 10 > 0 {
            client.query_one(read, &[&id]).await?;
            return Ok(Done::new().label("read"));
        }
        let transaction = client.transaction().await?;
        transaction.execute(add, &[&id, &-1]).await?;
        transaction.execute(add, &[&(id + 1), &1]).await?;
        transaction.commit().await?;
        Ok(Done::new().label("move"))
    }

    /// The library calls this function once, before it opens the sessions.
    async fn setup(&self) -> Result<(), Failure> {
        let (client, connection) = self.0.connect(NoTls).await?;
        tokio::spawn(connection);
        Ok(client.batch_execute(SET_UP).await?)
    }
}

fn main() -> ExitCode {
    nanopace_load::main(|options: &Options| Ok::<_, Error>(Bank(options.server.parse()?)))
}
