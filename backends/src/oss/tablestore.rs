//! Requests to TableStore.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use tokio::time::sleep;
use url::Url;
use weft_state::remote::BackendError;

use super::messages::{Message, field};
use super::plainbuffer;
use super::refusals::{self, OssDamage};
use super::settings::TableSettings;
use crate::digests::{hmac_sha1, md5_base64};
use crate::exchange::{Authorize, Call, HttpService, RETRY};
use crate::expiring::{KeyRing, Keys};

/// The version of the API.
const VERSION: &str = "2015-12-31";
/// The error codes of failed conditions, and of requests that conflict with another request for the same row.
const CONDITION: &str = "OTSConditionCheckFail";
const BUSY: &str = "OTSRowOperationConflict";
/// The maximum number of retries of a request that conflicts with another request, and the pause before each retry.
const REPEATS: (u32, Duration) = (5, Duration::from_millis(200));
/// The values of the condition on the existence of a row: the row may exist, must exist, or must not exist.
const IGNORE: u64 = 0;
const EXISTS: u64 = 1;
const ABSENT: u64 = 2;

/// The condition under which a change takes effect.
#[derive(Clone, Copy, Debug)]
pub(super) enum Condition<'a> {
    /// Always.
    Any,
    /// If the row does not exist.
    Absent,
    /// If a column of the row has this value. The fields are the name and the value.
    Column(&'a str, &'a str),
}

impl Condition<'_> {
    fn message(self) -> Vec<u8> {
        match self {
            Condition::Any => Message::default().number(1, IGNORE).done(),
            Condition::Absent => Message::default().number(1, ABSENT).done(),
            Condition::Column(name, text) => {
                // The comparison is "equal". It is false for rows without the column, and applies only to the latest
                // version of the column.
                let filter = Message::default().number(1, 1).bytes(2, name.as_bytes());
                let filter = filter.bytes(3, &plainbuffer::text(text)).number(4, 1).number(5, 1).done();
                let filter = Message::default().number(1, 1).bytes(2, &filter).done();
                Message::default().number(1, EXISTS).bytes(2, &filter).done()
            }
        }
    }
}

/// The outcome of a change under a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    /// The change took effect.
    Done,
    /// The row does not meet the condition.
    Conflict,
}

/// A table.
pub(super) struct Table {
    service: HttpService,
    url: Url,
    name: String,
}

impl fmt::Debug for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Table({})", self.name)
    }
}

impl Table {
    /// The table in these settings.
    pub(super) fn new(settings: &TableSettings, http: &reqwest::Client, place: &str, keys: &Arc<KeyRing>) -> Table {
        let authorize = Box::new(TableStoreSigner { keys: Arc::clone(keys), instance: settings.instance.clone() });
        let service = HttpService { http: http.clone(), retry: RETRY, place: place.to_owned(), authorize };
        Table { service, url: settings.endpoint.clone(), name: settings.name.clone() }
    }

    /// Reads the values in these columns of a row.
    pub(super) async fn get<const N: usize>(
        &self,
        doing: &'static str,
        key: &str,
        columns: [&str; N],
    ) -> Result<[Option<String>; N], BackendError> {
        let wanted = Message::default().bytes(1, self.name.as_bytes()).bytes(2, &plainbuffer::row(key, &[], false));
        let wanted = columns.iter().fold(wanted.bytes(3, b"LockID"), |wanted, name| wanted.bytes(3, name.as_bytes()));
        let wanted = wanted.number(5, 1);
        let answer = self.ask(doing, "GetRow", wanted).await?;
        let body = answer.map_err(|(code, message)| self.refused(doing, &code, &message))?;
        let row = field(&body, 2).unwrap_or_default();
        let mut texts = [const { None }; N];
        for (text, name) in texts.iter_mut().zip(columns) {
            let found = plainbuffer::column(row, name);
            *text = found
                .map_err(|damage| refusals::damaged(self.service.place.clone(), doing, &OssDamage::Row(damage)))?;
        }
        Ok(texts)
    }

    /// Writes a row. If the row exists, the new row replaces it completely.
    pub(super) async fn put(
        &self,
        doing: &'static str,
        key: &str,
        columns: &[(&str, &str)],
        condition: Condition<'_>,
    ) -> Result<Changed, BackendError> {
        self.change(doing, "PutRow", &plainbuffer::row(key, columns, false), condition).await
    }

    /// Deletes a row.
    pub(super) async fn delete(
        &self,
        doing: &'static str,
        key: &str,
        condition: Condition<'_>,
    ) -> Result<Changed, BackendError> {
        self.change(doing, "DeleteRow", &plainbuffer::row(key, &[], true), condition).await
    }

    async fn change(
        &self,
        doing: &'static str,
        operation: &str,
        row: &[u8],
        condition: Condition<'_>,
    ) -> Result<Changed, BackendError> {
        let message = Message::default().bytes(1, self.name.as_bytes()).bytes(2, row).bytes(3, &condition.message());
        match self.ask(doing, operation, message).await? {
            Ok(_) => Ok(Changed::Done),
            Err((code, _)) if code == CONDITION => Ok(Changed::Conflict),
            Err((code, message)) => Err(self.refused(doing, &code, &message)),
        }
    }

    /// Sends a message. The inner result is the response, or the code and the message of an error.
    async fn ask(
        &self,
        doing: &'static str,
        operation: &str,
        message: Message,
    ) -> Result<Result<Vec<u8>, (String, String)>, BackendError> {
        let mut url = self.url.clone();
        url.set_path(&format!("/{operation}"));
        let mut call = Call::new(doing, Method::POST, url);
        call.body = message.done().into();
        let mut left = REPEATS.0;
        loop {
            let reply = self.service.send(&call).await?;
            if reply.status.is_success() {
                return Ok(Ok(reply.body.to_vec()));
            }
            let text = |number: u64| field(&reply.body, number).map(|text| String::from_utf8_lossy(text).into_owned());
            let Some(code) = text(1) else {
                return Err(reply.refusal(self.service.place.clone(), doing, None, ""));
            };
            if code != BUSY || left == 0 {
                return Ok(Err((code, text(2).unwrap_or_default())));
            }
            left -= 1;
            sleep(REPEATS.1).await;
        }
    }

    fn refused(&self, doing: &'static str, code: &str, message: &str) -> BackendError {
        refusals::table(self.service.place.clone(), doing, &self.name, code, message)
    }
}

/// Signs requests to TableStore.
struct TableStoreSigner {
    keys: Arc<KeyRing>,
    instance: String,
}

#[async_trait]
impl Authorize for TableStoreSigner {
    async fn authorize(&self, call: &Call) -> Result<Vec<(String, String)>, BackendError> {
        let keys = self.keys.current().await?;
        let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
        Ok(headers(&keys, &self.instance, call.url.path(), &time, &call.body))
    }

    async fn rejected(&self) -> bool {
        self.keys.forget().await
    }
}

/// The headers of a request, including its signature. `time` is the time of the request.
fn headers(keys: &Keys, instance: &str, path: &str, time: &str, body: &[u8]) -> Vec<(String, String)> {
    let mut headers = vec![
        ("x-ots-accesskeyid", keys.id.clone()),
        ("x-ots-apiversion", VERSION.to_owned()),
        ("x-ots-contentmd5", md5_base64(body)),
        ("x-ots-date", time.to_owned()),
        ("x-ots-instancename", instance.to_owned()),
    ];
    headers.extend(keys.token.clone().map(|token| ("x-ots-ststoken", token)));
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
    let code = hmac_sha1(keys.secret.as_bytes(), &format!("{path}\nPOST\n\n{lines}"));
    headers.push(("x-ots-signature", STANDARD.encode(code)));
    headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected bytes come from the library that OpenTofu uses, except for the two flags at the end.
    #[test]
    fn conditions() {
        assert_eq!(Condition::Absent.message(), [8, 2]);
        assert_eq!(Condition::Any.message(), [8, 0]);
        let filter = "0801121408011204496e666f1a0603010000007820012801";
        assert_eq!(crate::digests::hex(&Condition::Column("Info", "x").message()), format!("08011218{filter}"));
    }

    #[test]
    fn headers_are_sorted_and_signed() {
        let keys = Keys { id: "i".to_owned(), secret: "s".to_owned(), token: Some("t".to_owned()), expires: None };
        let found = headers(&keys, "instance", "/GetRow", "2026-01-01T00:00:00.000Z", b"");
        assert!(found[..6].is_sorted());
        assert_eq!(found[2].1, "1B2M2Y8AsgTpgAmY7PhCfg==");
        assert_eq!(found[6].0, "x-ots-signature");
    }
}
