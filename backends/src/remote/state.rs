//! The state of a workspace: its versions in the service, and the lock of the workspace.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use md5::{Digest as _, Md5};
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value as Json, json};
use tokio::sync::OnceCell;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::remote::{
    BackendError, Expected, LockAnswer, LockInfo, Object, ObjectVersion, Objects, RemoteState, Written,
};
use weft_state::tfstate::WRITER_VERSION;

use super::api::part;
use super::hosted::Flavour;
use super::problems;
use super::refusals::{self, HostedDamage, HostedRefusal};
use super::session::{Account, Session};
use super::version::{self, Fit};
use super::workspace::Workspace;

const READING: &str = "reading the state";
const WRITING: &str = "writing the state";
const TAKING: &str = "taking the lock";
const RELEASING: &str = "releasing the lock";
/// The error of services that require the state itself in the request for a new version.
const NEEDS_STATE: &str = "param is missing or the value is empty: state";

/// The state of a workspace.
#[derive(Debug)]
pub(super) struct HostedState {
    account: Arc<Account>,
    /// The name of the workspace in the service.
    name: String,
    workspace: OnceCell<Workspace>,
    memory: Mutex<WorkspaceMemory>,
}

/// The information that this process stores about the workspace.
#[derive(Debug, Default)]
struct WorkspaceMemory {
    /// The id of the lock, if this process has locked the workspace.
    lock: Option<String>,
    /// Whether an upload has failed. After a failed upload, the workspace stays locked, so that no run starts from the
    /// older state.
    failed: bool,
    /// The version that was last read or written, with the marks of the document in that version.
    last: Option<(ObjectVersion, Marks)>,
}

/// The parts of a document that the service compares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Marks {
    serial: u64,
    lineage: String,
}

impl Marks {
    fn of(document: &Json) -> Marks {
        Marks {
            serial: document.get("serial").and_then(Json::as_u64).unwrap_or_default(),
            lineage: document.get("lineage").and_then(Json::as_str).unwrap_or_default().to_owned(),
        }
    }

    /// Whether the service accepts a document with these marks only if the upload is forced. `last` has the marks of
    /// the previous document.
    fn need_force(&self, last: Option<&Marks>) -> bool {
        last.is_some_and(|last| last.lineage != self.lineage || last.serial >= self.serial)
    }
}

impl HostedState {
    /// The state of the workspace with this name in the service.
    pub(super) fn new(account: Arc<Account>, name: String) -> HostedState {
        HostedState { account, name, workspace: OnceCell::new(), memory: Mutex::default() }
    }

    /// The workspace. Creates it if it does not exist.
    async fn workspace(&self) -> Result<(&Session, &Workspace), BackendError> {
        let session = self.account.session().await?;
        let workspace = self.workspace.get_or_try_init(|| session.find_or_create(&self.name)).await?;
        Ok((session, workspace))
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, WorkspaceMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The service's description of the latest version of the state.
    async fn current(&self, doing: &'static str) -> Result<Option<Json>, BackendError> {
        let (session, workspace) = self.workspace().await?;
        let path = format!("workspaces/{}/current-state-version", part(&workspace.id));
        let found = session.api.get(doing, &path).await?;
        Ok(found.and_then(|mut found| found.get_mut("data").map(Json::take)).filter(|data| !data.is_null()))
    }

    async fn content_of(&self, version: &Json) -> Result<Bytes, BackendError> {
        let (session, _) = self.workspace().await?;
        let Some(address) = attribute(version, "hosted-state-download-url") else {
            return Err(session.api.damaged(READING, &HostedDamage::NoAddress));
        };
        session.api.download(READING, address).await
    }

    /// Uploads this content as a new version.
    async fn upload(&self, content: &Bytes, force: bool) -> Result<ObjectVersion, BackendError> {
        let (session, workspace) = self.workspace().await?;
        let document: Json = serde_json::from_slice(content).unwrap_or_default();
        let marks = Marks::of(&document);
        let digest: String = Md5::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        let mut data = json!({ "type": "state-versions", "attributes": {
            "serial": marks.serial,
            "md5": digest,
            "lineage": marks.lineage,
            "force": force,
            "json-state-outputs": STANDARD.encode(outputs(&document)),
        }});
        if let Some(run) = &self.account.settings.run {
            data["relationships"]["run"] = json!({ "data": { "type": "runs", "id": run } });
        }
        let path = format!("workspaces/{}/state-versions", part(&workspace.id));
        let send =
            async |data: &Json| session.api.send(WRITING, Method::POST, &path, Some(&json!({ "data": data }))).await;
        let mut reply = send(&data).await?;
        let whole = !reply.status.is_success() && HostedRefusal::of(&reply).to_string().contains(NEEDS_STATE);
        if whole {
            data["attributes"]["state"] = STANDARD.encode(content).into();
            reply = send(&data).await?;
        }
        let made = session.api.found(WRITING, reply)?.unwrap_or_default();
        let Some(id) = made.pointer("/data/id").and_then(Json::as_str) else {
            return Err(session.api.damaged(WRITING, &HostedDamage::NoVersion));
        };
        if !whole {
            let Some(address) = made.get("data").and_then(|data| attribute(data, "hosted-state-upload-url")) else {
                return Err(session.api.damaged(WRITING, &HostedDamage::NoUploadAddress));
            };
            session.api.upload(WRITING, address, content.clone()).await?;
        }
        Ok(ObjectVersion(id.to_owned()))
    }

    /// The id of the lock for `force-unlock`.
    fn lock_id(&self) -> String {
        format!("{}/{}", self.account.settings.organization, self.name)
    }
}

fn attribute<'a>(resource: &'a Json, name: &str) -> Option<&'a str> {
    resource.get("attributes")?.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn version_of(resource: &Json) -> ObjectVersion {
    ObjectVersion(resource.get("id").and_then(Json::as_str).unwrap_or_default().to_owned())
}

/// The outputs of a document in the form that the service displays. An encrypted document has no visible outputs.
fn outputs(document: &Json) -> String {
    let all = document.get("outputs").and_then(Json::as_object);
    let shown = all.into_iter().flatten().map(|(name, output)| {
        let mut shown = Map::new();
        let field = |name: &str| output.get(name).filter(|value| !value.is_null()).cloned();
        shown.insert("sensitive".to_owned(), field("sensitive").unwrap_or(Json::Bool(false)));
        shown.extend(["value", "type"].into_iter().filter_map(|name| Some((name.to_owned(), field(name)?))));
        (name.clone(), Json::Object(shown))
    });
    Json::Object(shown.collect()).to_string()
}

#[async_trait]
impl RemoteState for HostedState {
    fn place(&self) -> String {
        format!("{}/{}", self.account.settings.host, self.lock_id())
    }

    async fn read(&self) -> Result<Option<Object>, BackendError> {
        let Some(found) = self.current(READING).await? else { return Ok(None) };
        let content = self.content_of(&found).await?;
        if content.is_empty() {
            return Ok(None);
        }
        let version = version_of(&found);
        let marks = Marks::of(&serde_json::from_slice(&content).unwrap_or_default());
        self.memory().last = Some((version.clone(), marks));
        Ok(Some(Object { content, version }))
    }

    async fn write(&self, content: Bytes, expected: &Expected, _lock: Option<&str>) -> Result<Written, BackendError> {
        // Other processes cannot write while this process has the lock. So the version is compared only once.
        let known = self.memory().last.clone();
        let own = matches!((expected, &known), (Expected::Version(version), Some((last, _))) if version == last)
            && self.memory().lock.is_some();
        let last = if own {
            known.map(|(_, marks)| marks)
        } else {
            let now = self.read().await?.map(|object| object.version);
            let fits = match expected {
                Expected::Absent => now.is_none(),
                Expected::Version(version) => now.as_ref() == Some(version),
            };
            if !fits {
                return Ok(Written::Conflict);
            }
            self.memory().last.clone().filter(|_| now.is_some()).map(|(_, marks)| marks)
        };
        let marks = Marks::of(&serde_json::from_slice(&content).unwrap_or_default());
        let uploaded = self.upload(&content, marks.need_force(last.as_ref())).await;
        let mut memory = self.memory();
        match uploaded {
            Ok(version) => {
                memory.failed = false;
                memory.last = Some((version.clone(), marks));
                Ok(Written::Done(version))
            }
            Err(error) => {
                memory.failed = true;
                Err(error)
            }
        }
    }

    async fn lock(&self, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        let (session, workspace) = self.workspace().await?;
        let body = json!({ "data": { "type": "", "attributes": { "reason": "Locked by OpenTofu" } } });
        let path = format!("workspaces/{}/actions/lock", part(&workspace.id));
        let reply = session.api.send(TAKING, Method::POST, &path, Some(&body)).await?;
        if reply.status == StatusCode::CONFLICT {
            let message = refusals::locked(&self.lock_id());
            // The service does not name the holder. As in OpenTofu, the information of this process is returned
            // instead.
            return Ok(LockAnswer::Held { holder: info.clone(), message });
        }
        if session.api.found(TAKING, reply)?.is_none() {
            return Err(session.api.refused(TAKING, &HostedRefusal::NotFound));
        }
        let mut memory = self.memory();
        memory.lock = Some(info.id.clone());
        memory.failed = false;
        Ok(LockAnswer::Locked(info.clone()))
    }

    /// The service does not report who has the lock, so the lock is never taken over.
    async fn take_over(&self, dead: &LockInfo, _info: &LockInfo) -> Result<LockAnswer, BackendError> {
        let message = refusals::locked(&self.lock_id());
        Ok(LockAnswer::Held { holder: dead.clone(), message })
    }

    async fn unlock(&self, id: &str) -> Result<(), BackendError> {
        let (own, failed) = {
            let memory = self.memory();
            (memory.lock.as_deref() == Some(id), memory.failed)
        };
        if own && failed {
            return Ok(());
        }
        let (session, workspace) = self.workspace().await?;
        if !own && id != self.lock_id() {
            let refusal = HostedRefusal::OtherLock { id: id.to_owned(), existing: self.lock_id() };
            return Err(session.api.refused(RELEASING, &refusal));
        }
        let action = if own { "unlock" } else { "force-unlock" };
        let path = format!("workspaces/{}/actions/{action}", part(&workspace.id));
        let reply = session.api.send(RELEASING, Method::POST, &path, None).await?;
        match reply.status {
            StatusCode::CONFLICT => {
                let found = HostedRefusal::of(&reply).to_string();
                let why =
                    ["Run", "Team", "User"].into_iter().find(|who| found.contains(&format!("is locked by {who}")));
                let refusal = match why {
                    Some(who) if own => HostedRefusal::LockedBy(who.to_lowercase()),
                    _ => HostedRefusal::NotLocked,
                };
                Err(session.api.refused(RELEASING, &refusal))
            }
            StatusCode::NOT_FOUND => Err(session.api.refused(RELEASING, &HostedRefusal::NotFound)),
            _ => {
                session.api.found(RELEASING, reply)?;
                self.memory().lock = None;
                Ok(())
            }
        }
    }

    fn locks(&self) -> bool {
        true
    }

    async fn runs_here(&self) -> Result<(), BackendError> {
        let (session, workspace) = self.workspace().await?;
        if session.always_local || workspace.is_local() {
            return Ok(());
        }
        Err(problems::runs_elsewhere(&self.account.settings, &self.name, &workspace.mode).into())
    }

    /// Each write creates a new version of the state, which the service processes. As in OpenTofu, `cloud` blocks write
    /// versions only at the end of a run. The same is true inside runs of the service itself.
    fn is_saved_midway(&self) -> bool {
        let settings = &self.account.settings;
        settings.flavour == Flavour::Remote && settings.run.is_none()
    }

    async fn version_conflict(&self, ignored: bool) -> Result<Option<Diagnostic>, BackendError> {
        let session = self.account.session().await?;
        let Some(workspace) = session.find(&self.name).await? else { return Ok(None) };
        if workspace.is_local() {
            return Ok(None);
        }
        let (settings, remote) = (&self.account.settings, workspace.version.as_str());
        let (fit, cloud) = match settings.flavour {
            Flavour::Remote => (version::of_remote(WRITER_VERSION, remote), false),
            Flavour::Cloud => (version::of_cloud(WRITER_VERSION, remote), true),
        };
        let problem = match fit {
            Fit::Fits => return Ok(None),
            Fit::Unknown if !cloud => return Ok(Some(problems::unknown_version(remote))),
            Fit::Unknown => problems::incompatible_version(settings, &self.name, WRITER_VERSION, remote),
            Fit::Differs(wanted) if cloud => {
                problems::incompatible_version(settings, &self.name, WRITER_VERSION, &wanted)
            }
            Fit::Differs(wanted) => problems::other_version(settings, &self.name, WRITER_VERSION, &wanted),
        };
        Ok(Some(problems::ignorable(problem, ignored)))
    }

    fn objects(&self) -> Option<Arc<dyn Objects>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_does_not_follow_the_last_one_needs_force() {
        let marks = |serial, lineage: &str| Marks { serial, lineage: lineage.to_owned() };
        for (now, last, want) in [
            (marks(1, "a"), None, false),
            (marks(3, "a"), Some(marks(2, "a")), false),
            (marks(2, "a"), Some(marks(2, "a")), true),
            (marks(3, "b"), Some(marks(2, "a")), true),
        ] {
            assert_eq!(now.need_force(last.as_ref()), want, "{now:?} {last:?}");
        }
    }

    #[test]
    fn outputs_are_shown_as_the_service_wants_them() {
        let document = json!({"outputs": {"a": {"value": "x", "type": "string"},
            "b": {"value": [1], "type": ["list", "number"], "sensitive": true}}});
        let want = r#"{"a":{"sensitive":false,"type":"string","value":"x"},"b":{"sensitive":true,"type":["list","number"],"value":[1]}}"#;
        let got: Json = serde_json::from_str(&outputs(&document)).unwrap();
        assert_eq!(got, serde_json::from_str::<Json>(want).unwrap());
        assert_eq!(outputs(&json!({})), "{}");
    }
}
