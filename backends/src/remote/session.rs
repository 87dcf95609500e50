//! The session with the service: the token, the permissions of the organization, and the requests about workspaces and
//! projects.

use std::sync::Arc;

use reqwest::{Method, StatusCode};
use serde_json::{Value as Json, json};
use tokio::sync::OnceCell;
use weft_graph_format::version::{Version, parse_abbreviated};
use weft_state::remote::BackendError;
use weft_state::tfstate::WRITER_VERSION;

use super::api::{Api, part};
use super::hosted::{Flavour, HostedSettings, Mapping};
use super::problems;
use super::refusals::{HostedDamage, HostedRefusal};
use super::workspace::Workspace;
use crate::hosts::Hosts;

/// The names of the service in the discovery document of a host. The first name stands for the whole service, which can
/// execute runs. The second name stands for the part of the service that only stores states.
const SERVICE: [&str; 2] = ["tfe.v2.1", "state.v2"];
/// The service that `cloud` blocks use.
const CLOUD_SERVICE: &str = "tfe.v2";
/// The header with the version of the API.
const API_VERSION: &str = "tfp-api-version";
/// The lowest version of the API for `cloud` blocks.
const LEAST_API: [u64; 3] = [2, 5, 0];
const OPENING: &str = "reading the organization";
const READING: &str = "reading the workspace";
const CREATING: &str = "creating the workspace";
const LISTING: &str = "listing the workspaces";
const DELETING: &str = "deleting the workspace";

/// An organization of a host. The session with the service is opened at the first use.
#[derive(Debug)]
pub(super) struct Account {
    /// The settings.
    pub(super) settings: HostedSettings,
    hosts: Arc<dyn Hosts>,
    session: OnceCell<Session>,
}

impl Account {
    /// The organization in these settings.
    pub(super) fn new(settings: HostedSettings, hosts: Arc<dyn Hosts>) -> Account {
        Account { settings, hosts, session: OnceCell::new() }
    }

    /// The session with the service. It is opened at the first call.
    ///
    /// # Errors
    /// Returns an error if the host does not have the service, there is no token, or the organization does not exist.
    pub(super) async fn session(&self) -> Result<&Session, BackendError> {
        self.session.get_or_try_init(|| Session::open(&self.settings, &*self.hosts)).await
    }
}

/// A session with the service.
#[derive(Debug)]
pub(super) struct Session {
    /// The client.
    pub(super) api: Api,
    /// Whether every run is local.
    pub(super) always_local: bool,
    settings: HostedSettings,
}

impl Session {
    async fn open(settings: &HostedSettings, hosts: &dyn Hosts) -> Result<Session, BackendError> {
        let HostedSettings { host, organization, flavour, .. } = settings;
        let service = match flavour {
            Flavour::Cloud => CLOUD_SERVICE,
            Flavour::Remote => SERVICE[usize::from(settings.force_local)],
        };
        let base = hosts.service(host, service).await.map_err(|why| problems::no_service(settings, &why))?;
        let token = match &settings.token {
            Some(token) => token.clone(),
            None => hosts.token(host).await.unwrap_or_default(),
        };
        if token.is_empty() {
            return Err(problems::no_token(host).into());
        }
        let place = format!("{host}/{organization}");
        let api = Api::new(base, &token, &place, *flavour)
            .map_err(|error| BackendError::from(crate::problems::no_client(&error)))?;
        let path = format!("organizations/{}/entitlement-set", part(organization));
        let reply = api.send(OPENING, Method::GET, &path, None).await?;
        if !reply.status.is_success() {
            return Err(problems::organization_unreadable(settings, &HostedRefusal::of(&reply)).into());
        }
        let operations = reply.json().pointer("/data/attributes/operations").and_then(Json::as_bool).unwrap_or(false);
        let always_local = settings.force_local || !operations;
        let session = Session { api, always_local, settings: settings.clone() };
        if *flavour == Flavour::Cloud {
            session.check_selection().await?;
            session.check_version().await?;
        }
        Ok(session)
    }

    /// Checks that the workspace that the environment selects exists and has the tags.
    async fn check_selection(&self) -> Result<(), BackendError> {
        let Some(selected) = &self.settings.selected else { return Ok(()) };
        if self.find(selected).await?.is_none() {
            return Err(problems::wrong_selection(&self.settings, selected, &[]).into());
        }
        let Mapping::Tags(tags) = &self.settings.mapping else { return Ok(()) };
        match self.workspaces(&[("search[tags]", &tags.join(","))]).await?.contains(selected) {
            true => Ok(()),
            false => Err(problems::wrong_selection(&self.settings, selected, tags).into()),
        }
    }

    async fn check_version(&self) -> Result<(), BackendError> {
        let reply = self.api.send("reading the version of the API", Method::GET, "ping", None).await?;
        let version = reply.header(API_VERSION).unwrap_or_default();
        let least = Version::release(LEAST_API[0], LEAST_API[1], LEAST_API[2]);
        match parse_abbreviated(version).is_some_and(|found| found.precedence(&least).is_ge()) {
            true => Ok(()),
            false => Err(problems::old_service(version).into()),
        }
    }

    fn path(&self, rest: &str) -> String {
        format!("organizations/{}/{rest}", part(&self.settings.organization))
    }

    /// Finds the workspace with this name in the service.
    pub(super) async fn find(&self, name: &str) -> Result<Option<Workspace>, BackendError> {
        let found = self.api.get(READING, &self.path(&format!("workspaces/{}", part(name)))).await?;
        found.map(|document| self.workspace(READING, &document)).transpose()
    }

    fn workspace(&self, doing: &'static str, document: &Json) -> Result<Workspace, BackendError> {
        let found = document.get("data").and_then(Workspace::of);
        found.ok_or_else(|| self.api.damaged(doing, &HostedDamage::NoWorkspace))
    }

    /// Finds the workspace with this name in the service, and adds the tags of the settings to it. Creates the
    /// workspace if it does not exist.
    pub(super) async fn find_or_create(&self, name: &str) -> Result<Workspace, BackendError> {
        let workspace = match self.find(name).await? {
            Some(workspace) => workspace,
            None => self.create(name).await?,
        };
        if let Mapping::Tags(tags) = &self.settings.mapping
            && !tags.iter().all(|tag| workspace.tags.contains(tag))
        {
            let path = format!("workspaces/{}/relationships/tags", part(&workspace.id));
            self.api.post("tagging the workspace", &path, &json!({ "data": tag_resources(tags) })).await?;
        }
        Ok(workspace)
    }

    async fn create(&self, name: &str) -> Result<Workspace, BackendError> {
        let mut data = json!({ "type": "workspaces", "attributes": { "name": name } });
        match self.settings.flavour {
            Flavour::Remote => data["attributes"]["terraform-version"] = WRITER_VERSION.into(),
            Flavour::Cloud => {
                if let Some(project) = &self.settings.project {
                    let id = self.find_or_create_project(project).await?;
                    data["relationships"]["project"] = json!({ "data": { "type": "projects", "id": id } });
                }
                if let Mapping::Tags(tags) = &self.settings.mapping {
                    data["relationships"]["tags"] = json!({ "data": tag_resources(tags) });
                }
            }
        }
        let made = self.api.post(CREATING, &self.path("workspaces"), &json!({ "data": data })).await?;
        let mut workspace = self.workspace(CREATING, &made)?;
        if self.settings.flavour == Flavour::Cloud {
            let update = json!({ "data": { "type": "workspaces", "attributes": {
                "terraform-version": WRITER_VERSION } } });
            let path = format!("workspaces/{}", part(&workspace.id));
            // If the service does not know this version, the workspace keeps the default version of the service.
            if let Ok(reply) = self.api.send(CREATING, Method::PATCH, &path, Some(&update)).await
                && reply.status.is_success()
            {
                workspace.version = WRITER_VERSION.to_owned();
            }
        }
        Ok(workspace)
    }

    /// Finds the id of the project with this name.
    async fn find_project(&self, name: &str) -> Result<Option<String>, BackendError> {
        const DOING: &str = "looking for the project";
        let found = self.api.list(DOING, &self.path("projects"), &[("filter[names]", name)]).await?;
        let all = found.as_ref().and_then(|found| found.get("data")?.as_array()).into_iter().flatten();
        let mut named = all.filter(|project| project.pointer("/attributes/name").and_then(Json::as_str) == Some(name));
        Ok(named.next().and_then(|project| project.get("id")?.as_str()).map(str::to_owned))
    }

    async fn find_or_create_project(&self, name: &str) -> Result<String, BackendError> {
        const DOING: &str = "creating the project";
        if let Some(id) = self.find_project(name).await? {
            return Ok(id);
        }
        let body = json!({ "data": { "type": "projects", "attributes": { "name": name } } });
        let made = self.api.post(DOING, &self.path("projects"), &body).await?;
        let id = made.pointer("/data/id").and_then(Json::as_str).map(str::to_owned);
        id.ok_or_else(|| self.api.damaged(DOING, &HostedDamage::NoProject))
    }

    /// The names of the workspaces that match these parameters, in the order of the service.
    pub(super) async fn workspaces(&self, query: &[(&str, &str)]) -> Result<Vec<String>, BackendError> {
        let mut names = Vec::new();
        let mut page = String::new();
        loop {
            let mut query = query.to_vec();
            query.push(("page[number]", &page));
            let Some(found) = self.api.list(LISTING, &self.path("workspaces"), &query).await? else {
                return Err(self.api.refused(LISTING, &HostedRefusal::NotFound));
            };
            let all = found.get("data").and_then(Json::as_array).into_iter().flatten();
            names.extend(all.filter_map(Workspace::of).map(|workspace| workspace.name));
            let number = |name: &str| found.pointer(&format!("/meta/pagination/{name}")).and_then(Json::as_u64);
            let (current, last) = (number("current-page").unwrap_or(1), number("total-pages").unwrap_or(1));
            match number("next-page").filter(|next| current < last && *next > current) {
                Some(next) => page = next.to_string(),
                None => return Ok(names),
            }
        }
    }

    /// The names of the workspaces with all of these tags, in the project of the settings.
    pub(super) async fn tagged_workspaces(&self, tags: &[String]) -> Result<Vec<String>, BackendError> {
        let project = match &self.settings.project {
            Some(project) => self.find_project(project).await?.unwrap_or_default(),
            None => String::new(),
        };
        self.workspaces(&[("search[tags]", &tags.join(",")), ("filter[project][id]", &project)]).await
    }

    /// Deletes a workspace. If `safely` is true, the service refuses to delete a workspace whose state has objects.
    pub(super) async fn delete_workspace(&self, name: &str, safely: bool) -> Result<(), BackendError> {
        let mut safely = safely;
        if self.settings.flavour == Flavour::Cloud {
            let Some(workspace) = self.find(name).await? else { return Ok(()) };
            safely &= workspace.deletes_safely;
        }
        let path = self.path(&format!("workspaces/{}", part(name)));
        let reply = match safely {
            true => self.api.send(DELETING, Method::POST, &format!("{path}/actions/safe-delete"), None).await?,
            false => self.api.send(DELETING, Method::DELETE, &path, None).await?,
        };
        if reply.status == StatusCode::CONFLICT && safely {
            // The service distinguishes these cases only by its messages.
            let words = HostedRefusal::of(&reply).to_string();
            let why = if words.contains("locked") {
                HostedRefusal::Locked
            } else if words.contains("being processed") {
                HostedRefusal::Processing
            } else {
                HostedRefusal::ManagesResources
            };
            return Err(self.api.refused(DELETING, &why));
        }
        self.api.found(DELETING, reply).map(drop)
    }
}

fn tag_resources(tags: &[String]) -> Vec<Json> {
    tags.iter().map(|tag| json!({ "type": "tags", "attributes": { "name": tag } })).collect()
}
