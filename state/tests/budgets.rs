//! Budgets of provider calls: every store grants the same tokens, and all connections to a server share its budgets.

#[path = "support/redis_server.rs"]
mod redis_server;

use std::sync::Arc;

use redis_server::Server;
use weft_state::*;

fn request(budget: &str, count: u32) -> TokenRequest {
    TokenRequest { budget: budget.into(), interval_us: 20_000_000, burst: 3, count }
}

/// Checks that a budget grants its burst once, and then reports when the next token is free.
async fn gives_its_burst_once(store: &dyn RunStore, budget: &str) {
    let grants = store.take_tokens(&[request(budget, 2), request(budget, 2), request(budget, 1)]).await.unwrap();
    assert_eq!(grants.iter().map(|grant| grant.count).collect::<Vec<_>>(), [2, 1, 0]);
    assert!(grants[0].first_us <= 0 && grants[1].first_us <= 0, "{grants:?}");
    let wait = grants[2].first_us;
    assert!((10_000_000..=20_000_000).contains(&wait), "the next token is free in {wait} microseconds");
    assert!(store.take_tokens(&[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_model_and_the_embedded_store_give_tokens() {
    gives_its_burst_once(&ModelStore::new(RevisionRule::Sequence, 1), "a").await;
    let folder = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions::new(folder.path().join("terraform.tfstate"), Holder::default());
    gives_its_burst_once(&EmbeddedStore::open(options).unwrap(), "a").await;
}

#[tokio::test]
async fn all_states_of_a_redis_server_share_tokens() {
    let Some(server) = Server::start() else { return };
    let connect =
        async |state: &str| RedisStore::connect(&server.url(state), "default", true, Arc::default()).await.unwrap();
    let (one, other) = (connect("one").await, connect("other").await);
    gives_its_burst_once(&one, "a").await;
    let grants = other.take_tokens(&[request("a", 1), request("b", 1)]).await.unwrap();
    assert_eq!(grants.iter().map(|grant| grant.count).collect::<Vec<_>>(), [0, 1]);
}
