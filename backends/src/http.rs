//! The backend `http`: a state as a document at a URL, with an optional lock protocol. The backend has only one
//! workspace.

mod refusals;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use md5::{Digest as _, Md5};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Method, Response, StatusCode};
use url::Url;
use weft_state::remote::{
    Backend, BackendError, Expected, LockAnswer, LockInfo, Object, ObjectVersion, Objects, RemoteState, Written,
};

use crate::arguments::{BackendSettings, Environment};
use crate::client::{client, reason};
use crate::connected::{Connected, Connecting};
use crate::problems;
use crate::retry::AttemptResult;
use refusals::HttpRefusal;
pub use settings::schema;
use settings::{Action, HttpSettings};

/// The name of the only workspace.
const DEFAULT: &str = "default";
/// The header with the digest of a body.
const CONTENT_MD5: &str = "Content-MD5";

/// Makes the backend from its settings.
///
/// # Errors
/// Returns an error if the settings are not valid.
pub fn connect(settings: &BackendSettings, environment: Environment<'_>) -> Connecting {
    let (settings, warnings) = HttpSettings::read(settings, environment)?;
    let client = client(&settings.client).map_err(|error| vec![problems::no_client(&error)])?;
    Ok(Connected { backend: Arc::new(Http { state: Arc::new(HttpState { settings, client }) }), warnings })
}

/// The backend.
#[derive(Debug)]
struct Http {
    state: Arc<HttpState>,
}

#[async_trait]
impl Backend for Http {
    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        Err(BackendError::NoWorkspaces)
    }

    async fn delete_workspace(&self, _workspace: &str) -> Result<(), BackendError> {
        Err(BackendError::NoWorkspaces)
    }

    fn state(&self, workspace: &str) -> Result<Arc<dyn RemoteState>, BackendError> {
        match workspace == DEFAULT {
            true => Ok(Arc::clone(&self.state) as Arc<dyn RemoteState>),
            false => Err(BackendError::NoWorkspaces),
        }
    }
}

/// The state.
#[derive(Debug)]
struct HttpState {
    settings: HttpSettings,
    client: reqwest::Client,
}

/// A response of the server, with its whole body.
struct ReceivedResponse {
    status: StatusCode,
    body: Bytes,
}

impl HttpState {
    /// Sends a request. Retries it if it fails for a reason that may be temporary.
    async fn send(
        &self,
        doing: &'static str,
        method: &Method,
        url: &Url,
        body: Option<Bytes>,
    ) -> Result<ReceivedResponse, BackendError> {
        let rule = self.settings.retry;
        rule.run(|attempt| {
            let body = body.clone();
            async move {
                match self.request(method, url, body).send().await {
                    Ok(response) => self.answer(doing, response, attempt).await,
                    Err(error) => self.failed(doing, &error),
                }
            }
        })
        .await
    }

    fn request(&self, method: &Method, url: &Url, body: Option<Bytes>) -> reqwest::RequestBuilder {
        let mut request = self.client.request(method.clone(), url.clone());
        for (name, value) in &self.settings.headers {
            request = request.header(name, value);
        }
        if let Some((user, password)) = &self.settings.user {
            request = request.basic_auth(user, Some(password));
        }
        let Some(body) = body else { return request };
        let digest = STANDARD.encode(Md5::digest(&body));
        request.header(CONTENT_TYPE, "application/json").header(CONTENT_MD5, digest).body(body)
    }

    async fn answer(
        &self,
        doing: &'static str,
        response: Response,
        attempt: u32,
    ) -> AttemptResult<ReceivedResponse, BackendError> {
        let status = response.status();
        let passing = status == StatusCode::TOO_MANY_REQUESTS
            || status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED;
        if passing {
            let wanted = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            let failed = self.unreachable(doing, refusals::gave_up(status, attempt));
            return AttemptResult::Again(failed, wanted.map(Duration::from_secs));
        }
        AttemptResult::Final(match response.bytes().await {
            Ok(body) => Ok(ReceivedResponse { status, body }),
            Err(error) => return AttemptResult::Again(self.unreachable(doing, reason(&error)), None),
        })
    }

    /// The outcome of an attempt that failed with this error. Errors of redirects, certificates and URLs are permanent.
    fn failed(&self, doing: &'static str, error: &reqwest::Error) -> AttemptResult<ReceivedResponse, BackendError> {
        let words = reason(error);
        let stays = error.is_builder() || error.is_redirect() || words.contains("certificate");
        let failed = self.unreachable(doing, words);
        if stays { AttemptResult::Final(Err(failed)) } else { AttemptResult::Again(failed, None) }
    }

    fn unreachable(&self, doing: &'static str, error: String) -> BackendError {
        BackendError::Unreachable { place: self.place(), doing, error }
    }

    /// The error for a status that has no special meaning for the request.
    fn unexpected(&self, doing: &'static str, status: StatusCode) -> BackendError {
        HttpRefusal::of(status).at(self.place(), doing)
    }

    async fn lock_request(
        &self,
        doing: &'static str,
        action: &Action,
        info: &LockInfo,
    ) -> Result<ReceivedResponse, BackendError> {
        self.send(doing, &action.method, &action.url, Some(info.to_json().into())).await
    }
}

fn version_of(content: &[u8]) -> ObjectVersion {
    ObjectVersion(blake3::hash(content).to_hex().to_string())
}

#[async_trait]
impl RemoteState for HttpState {
    fn place(&self) -> String {
        self.settings.place()
    }

    async fn read(&self) -> Result<Option<Object>, BackendError> {
        const DOING: &str = "reading the state";
        let answer = self.send(DOING, &Method::GET, &self.settings.address, None).await?;
        match answer.status {
            StatusCode::NO_CONTENT | StatusCode::NOT_FOUND => Ok(None),
            StatusCode::OK if answer.body.is_empty() => Ok(None),
            StatusCode::OK => Ok(Some(Object { version: version_of(&answer.body), content: answer.body })),
            status => Err(self.unexpected(DOING, status)),
        }
    }

    async fn write(&self, content: Bytes, expected: &Expected, lock: Option<&str>) -> Result<Written, BackendError> {
        const DOING: &str = "writing the state";
        let now = self.read().await?.map(|object| object.version);
        let version = version_of(&content);
        // If the response to a write was lost, the retry finds that the state already has the new content.
        if now.as_ref() == Some(&version) {
            return Ok(Written::Done(version));
        }
        let fits = match expected {
            Expected::Absent => now.is_none(),
            Expected::Version(version) => now.as_ref() == Some(version),
        };
        if !fits {
            return Ok(Written::Conflict);
        }
        let mut url = self.settings.address.clone();
        if let Some(lock) = lock {
            url.query_pairs_mut().append_pair("ID", lock);
        }
        let answer = self.send(DOING, &self.settings.update_method, &url, Some(content)).await?;
        match answer.status {
            StatusCode::OK | StatusCode::CREATED | StatusCode::NO_CONTENT => Ok(Written::Done(version)),
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => Err(self.unexpected(DOING, status)),
            status => Err(HttpRefusal::NotWritten(status).at(self.place(), DOING)),
        }
    }

    async fn lock(&self, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        const DOING: &str = "taking the lock";
        let Some(action) = &self.settings.lock else { return Ok(LockAnswer::Locked(info.clone())) };
        let answer = self.lock_request(DOING, action, info).await?;
        match answer.status {
            StatusCode::OK => Ok(LockAnswer::Locked(info.clone())),
            StatusCode::CONFLICT | StatusCode::LOCKED => {
                let (holder, unread) = match serde_json::from_slice::<LockInfo>(&answer.body) {
                    Ok(holder) => (holder, false),
                    Err(_) => (info.clone(), true),
                };
                let message = refusals::locked(&holder.id, unread);
                Ok(LockAnswer::Held { holder, message })
            }
            status => Err(self.unexpected(DOING, status)),
        }
    }

    /// The server cannot check whether the dead holder still has the lock, so the lock is never taken over.
    async fn take_over(&self, dead: &LockInfo, _info: &LockInfo) -> Result<LockAnswer, BackendError> {
        let message = refusals::locked(&dead.id, false);
        Ok(LockAnswer::Held { holder: dead.clone(), message })
    }

    async fn unlock(&self, id: &str) -> Result<(), BackendError> {
        const DOING: &str = "releasing the lock";
        let Some(action) = &self.settings.unlock else { return Ok(()) };
        let info = LockInfo { id: id.to_owned(), ..LockInfo::default() };
        let answer = self.lock_request(DOING, action, &info).await?;
        match answer.status {
            StatusCode::OK => Ok(()),
            status => Err(self.unexpected(DOING, status)),
        }
    }

    fn locks(&self) -> bool {
        self.settings.unlock.is_some()
    }

    fn objects(&self) -> Option<Arc<dyn Objects>> {
        None
    }
}
