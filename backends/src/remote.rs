//! The backends `remote` and `cloud`: states, locks and workspaces of a service with the API of HCP Terraform.
//!
//! `settings` has the arguments, and `problems` the diagnostics. `session` finds the service and the token at the first
//! request, and reads the permissions of the organization. `api` is the client. `workspace` has the properties of a
//! workspace. `state` is the state of a workspace, and `version` compares versions of tools.
//!
//! Remote execution is not supported. If the service executes the runs of a workspace, Weft cannot plan or apply in
//! that workspace. The `state` commands can still read, lock and change the state of the workspace.

mod api;
mod hosted;
mod problems;
mod refusals;
mod session;
mod settings;
mod state;
mod version;
mod workspace;

use std::sync::Arc;

use async_trait::async_trait;
use weft_state::remote::{Backend, BackendError, RemoteState};

use crate::arguments::{BackendSettings, Environment};
use crate::connected::{Connected, Connecting};
use crate::hosts::Hosts;
use hosted::{Flavour, HostedSettings, Mapping};
use session::Account;
pub use settings::{cloud_schema, schema};
use state::HostedState;

/// The only workspace of the backend `remote`, if its settings select a single workspace by name.
const DEFAULT: &str = "default";

/// Makes the backend `remote` from its settings.
///
/// # Errors
/// Returns an error if the settings are not valid.
pub fn connect(settings: &BackendSettings, environment: Environment<'_>, hosts: &Arc<dyn Hosts>) -> Connecting {
    made(HostedSettings::remote(settings, environment)?, hosts)
}

/// Makes the backend of a `cloud` block from its settings.
///
/// # Errors
/// Returns an error if the settings are not valid.
pub fn connect_cloud(settings: &BackendSettings, environment: Environment<'_>, hosts: &Arc<dyn Hosts>) -> Connecting {
    made(HostedSettings::cloud(settings, environment)?, hosts)
}

fn made(settings: HostedSettings, hosts: &Arc<dyn Hosts>) -> Connecting {
    let account = Arc::new(Account::new(settings, Arc::clone(hosts)));
    Ok(Connected { backend: Arc::new(Hosted { account }), warnings: Vec::new() })
}

/// The backend.
#[derive(Debug)]
struct Hosted {
    account: Arc<Account>,
}

impl Hosted {
    fn settings(&self) -> &HostedSettings {
        &self.account.settings
    }

    /// The name of a workspace in the service.
    fn name_of(&self, workspace: &str) -> Result<String, BackendError> {
        let settings = self.settings();
        match (&settings.mapping, settings.flavour, workspace == DEFAULT) {
            (Mapping::Name(name), Flavour::Remote, true) => Ok(name.clone()),
            (Mapping::Name(_), Flavour::Remote, false) => Err(BackendError::NoWorkspaces),
            (_, _, true) => Err(BackendError::NoDefault),
            (Mapping::Name(name), Flavour::Cloud, false) if name != workspace => Err(BackendError::NoWorkspaces),
            (Mapping::Prefix(prefix), _, false) if !workspace.starts_with(prefix) => Ok(format!("{prefix}{workspace}")),
            (_, _, false) => Ok(workspace.to_owned()),
        }
    }

    async fn delete(&self, workspace: &str, force: bool) -> Result<(), BackendError> {
        let cloud = self.settings().flavour == Flavour::Cloud;
        if cloud && workspace != DEFAULT && matches!(self.settings().mapping, Mapping::Name(_)) {
            return Err(BackendError::NoWorkspaces);
        }
        let name = self.name_of(workspace)?;
        let session = self.account.session().await?;
        let safely = cloud && !force;
        session.delete_workspace(&name, safely).await
    }
}

#[async_trait]
impl Backend for Hosted {
    async fn check(&self) -> Result<(), BackendError> {
        self.account.session().await.map(|_| ())
    }

    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let (settings, flavour) = (self.settings(), self.settings().flavour);
        let mut names = match &settings.mapping {
            Mapping::Name(_) if flavour == Flavour::Remote => return Err(BackendError::NoWorkspaces),
            Mapping::Name(name) => return Ok(vec![name.clone()]),
            Mapping::Prefix(prefix) => {
                let all = self.account.session().await?.workspaces(&[("search[name]", prefix)]).await?;
                all.iter().filter_map(|name| name.strip_prefix(prefix.as_str()).map(str::to_owned)).collect()
            }
            Mapping::Tags(tags) => self.account.session().await?.tagged_workspaces(tags).await?,
        };
        names.sort();
        Ok(names)
    }

    async fn delete_workspace(&self, workspace: &str) -> Result<(), BackendError> {
        self.delete(workspace, false).await
    }

    async fn force_delete_workspace(&self, workspace: &str) -> Result<(), BackendError> {
        self.delete(workspace, true).await
    }

    fn state(&self, workspace: &str) -> Result<Arc<dyn RemoteState>, BackendError> {
        let name = self.name_of(workspace)?;
        Ok(Arc::new(HostedState::new(Arc::clone(&self.account), name)))
    }
}
