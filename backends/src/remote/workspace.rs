//! The properties of a workspace in the service.

use serde_json::Value as Json;

/// The execution mode of a workspace whose plans are made by the CLI.
const LOCAL: &str = "local";

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Workspace {
    /// The id.
    pub(super) id: String,
    /// The name in the service.
    pub(super) name: String,
    /// The version of the tool, or a constraint on it.
    pub(super) version: String,
    /// The execution mode: `remote`, `local` or `agent`.
    pub(super) mode: String,
    /// The tags.
    pub(super) tags: Vec<String>,
    /// Whether the service can refuse to delete the workspace while its state has objects.
    pub(super) deletes_safely: bool,
}

impl Workspace {
    /// Reads the workspace from a JSON:API resource.
    pub(super) fn of(resource: &Json) -> Option<Workspace> {
        let attributes = resource.get("attributes")?;
        let text = |name: &str| attributes.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        let tags = attributes.get("tag-names").and_then(Json::as_array);
        let permissions = attributes.get("permissions");
        Some(Workspace {
            id: resource.get("id")?.as_str()?.to_owned(),
            name: text("name"),
            version: text("terraform-version"),
            mode: text("execution-mode"),
            tags: tags.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect(),
            deletes_safely: permissions.and_then(|all| all.get("can-force-delete")).is_some_and(Json::is_boolean),
        })
    }

    /// Whether the CLI makes the plans, and not the service.
    pub(super) fn is_local(&self) -> bool {
        self.mode == LOCAL
    }
}
