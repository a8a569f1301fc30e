//! Runs a goose load test whose users only request one page.

use goose::prelude::*;

#[tokio::main]
async fn main() -> Result<(), GooseError> {
    let get_page = Transaction::new(std::sync::Arc::new(|user| Box::pin(get(user))));
    let scenario = scenario!("page").register_transaction(get_page);
    GooseAttack::initialize()?.register_scenario(scenario).execute().await?;
    Ok(())
}

async fn get(user: &mut GooseUser) -> TransactionResult {
    user.get("").await.map(|_| ())
}
