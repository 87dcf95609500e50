//! What the service says about a workspace.

use serde_json::Value as Json;

/// Plans are made where the command runs.
const LOCAL: &str = "local";

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Workspace {
    /// Its id.
    pub(super) id: String,
    /// Its name in the service.
    pub(super) name: String,
    /// The version of the tool, or a constraint on it.
    pub(super) version: String,
    /// Where plans are made: `remote`, `local` or `agent`.
    pub(super) mode: String,
    /// Its tags.
    pub(super) tags: Vec<String>,
    /// Whether the service can delete it only if it has no objects.
    pub(super) deletes_safely: bool,
}

impl Workspace {
    /// The workspace in a JSON:API resource.
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

    /// Whether plans are made where the command runs.
    pub(super) fn is_local(&self) -> bool {
        self.mode == LOCAL
    }
}
