//! Tokens of budgets: one script call for each budget, in one pipeline.

use super::codec::Words;
use super::scripts::Script;
use super::{RedisCore, keys};
use crate::budget::{MOST_TOKENS, RESERVE_AHEAD_US, TokenGrant, TokenRequest};
use crate::error::StoreError;

impl RedisCore {
    /// Reserves tokens for each request, by the clock of the server.
    pub(super) async fn take_tokens(&self, requests: &[TokenRequest]) -> Result<Vec<TokenGrant>, StoreError> {
        let call = |request: &TokenRequest| {
            let mut command = self.connection.scripts.call(Script::Tokens, &[keys::budget(&request.budget)]);
            command
                .arg(request.interval_us.max(1))
                .arg(request.burst.max(1))
                .arg(request.count.min(MOST_TOKENS))
                .arg(RESERVE_AHEAD_US);
            command
        };
        let answers = self.connection.all(requests.iter().map(call).collect()).await?;
        answers.into_iter().map(|answer| Ok(grant(&self.connection.words(answer)?))).collect()
    }
}

fn grant(words: &Words) -> TokenGrant {
    TokenGrant { count: words.text(0).parse().unwrap_or(0), first_us: words.text(1).parse().unwrap_or(0) }
}
