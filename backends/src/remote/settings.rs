//! The arguments of the backend `remote` and of `cloud` blocks.

use serde_json::Value as Json;
use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::{Block, NestedBlock, Nesting};
use weft_graph_format::types::Type;

use super::hosted::{Flavour, HostedSettings, Mapping};
use super::problems::{self, WorkspacesFault};
use crate::arguments::{self, BackendSettings, Environment};

/// The variable that makes every run local, regardless of the workspace's mode.
const FORCE_LOCAL: &str = "TF_FORCE_LOCAL_BACKEND";
/// The variable with the run of the service to which this process belongs.
const RUN: &str = "TFE_RUN_ID";

/// The schema of `backend "remote"`.
pub fn schema() -> Block {
    with_workspaces(&["organization"], &[("name", Type::String), ("prefix", Type::String)])
}

/// The schema of `cloud` blocks.
pub fn cloud_schema() -> Block {
    with_workspaces(&[], &[("name", Type::String), ("project", Type::String), ("tags", Type::set(Type::String))])
}

fn with_workspaces(required: &[&str], workspaces: &[(&str, Type)]) -> Block {
    let attributes = [("hostname", Type::String), ("organization", Type::String), ("token", Type::String)];
    let mut block = arguments::schema(&attributes, required, &["token"]);
    let inner = arguments::schema(workspaces, &[], &[]);
    let nested = NestedBlock { block: inner, nesting: Nesting::Single, min_items: 0, max_items: 0 };
    block.blocks.insert(SmolStr::new_static("workspaces"), nested);
    block
}

/// A string that is set and not empty.
fn text(settings: &BackendSettings, name: &str) -> Option<String> {
    settings.get(name).and_then(Json::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn workspaces(settings: &BackendSettings) -> BackendSettings {
    settings.get("workspaces").and_then(Json::as_object).cloned().unwrap_or_default()
}

impl HostedSettings {
    /// The settings of `backend "remote"`.
    ///
    /// # Errors
    /// Returns an error if the settings are not valid.
    pub(super) fn remote(
        settings: &BackendSettings,
        environment: Environment<'_>,
    ) -> Result<HostedSettings, Vec<Diagnostic>> {
        let mut found = Vec::new();
        let organization = text(settings, "organization");
        if organization.is_none() {
            found.push(problems::no_organization());
        }
        let workspaces = workspaces(settings);
        let mapping = match (text(&workspaces, "name"), text(&workspaces, "prefix")) {
            (Some(name), None) => Some(Mapping::Name(name)),
            (None, Some(prefix)) => Some(Mapping::Prefix(prefix)),
            (None, None) => {
                found.push(problems::invalid_workspaces(WorkspacesFault::NoNameOrPrefix));
                None
            }
            (Some(_), Some(_)) => {
                found.push(problems::invalid_workspaces(WorkspacesFault::NameAndPrefix));
                None
            }
        };
        let (Some(organization), Some(mapping)) = (organization, mapping) else { return Err(found) };
        let Some(host) = text(settings, "hostname") else { return Err(vec![problems::no_host(Flavour::Remote)]) };
        Ok(HostedSettings {
            flavour: Flavour::Remote,
            host,
            organization,
            token: text(settings, "token"),
            mapping,
            project: None,
            selected: None,
            force_local: environment(FORCE_LOCAL).is_some(),
            run: environment(RUN),
        })
    }

    /// The settings of a `cloud` block.
    ///
    /// # Errors
    /// Returns an error if the settings are not valid.
    pub(super) fn cloud(
        settings: &BackendSettings,
        environment: Environment<'_>,
    ) -> Result<HostedSettings, Vec<Diagnostic>> {
        let mut found = Vec::new();
        let either = |name: &str, variable: &str| text(settings, name).or_else(|| environment(variable));
        let organization = either("organization", "TF_CLOUD_ORGANIZATION");
        if organization.is_none() {
            found.push(problems::argument_missing("organization", "TF_CLOUD_ORGANIZATION"));
        }
        let selected = environment("TF_WORKSPACE");
        let workspaces = workspaces(settings);
        let mapping = match cloud_mapping(&workspaces, selected.as_deref()) {
            Ok(mapping) => Some(mapping),
            Err(problem) => {
                found.push(problem);
                None
            }
        };
        let (Some(organization), Some(mapping)) = (organization, mapping) else { return Err(found) };
        let Some(host) = either("hostname", "TF_CLOUD_HOSTNAME") else {
            return Err(vec![problems::no_host(Flavour::Cloud)]);
        };
        Ok(HostedSettings {
            flavour: Flavour::Cloud,
            host,
            organization,
            token: text(settings, "token"),
            mapping,
            project: text(&workspaces, "project").or_else(|| environment("TF_CLOUD_PROJECT")),
            selected,
            force_local: environment(FORCE_LOCAL).is_some(),
            run: environment(RUN),
        })
    }
}

/// The name or the tags of a `cloud` block. The name may come from the environment.
fn cloud_mapping(workspaces: &BackendSettings, selected: Option<&str>) -> Result<Mapping, Diagnostic> {
    let tags: Vec<String> = match workspaces.get("tags") {
        Some(Json::Array(tags)) => tags.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let name = text(workspaces, "name");
    if let (Some(name), Some(selected)) = (name.as_deref(), selected)
        && name != selected
    {
        return Err(problems::cloud_workspaces(WorkspacesFault::OtherSelected));
    }
    match (name, tags.is_empty()) {
        (Some(name), true) => Ok(Mapping::Name(name)),
        (None, false) => Ok(Mapping::Tags(tags)),
        (Some(_), false) => Err(problems::cloud_workspaces(WorkspacesFault::TagsAndName)),
        (None, true) => selected
            .map(|name| Mapping::Name(name.to_owned()))
            .ok_or_else(|| problems::cloud_workspaces(WorkspacesFault::NoTagsOrName)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(cloud: bool, settings: Json, variables: &[(&str, &str)]) -> Result<HostedSettings, Vec<String>> {
        let find = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        let settings = settings.as_object().unwrap().clone();
        let read = match cloud {
            true => HostedSettings::cloud(&settings, &find),
            false => HostedSettings::remote(&settings, &find),
        };
        read.map_err(|found| found.into_iter().map(|problem| problem.summary).collect())
    }

    #[test]
    fn the_backend_remote_needs_an_organization_and_either_name_or_prefix() {
        let whole = json!({"hostname": "h", "organization": "o", "token": "secret", "workspaces": {"name": "n"}});
        let settings = read(false, whole, &[]).unwrap();
        assert_eq!(settings.mapping, Mapping::Name("n".to_owned()));
        assert!(!format!("{settings:?}").contains("secret"));
        let none = read(false, json!({"workspaces": null}), &[]).unwrap_err();
        assert_eq!(none, ["Invalid organization value", "Invalid workspaces configuration"]);
        let both = json!({"organization": "o", "workspaces": {"name": "n", "prefix": "p"}});
        assert_eq!(read(false, both, &[]).unwrap_err(), ["Invalid workspaces configuration"]);
        let hostless = json!({"organization": "o", "workspaces": {"prefix": "p"}});
        assert_eq!(read(false, hostless, &[]).unwrap_err(), ["Hostname is required for the remote backend"]);
    }

    #[test]
    fn the_environment_completes_a_cloud_block() {
        let variables = [
            ("TF_CLOUD_HOSTNAME", "h"),
            ("TF_CLOUD_ORGANIZATION", "o"),
            ("TF_CLOUD_PROJECT", "p"),
            ("TF_WORKSPACE", "w"),
        ];
        let settings = read(true, json!({}), &variables).unwrap();
        assert_eq!((settings.host.as_str(), settings.organization.as_str()), ("h", "o"));
        assert_eq!((settings.mapping, settings.project.as_deref()), (Mapping::Name("w".to_owned()), Some("p")));
        let other = json!({"workspaces": {"name": "n"}});
        assert_eq!(read(true, other, &variables).unwrap_err(), ["Invalid workspaces configuration"]);
        let tagged = json!({"workspaces": {"name": null, "tags": ["b", "a"]}});
        let settings = read(true, tagged, &variables).unwrap();
        assert_eq!(settings.mapping, Mapping::Tags(vec!["b".to_owned(), "a".to_owned()]));
        assert_eq!(read(true, json!({}), &[]).unwrap_err().len(), 2);
    }
}
