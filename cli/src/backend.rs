//! The backend of a configuration, which stores the states of its workspaces.
//!
//! `init` saves the settings of the backend as OpenTofu does. The other commands fail if the `backend` or `cloud` block
//! has changed since then.

mod hash;
mod hosts;
mod local;
mod problems;
mod saved;
mod states;
mod written;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use smol_str::SmolStr;
use weft_backends::address::BackendAddress;
use weft_backends::catalog::{self, BackendSettings};
use weft_evaluator::config::CompiledModule;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::{Block, NestedBlock};
use weft_state::remote::{Backend, BackendError};

use crate::context::{Context, DEFAULT_WORKSPACE, environment};
use crate::options::Arguments;
use crate::root::{root_alone, sound_root};
use crate::runtime::block_on;
pub use hosts::CliHosts;
pub use local::LocalBackend;
use problems::SettingsChange;
pub use problems::of_backend;
pub use saved::SavedBackend;
pub use states::AllBackends;
pub use written::{WrittenBackend, json_of};

/// The type of `cloud` blocks.
pub const CLOUD: &str = "cloud";
/// The name of a field in a plan's record of its backend. The field contains the store in front of the backend.
pub const FRONT: &str = "front";

/// A backend with its settings.
#[derive(Clone, Debug)]
pub enum StateBackend {
    /// The states are in files.
    Local(LocalBackend),
    /// The states are in a service.
    Remote(RemoteBackend),
}

/// A backend that is a service.
#[derive(Clone, Debug)]
pub struct RemoteBackend {
    /// The type.
    pub kind: SmolStr,
    /// The settings, without defaults and without values from the environment.
    pub settings: BackendSettings,
    /// The connection.
    pub service: Arc<dyn Backend>,
}

impl Default for StateBackend {
    fn default() -> StateBackend {
        StateBackend::Local(LocalBackend::default())
    }
}

impl StateBackend {
    /// The backend with these settings.
    ///
    /// # Errors
    /// Returns an error if the settings are invalid.
    pub fn connect(kind: &str, settings: &BackendSettings) -> Result<(StateBackend, Vec<Diagnostic>), Vec<Diagnostic>> {
        if kind == "local" {
            return Ok((StateBackend::Local(LocalBackend::new(settings)), Vec::new()));
        }
        let connected = catalog::connect_at(kind, settings, &environment, &CliHosts::shared())?;
        let (kind, settings, service) = (kind.into(), settings.clone(), connected.backend);
        Ok((StateBackend::Remote(RemoteBackend { kind, settings, service }), connected.warnings))
    }

    /// The backend at this address. `None` if the address does not belong to a backend.
    ///
    /// # Errors
    /// Returns an error if the address or its settings are invalid.
    pub fn at(address: &str) -> Result<Option<StateBackend>, Vec<Diagnostic>> {
        let Some(found) = BackendAddress::parse(address).map_err(|problem| vec![problem])? else { return Ok(None) };
        StateBackend::connect(found.kind, &found.settings).map(|(backend, _)| Some(backend))
    }

    /// The backend with the saved settings, or the default backend if no settings are saved.
    ///
    /// # Errors
    /// Returns an error if the settings are invalid.
    pub fn saved(saved: Option<&SavedBackend>) -> Result<StateBackend, Vec<Diagnostic>> {
        saved.map_or_else(
            || Ok(StateBackend::default()),
            |saved| StateBackend::connect(&saved.kind, &saved.settings).map(|(backend, _)| backend),
        )
    }

    /// The backend of the configuration in the current directory, with the settings that `init` has saved.
    ///
    /// # Errors
    /// Returns an error if the `backend` or `cloud` block is invalid, or if it differs from the block that `init` has
    /// processed.
    pub fn configured(context: &Context, arguments: &Arguments) -> Result<StateBackend, Vec<Diagnostic>> {
        let found = if context.strict { sound_root(context, arguments)? } else { root_alone(context, arguments) };
        StateBackend::in_force(&found.root, &context.data_directory)
    }

    /// The backend of this configuration, with the settings that `init` has saved.
    ///
    /// # Errors
    /// Returns an error if the `backend` or `cloud` block is invalid, or if it differs from the block that `init` has
    /// processed.
    pub fn in_force(root: &CompiledModule, data_directory: &Path) -> Result<StateBackend, Vec<Diagnostic>> {
        let unfit = WrittenBackend::unfit(root);
        let written = if unfit.is_some() { None } else { WrittenBackend::read(root, false)? };
        let saved = SavedBackend::read(data_directory).map_err(|problem| vec![problem])?;
        let change = match (&written, &saved) {
            // As in OpenTofu, only `init` reports settings that do not fit the schema. Other commands report that the
            // settings have changed.
            (None, saved) if unfit.is_some() => {
                let kind = unfit.unwrap_or_default();
                match saved {
                    None => SettingsChange::Added(kind),
                    Some(saved) if saved.kind != kind => SettingsChange::Kind(saved.kind.clone(), kind),
                    Some(_) if kind == CLOUD => SettingsChange::CloudSettings,
                    Some(_) => SettingsChange::Settings,
                }
            }
            (None, None) => return Ok(StateBackend::default()),
            (Some(written), Some(saved)) if saved.is_from(written) || saved.equals(written) => {
                return StateBackend::saved(Some(saved));
            }
            (Some(written), None) => SettingsChange::Added(written.kind.clone()),
            (None, Some(saved)) => SettingsChange::Removed(saved.kind.clone()),
            (Some(written), Some(saved)) if saved.kind != written.kind => {
                SettingsChange::Kind(saved.kind.clone(), written.kind.clone())
            }
            (Some(written), Some(_)) if written.kind == CLOUD => SettingsChange::CloudSettings,
            (Some(_), Some(_)) => SettingsChange::Settings,
        };
        Err(vec![problems::initialization_required(&change)])
    }

    /// The type of the backend.
    pub fn kind(&self) -> &str {
        match self {
            StateBackend::Local(_) => "local",
            StateBackend::Remote(remote) => &remote.kind,
        }
    }

    /// Whether the backend has the workspace `default`.
    pub fn has_default(&self) -> bool {
        match self {
            StateBackend::Local(_) => true,
            StateBackend::Remote(remote) => {
                !matches!(remote.service.state(DEFAULT_WORKSPACE), Err(BackendError::NoDefault))
            }
        }
    }

    /// The tags of the workspaces of a `cloud` block. Empty if the block names its workspace.
    pub fn tags(&self) -> Vec<String> {
        let StateBackend::Remote(remote) = self else { return Vec::new() };
        let tags = remote.settings.get("workspaces").and_then(|block| block.get("tags")).and_then(Json::as_array);
        tags.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect()
    }

    /// The names of all workspaces, the default one first.
    ///
    /// # Errors
    /// Returns errors of the service.
    pub fn workspaces(&self) -> Result<Vec<String>, Diagnostic> {
        match self {
            StateBackend::Local(local) => Ok(local.workspaces()),
            StateBackend::Remote(remote) => {
                let service = Arc::clone(&remote.service);
                match block_on(async move { service.workspaces().await })? {
                    Ok(names) => Ok(names),
                    Err(error) => Err(of_backend(&error)),
                }
            }
        }
    }

    /// Like [`StateBackend::workspaces`], but only `default` if the backend does not support several workspaces.
    ///
    /// # Errors
    /// Returns errors of the service.
    pub fn all_states(&self) -> Result<Vec<String>, Diagnostic> {
        match self.has_workspaces()? {
            true => self.workspaces(),
            false => Ok(vec![DEFAULT_WORKSPACE.to_owned()]),
        }
    }

    /// Whether the backend supports several workspaces.
    ///
    /// # Errors
    /// Returns errors of the service.
    pub fn has_workspaces(&self) -> Result<bool, Diagnostic> {
        let StateBackend::Remote(remote) = self else { return Ok(true) };
        let service = Arc::clone(&remote.service);
        match block_on(async move { service.workspaces().await })? {
            Ok(_) => Ok(true),
            Err(BackendError::NoWorkspaces) => Ok(false),
            Err(error) => Err(of_backend(&error)),
        }
    }

    /// Asks the service whether the settings can be used.
    ///
    /// # Errors
    /// Returns an error if the service rejects the settings.
    pub fn check(&self) -> Result<(), Diagnostic> {
        let StateBackend::Remote(remote) = self else { return Ok(()) };
        let service = Arc::clone(&remote.service);
        block_on(async move { service.check().await })?.map_err(|error| of_backend(&error))
    }

    /// Deletes the state of a workspace. With `force`, the state is deleted even if the service would otherwise refuse.
    ///
    /// # Errors
    /// Returns errors of the service, or of the file system.
    pub fn delete(&self, workspace: &str, force: bool) -> Result<(), Diagnostic> {
        match self {
            StateBackend::Local(local) => {
                let path = local.folder().join(workspace);
                std::fs::remove_dir_all(&path).map_err(|error| problems::workspace_not_deleted(&path, &error))
            }
            StateBackend::Remote(remote) => {
                let (service, name) = (Arc::clone(&remote.service), workspace.to_owned());
                let deleted = block_on(async move {
                    match force {
                        true => service.force_delete_workspace(&name).await,
                        false => service.delete_workspace(&name).await,
                    }
                });
                deleted?.map_err(|error| of_backend(&error))
            }
        }
    }
}

impl RemoteBackend {
    /// The settings as a plan records them, without secrets. `front` is the store that has the state, if the backend
    /// has only the second copy.
    pub fn record(&self, front: Option<&str>) -> String {
        let schema = catalog::schema(&self.kind).unwrap_or_default();
        let settings: BackendSettings = self
            .settings
            .iter()
            .filter(|(name, value)| !value.is_null() && !is_secret(&schema, name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let mut record = json!({ "type": self.kind, "config": settings });
        if let Some(front) = front {
            record[FRONT] = front.into();
        }
        record.to_string()
    }

    /// The backend that a plan records. Secrets come from the settings that `init` has saved for a backend of this
    /// type.
    ///
    /// # Errors
    /// Returns an error if the settings are invalid.
    pub fn of_record(record: &str, data_directory: &Path) -> Result<StateBackend, Vec<Diagnostic>> {
        let Ok(record) = serde_json::from_str::<Json>(record) else {
            return Err(vec![problems::plan_without_backend()]);
        };
        let kind = record.get("type").and_then(Json::as_str).unwrap_or_default();
        let recorded = record.get("config").and_then(Json::as_object).cloned().unwrap_or_default();
        let saved = SavedBackend::read(data_directory).ok().flatten().filter(|saved| saved.kind == kind);
        let mut settings = saved.map(|saved| saved.settings).unwrap_or_default();
        let schema = catalog::schema(kind).unwrap_or_default();
        settings.retain(|name, _| is_secret(&schema, name));
        settings.extend(recorded);
        StateBackend::connect(kind, &settings).map(|(backend, _)| backend)
    }
}

/// Whether a setting is secret, and therefore never stored in a plan. Sensitive attributes are secret, and so are
/// blocks that contain such attributes.
fn is_secret(schema: &Block, name: &str) -> bool {
    let attribute = schema.attributes.get(name).is_some_and(|attribute| attribute.sensitive);
    let within = |nested: &NestedBlock| nested.block.attributes.values().any(|attribute| attribute.sensitive);
    attribute || schema.blocks.get(name).is_some_and(within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_have_no_secrets() {
        let exec =
            json!([{ "api_version": "client.authentication.k8s.io/v1", "command": "c", "args": null, "env": null }]);
        let settings = json!({ "secret_suffix": "app", "host": "a", "token": "t", "labels": null, "exec": exec });
        let settings = settings.as_object().unwrap();
        let (backend, _) = StateBackend::connect("kubernetes", settings).unwrap();
        let StateBackend::Remote(remote) = backend else { panic!("local") };
        let record: Json = serde_json::from_str(&remote.record(None)).unwrap();
        assert_eq!(record, json!({ "type": "kubernetes", "config": { "secret_suffix": "app", "host": "a" } }));
    }
}
