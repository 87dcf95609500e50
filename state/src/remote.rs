//! The interface to a state backend: a state document in another service, its lock, and small objects beside it.
//!
//! A backend treats the document and the lock as OpenTofu's backend of the same type does. So users can alternate
//! between OpenTofu and Weft with one state. The objects are Weft's own, such as the journals of runs.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use weft_graph_format::diagnostic::Diagnostic;

use crate::run::Holder;
use crate::tfstate::WRITER_VERSION;

/// Why a request to a backend failed. It is unknown whether a write took effect, unless the message says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// The service does not respond, even after retries.
    #[error("{place}: {doing} failed, because the service does not respond: {error}")]
    Unreachable {
        /// The location, such as bucket and key, or a host. It never contains a secret.
        place: String,
        /// A description of the request, such as "reading the state".
        doing: &'static str,
        /// What went wrong.
        error: String,
    },
    /// The service refused the request.
    #[error("{place}: {doing} failed: {error}. {advice}")]
    Refused {
        /// The location, such as bucket and key, or a host. It never contains a secret.
        place: String,
        /// A description of the request, such as "reading the state".
        doing: &'static str,
        /// The message of the service, with its code.
        error: String,
        /// The remedy, as a sentence. May be empty.
        advice: String,
    },
    /// There are no credentials.
    #[error("{place}: no valid credentials were found: {error}")]
    Credentials {
        /// The location, such as bucket and key, or a host.
        place: String,
        /// The sources of credentials that were tried.
        error: String,
    },
    /// The response has a form that the backend does not know, or does not match its checksum.
    #[error("{place}: {doing} failed, because the response is damaged: {error}")]
    Damaged {
        /// The location, such as bucket and key, or a host.
        place: String,
        /// A description of the request, such as "reading the state".
        doing: &'static str,
        /// What is wrong with the response.
        error: String,
    },
    /// The backend has one state only.
    #[error("workspaces not supported")]
    NoWorkspaces,
    /// The backend has no workspace `default`.
    #[error("default workspace not supported")]
    NoDefault,
    /// The default workspace cannot be deleted. The text comes from the backend.
    #[error("{0}")]
    DefaultStays(&'static str),
    /// A problem with a diagnostic of its own, such as wrong settings that only the service can detect.
    #[error("{}", in_one(.0))]
    Problem(Box<Diagnostic>),
}

/// Summary and detail as one text.
fn in_one(problem: &Diagnostic) -> String {
    if problem.detail.is_empty() {
        return problem.summary.clone();
    }
    format!("{}: {}", problem.summary, problem.detail)
}

impl From<Diagnostic> for BackendError {
    fn from(problem: Diagnostic) -> BackendError {
        BackendError::Problem(Box::new(problem))
    }
}

/// The identity of one version of an object, as the service names it: an ETag, a generation, a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectVersion(pub String);

/// An object that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The content of the object.
    pub content: Bytes,
    /// The version of the object.
    pub version: ObjectVersion,
}

/// The condition of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The object is absent.
    Absent,
    /// The object has this version.
    Version(ObjectVersion),
}

/// The answer to a conditional write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// The object has the new content, and this version.
    Done(ObjectVersion),
    /// The object is not as expected. Nothing was written.
    Conflict,
}

/// The information about a lock, in OpenTofu's form and order.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LockInfo {
    /// The identity of the lock, random.
    #[serde(rename = "ID")]
    pub id: String,
    /// The operation, such as `OperationTypeApply`.
    pub operation: String,
    /// Free text.
    pub info: String,
    /// `user@host`.
    pub who: String,
    /// The version of OpenTofu that the holder imitates.
    pub version: String,
    /// When the lock was taken, in the form of [`creation_time`].
    pub created: String,
    /// The path of the locked state.
    pub path: String,
    /// The id with which the holder requested the lock, if the service gave it another one.
    #[serde(skip)]
    pub asked: Option<String>,
}

impl LockInfo {
    /// The information about a new lock of this process, with a random id. The backend fills `path`.
    pub fn new(operation: &str, holder: &Holder) -> LockInfo {
        LockInfo {
            id: uuid::Uuid::new_v4().to_string(),
            operation: operation.to_owned(),
            info: format!("process {}", holder.process),
            who: format!("{}@{}", holder.user, holder.machine),
            version: WRITER_VERSION.to_owned(),
            created: creation_time(jiff::Timestamp::now()),
            path: String::new(),
            asked: None,
        }
    }

    /// The information with the id that the service gave to the lock.
    pub fn named(self, id: String) -> LockInfo {
        LockInfo { asked: Some(self.id), id, ..self }
    }

    /// The id with which the holder requested the lock.
    pub fn asked(&self) -> &str {
        self.asked.as_deref().unwrap_or(&self.id)
    }

    /// The JSON that OpenTofu stores, byte for byte. OpenTofu compares the stored text of a lock with the text that it
    /// would write itself. Go escapes some characters that JSON does not need to escape.
    pub fn to_json(&self) -> Vec<u8> {
        // Strings only: this cannot fail.
        let text = serde_json::to_string(self).unwrap_or_default();
        let mut escaped = String::with_capacity(text.len());
        // These characters are in strings only.
        for character in text.chars() {
            match character {
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
                }
                character => escaped.push(character),
            }
        }
        escaped.into_bytes()
    }
}

/// The time of a lock as Go writes it: RFC 3339 with up to nine digits of a second, without trailing zeros.
pub fn creation_time(time: jiff::Timestamp) -> String {
    let text = format!("{time:.9}");
    let digits = text.trim_end_matches('Z').trim_end_matches('0').trim_end_matches('.');
    format!("{digits}Z")
}

/// A lock that could not be released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreleasedLock {
    /// The location of the state, without secrets.
    pub place: String,
    /// The id under which the lock can be released.
    pub id: String,
    /// What went wrong.
    pub error: String,
}

/// The locks that this process could not release, to be reported before it ends. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct UnreleasedLocks(Arc<Mutex<Vec<UnreleasedLock>>>);

impl UnreleasedLocks {
    /// Adds a lock.
    pub fn add(&self, lock: UnreleasedLock) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(lock);
    }

    /// Takes all locks, in the order in which they were added.
    pub fn take(&self) -> Vec<UnreleasedLock> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The answer to a request for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockAnswer {
    /// The caller now has the lock, and releases it with this information.
    Locked(LockInfo),
    /// Another holder has the lock. `holder` has as much information as the backend can provide. If it has no `id`,
    /// waiting for the lock is useless.
    Held {
        /// The holder.
        holder: LockInfo,
        /// The message of the backend for display, in one line.
        message: String,
    },
}

/// A backend with its settings: the states of all workspaces.
#[async_trait]
pub trait Backend: Send + Sync + fmt::Debug {
    /// Asks the service whether these settings can be used, before `init` saves them.
    ///
    /// # Errors
    /// Returns an error if the service refuses the settings.
    async fn check(&self) -> Result<(), BackendError> {
        Ok(())
    }

    /// All workspaces, `default` first if the backend has it, the others sorted.
    ///
    /// # Errors
    /// [`BackendError::NoWorkspaces`] if the backend has only one state.
    async fn workspaces(&self) -> Result<Vec<String>, BackendError>;

    /// Deletes the state of a workspace.
    ///
    /// # Errors
    /// [`BackendError::DefaultStays`], [`BackendError::NoWorkspaces`]. Errors of the service.
    async fn delete_workspace(&self, workspace: &str) -> Result<(), BackendError>;

    /// Deletes the state of a workspace, even if the service would refuse this because the state has objects.
    ///
    /// # Errors
    /// Errors of [`Backend::delete_workspace`].
    async fn force_delete_workspace(&self, workspace: &str) -> Result<(), BackendError> {
        self.delete_workspace(workspace).await
    }

    /// The state of a workspace. Sends no request to the service.
    ///
    /// # Errors
    /// [`BackendError::NoWorkspaces`], [`BackendError::NoDefault`]. [`BackendError::Refused`] if the service cannot
    /// have a workspace of this name.
    fn state(&self, workspace: &str) -> Result<Arc<dyn RemoteState>, BackendError>;
}

/// The state of one workspace in a backend.
#[async_trait]
pub trait RemoteState: Send + Sync + fmt::Debug {
    /// The location for display, without secrets: `s3://bucket/key`.
    fn place(&self) -> String;

    /// The document, or `None` if there is none or it is empty.
    async fn read(&self) -> Result<Option<Object>, BackendError>;

    /// Writes the document if the stored document is as expected. A backend without conditional writes compares before
    /// it writes. `lock` is the id of the held lock, which some services require.
    async fn write(&self, content: Bytes, expected: &Expected, lock: Option<&str>) -> Result<Written, BackendError>;

    /// Takes the lock.
    async fn lock(&self, info: &LockInfo) -> Result<LockAnswer, BackendError>;

    /// Takes the lock from a holder that is known to be dead, if that holder still has it.
    async fn take_over(&self, dead: &LockInfo, info: &LockInfo) -> Result<LockAnswer, BackendError>;

    /// Releases the lock with this id, even if another process took it.
    ///
    /// # Errors
    /// Returns an error if the service reports that the lock has another id, or that there is no lock. Some backends
    /// cannot notice this.
    async fn unlock(&self, id: &str) -> Result<(), BackendError>;

    /// Whether the backend has locks with these settings.
    fn locks(&self) -> bool;

    /// Checks that plans of this state are made and applied by the commands of Weft, and not by the service.
    ///
    /// # Errors
    /// Returns an error if the service makes and applies the plans.
    async fn runs_here(&self) -> Result<(), BackendError> {
        Ok(())
    }

    /// Whether a run saves the state at intervals if the backend has no objects for journals.
    fn is_saved_midway(&self) -> bool {
        true
    }

    /// The problem, if the service expects another version of the tool that writes the state. The problem is a warning
    /// if `ignored`.
    ///
    /// # Errors
    /// Errors of the service.
    async fn version_conflict(&self, ignored: bool) -> Result<Option<Diagnostic>, BackendError> {
        let _ = ignored;
        Ok(None)
    }

    /// The objects beside the document. `None` if the service cannot create an object on the condition that it is
    /// absent.
    fn objects(&self) -> Option<Arc<dyn Objects>>;
}

/// Small objects beside a state document. A name is relative, and consists of parts with `/` between them. A part
/// consists of ASCII letters, digits, `-`, `_` and `.`.
#[async_trait]
pub trait Objects: Send + Sync + fmt::Debug {
    /// An object, or `None` if there is none.
    async fn read(&self, name: &str) -> Result<Option<Object>, BackendError>;

    /// Creates an object if there is none. If the response is lost, the backend repeats the request. When the repeated
    /// request finds the object of the first request, the backend reports success.
    async fn create(&self, name: &str, content: Bytes) -> Result<Written, BackendError>;

    /// Writes an object, whether it exists or not.
    async fn put(&self, name: &str, content: Bytes) -> Result<ObjectVersion, BackendError>;

    /// Writes a new object. If it is unknown whether the service respects the conditions of writes, finds this out by
    /// writing the object. The default method is for services that always respect conditions, and tests nothing.
    ///
    /// # Errors
    /// Returns an error if the service ignores conditions. Errors of a write.
    async fn put_trying(&self, name: &str, content: Bytes) -> Result<(), BackendError> {
        self.put(name, content).await.map(|_| ())
    }

    /// Whether the conditions of writes were tested.
    fn are_conditions_tried(&self) -> bool {
        false
    }

    /// The names of all objects that begin with this prefix, sorted.
    async fn list(&self, prefix: &str) -> Result<Vec<String>, BackendError>;

    /// Removes these objects. Absent objects are no error.
    async fn remove(&self, names: &[String]) -> Result<(), BackendError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_information_has_the_form_of_opentofu() {
        let holder = Holder { machine: "host".to_owned(), process: 7, user: "ann".to_owned() };
        let info = LockInfo { path: "key".to_owned(), ..LockInfo::new("OperationTypePlan", &holder) };
        let time = &info.created;
        assert!(time.parse::<jiff::Timestamp>().is_ok() && time.ends_with('Z'), "{time}");
        let text = String::from_utf8(info.to_json()).unwrap();
        let want = format!(
            r#"{{"ID":"{}","Operation":"OperationTypePlan","Info":"process 7","Who":"ann@host","Version":"{WRITER_VERSION}","Created":"{time}","Path":"key"}}"#,
            info.id
        );
        assert_eq!(text, want);
        assert_eq!(serde_json::from_str::<LockInfo>(&text).unwrap(), info);
    }

    #[test]
    fn times_end_as_in_go() {
        for (seconds, nanoseconds, want) in [
            (1_767_225_600, 0, "2026-01-01T00:00:00Z"),
            (1_767_225_610, 0, "2026-01-01T00:00:10Z"),
            (1_767_225_600, 500_000_000, "2026-01-01T00:00:00.5Z"),
            (1_767_225_600, 123_456_780, "2026-01-01T00:00:00.12345678Z"),
            (1_767_225_600, 7, "2026-01-01T00:00:00.000000007Z"),
        ] {
            let time = jiff::Timestamp::new(seconds, nanoseconds).unwrap();
            assert_eq!(creation_time(time), want);
        }
    }

    /// The text is that of Go's `json.Marshal`.
    #[test]
    fn characters_are_escaped_as_in_go() {
        let info = LockInfo { who: "a<b>&\u{2028}\u{2029}\"\\\u{8}\u{1}\u{7f}é".to_owned(), ..LockInfo::default() };
        let text = String::from_utf8(info.to_json()).unwrap();
        let want = r#""Who":"a\u003cb\u003e\u0026\u2028\u2029\"\\\b\u0001é","Version""#;
        assert!(text.contains(want), "{text}");
        assert_eq!(serde_json::from_str::<LockInfo>(&text).unwrap(), info);
    }
}
