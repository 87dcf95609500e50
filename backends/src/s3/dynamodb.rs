//! Locks and digests as items of a DynamoDB table. The key of an item is the attribute `LockID`.

use reqwest::{Method, StatusCode};
use serde_json::{Value as Json, json};
use weft_state::remote::{BackendError, LockInfo};

use super::refusals;
use super::requests::{Answer, Client, Request, TARGET_HEADER};
use crate::bucket::Bucket as _;
use crate::stored_digests::{NEXT, StoredDigests};

/// The version of the API. In the header, it precedes the name of the operation.
const TARGET: &str = "DynamoDB_20120810";
/// The media type of requests.
const JSON: &str = "application/x-amz-json-1.0";
/// The suffix of the name of a digest, after the name of its state.
const DIGEST: &str = "-md5";
/// The error code of a condition that is not met.
const CONDITION: &str = "ConditionalCheckFailedException";

/// A lock in the table.
#[derive(Debug)]
pub(super) struct Item {
    /// The holder of the lock.
    pub(super) holder: LockInfo,
    /// The stored information about the lock.
    text: String,
}

impl Client {
    async fn item_request(
        &self,
        doing: &'static str,
        operation: &str,
        body: Json,
    ) -> Result<(Request, Answer), BackendError> {
        let request = Request {
            doing,
            service: "dynamodb",
            method: Method::POST,
            url: self.settings.endpoint("dynamodb").clone(),
            headers: vec![
                ("content-type".to_owned(), JSON.to_owned()),
                (TARGET_HEADER.to_owned(), format!("{TARGET}.{operation}")),
            ],
            body: body.to_string().into(),
        };
        let answer = self.send(&request).await?;
        Ok((request, answer))
    }

    /// The name of a state in the table.
    fn item_name(&self, key: &str) -> String {
        format!("{}/{key}", self.settings.bucket)
    }

    async fn get_item(&self, doing: &'static str, name: &str) -> Result<Option<Json>, BackendError> {
        let Some(table) = &self.settings.dynamodb_table else { return Ok(None) };
        let body = json!({ "TableName": table, "Key": { "LockID": { "S": name } }, "ConsistentRead": true });
        let (request, answer) = self.item_request(doing, "GetItem", body).await?;
        if answer.status != StatusCode::OK {
            return Err(self.refused(&request, &answer));
        }
        let parsed: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
        Ok(parsed.get("Item").cloned())
    }

    /// Reads the lock in the table.
    pub(super) async fn item(&self, key: &str) -> Result<Option<Item>, BackendError> {
        let item = self.get_item("reading the lock", &self.item_name(key)).await?;
        Ok(item.map(|item| {
            let text = item.pointer("/Info/S").and_then(Json::as_str).unwrap_or_default().to_owned();
            Item { holder: serde_json::from_str(&text).unwrap_or_default(), text }
        }))
    }

    /// Takes the lock in the table, if the settings name a table. Returns the holder if another process has the lock.
    pub(super) async fn take_item(&self, key: &str, info: &LockInfo) -> Result<Option<LockInfo>, BackendError> {
        let Some(table) = &self.settings.dynamodb_table else { return Ok(None) };
        let info_text = String::from_utf8_lossy(&info.to_json()).into_owned();
        let body = json!({
            "TableName": table,
            "Item": { "LockID": { "S": self.item_name(key) }, "Info": { "S": info_text } },
            "ConditionExpression": "attribute_not_exists(LockID)",
        });
        let (request, answer) = self.item_request("taking the lock", "PutItem", body).await?;
        if answer.status == StatusCode::OK {
            return Ok(None);
        }
        if !is_condition(&answer) {
            return Err(self.refused(&request, &answer));
        }
        // If the response was lost, the retry finds that the item already has this id.
        let holder = self.item(key).await?.map(|item| item.holder).unwrap_or_default();
        Ok(Some(holder).filter(|holder| holder.id != info.id))
    }

    /// Removes the lock from the table if the table still has exactly this lock.
    ///
    /// # Errors
    /// Errors of the service. Also returns an error if the lock still exists afterwards.
    pub(super) async fn remove_item(&self, key: &str, item: &Item) -> Result<(), BackendError> {
        let Some(table) = &self.settings.dynamodb_table else { return Ok(()) };
        let body = json!({
            "TableName": table,
            "Key": { "LockID": { "S": self.item_name(key) } },
            "ConditionExpression": "Info = :info",
            "ExpressionAttributeValues": { ":info": { "S": item.text } },
        });
        let (request, answer) = self.item_request("releasing the lock", "DeleteItem", body).await?;
        if answer.status == StatusCode::OK {
            return Ok(());
        }
        if !is_condition(&answer) {
            return Err(self.refused(&request, &answer));
        }
        let id = &item.holder.id;
        match self.item(key).await? {
            Some(left) if left.holder.id == *id => Err(refusals::lock_stays(self.place(key), id)),
            _ => Ok(()),
        }
    }

    /// The digests of a state in the table. Empty if the service refuses the request, for example because a permission
    /// is missing. As in OpenTofu, the state can still be read in that case.
    pub(super) async fn stored_digests(&self, key: &str) -> Result<StoredDigests, BackendError> {
        let item = match self.get_item("reading the digest", &format!("{}{DIGEST}", self.item_name(key))).await {
            Err(BackendError::Refused { .. }) => return Ok(StoredDigests::default()),
            answer => answer?.unwrap_or_default(),
        };
        let text = |name: &str| item.get(name)?.get("S")?.as_str().map(str::to_owned);
        Ok(StoredDigests { digest: text("Digest"), next: text(NEXT) })
    }

    /// Stores the digest of a state that is about to be written, in addition to the digest of the current state. Does
    /// nothing if the current state has no digest, because without a digest, readers accept any content.
    pub(super) async fn announce_digest(&self, key: &str, next: &str) -> Result<(), BackendError> {
        let Some(digest) = self.stored_digests(key).await?.digest else { return Ok(()) };
        self.put_digests(key, json!({ "Digest": { "S": digest }, NEXT: { "S": next } })).await
    }

    /// Stores the digest of a state in the table, if the settings name a table.
    pub(super) async fn store_digest(&self, key: &str, digest: &str) -> Result<(), BackendError> {
        self.put_digests(key, json!({ "Digest": { "S": digest } })).await
    }

    async fn put_digests(&self, key: &str, mut item: Json) -> Result<(), BackendError> {
        let Some(table) = &self.settings.dynamodb_table else { return Ok(()) };
        let name = format!("{}{DIGEST}", self.item_name(key));
        item["LockID"] = json!({ "S": name });
        let body = json!({ "TableName": table, "Item": item });
        let (request, answer) = self.item_request("writing the digest", "PutItem", body).await?;
        match answer.status {
            StatusCode::OK => Ok(()),
            _ => Err(self.refused(&request, &answer)),
        }
    }

    /// Removes the digest of a state.
    pub(super) async fn remove_digest(&self, key: &str) -> Result<(), BackendError> {
        let Some(table) = &self.settings.dynamodb_table else { return Ok(()) };
        let name = format!("{}{DIGEST}", self.item_name(key));
        let body = json!({ "TableName": table, "Key": { "LockID": { "S": name } } });
        let (request, answer) = self.item_request("deleting the workspace", "DeleteItem", body).await?;
        match answer.status {
            StatusCode::OK => Ok(()),
            _ => Err(self.refused(&request, &answer)),
        }
    }
}

fn is_condition(answer: &Answer) -> bool {
    let parsed: Option<Json> = serde_json::from_slice(&answer.body).ok();
    parsed
        .is_some_and(|parsed| parsed.get("__type").and_then(Json::as_str).is_some_and(|code| code.ends_with(CONDITION)))
}
