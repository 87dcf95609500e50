//! A tag of the account as a mutex: only one process can create it.

use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::time::sleep;
use weft_state::remote::BackendError;

use super::refusals;
use super::tencent::TencentApi;

/// The key of every tag that is a mutex.
pub(super) const KEY: &str = "tencentcloud-terraform-lock";
/// The error code if the tag exists.
const EXISTS: &str = "ResourceInUse.TagDuplicate";
/// The maximum number of attempts to remove a tag, and the pause after each attempt.
const REMOVAL: (u32, Duration) = (30, Duration::from_secs(1));

/// The tags of an account.
#[derive(Debug)]
pub(super) struct Tags {
    pub(super) api: TencentApi,
    /// The location of the state, for messages.
    pub(super) place: String,
}

impl Tags {
    /// Creates a tag. Returns `false` if the tag already exists.
    pub(super) async fn create(&self, doing: &'static str, value: &str) -> Result<bool, BackendError> {
        let content = json!({ "TagKey": KEY, "TagValue": value });
        match self.api.ask(doing, "CreateTag", &content).await? {
            Ok(_) => Ok(true),
            Err(refusal) if refusal.code == EXISTS => Ok(false),
            Err(refusal) => Err(refusals::tag(self.place.clone(), doing, "tag:CreateTag", &refusal)),
        }
    }

    /// Removes a tag. An absent tag is no error.
    pub(super) async fn remove(&self, doing: &'static str, value: &str) -> Result<(), BackendError> {
        let content = json!({ "TagKey": KEY, "TagValue": value });
        let mut left = REMOVAL.0;
        loop {
            if !self.exists(doing, &content).await? {
                return Ok(());
            }
            let Err(refusal) = self.api.ask(doing, "DeleteTag", &content).await? else { return Ok(()) };
            left -= 1;
            if left == 0 {
                return Err(refusals::tag(self.place.clone(), doing, "tag:DeleteTag", &refusal));
            }
            sleep(REMOVAL.1).await;
        }
    }

    async fn exists(&self, doing: &'static str, content: &Json) -> Result<bool, BackendError> {
        let answer = self.api.ask(doing, "DescribeTags", content).await?;
        let answer =
            answer.map_err(|refusal| refusals::tag(self.place.clone(), doing, "tag:DescribeTags", &refusal))?;
        let is_it = |tag: &Json| ["TagKey", "TagValue"].iter().all(|name| tag.get(name) == content.get(name));
        Ok(answer.get("Tags").and_then(Json::as_array).is_some_and(|tags| tags.iter().any(is_it)))
    }
}
