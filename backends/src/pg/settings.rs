//! The arguments of the backend `pg`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::Block;
use weft_graph_format::types::Type;

use super::names::Names;
use super::string;
use crate::arguments::{self, Arguments, BackendSettings, Environment};
use crate::problems;

/// The default names of schema, table and index.
const DEFAULT_NAMES: [&str; 3] = ["terraform_remote_state", "states", "states_by_name"];
/// The supported modes of encryption.
const SSL_MODES: [&str; 4] = ["require", "verify-ca", "verify-full", "disable"];

/// The schema of the arguments.
pub fn schema() -> Block {
    let attributes = [
        ("conn_str", Type::String),
        ("index_name", Type::String),
        ("schema_name", Type::String),
        ("skip_index_creation", Type::Bool),
        ("skip_schema_creation", Type::Bool),
        ("skip_table_creation", Type::Bool),
        ("table_name", Type::String),
    ];
    arguments::schema(&attributes, &[], &["conn_str"])
}

/// The objects that must not be created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Skips {
    pub(super) schema: bool,
    pub(super) table: bool,
    pub(super) index: bool,
}

/// The settings.
#[derive(Clone)]
pub(super) struct PgSettings {
    /// The keys and values of the connection string.
    pub(super) keys: BTreeMap<String, String>,
    /// The names of the schema, table and index.
    pub(super) names: Names,
    /// The objects that must not be created.
    pub(super) skips: Skips,
    /// The home directory, which may have a file of passwords.
    pub(super) home: Option<PathBuf>,
}

impl fmt::Debug for PgSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PgSettings({})", self.place())
    }
}

impl PgSettings {
    /// Reads the settings.
    ///
    /// # Errors
    /// Returns an error if the settings are not valid.
    pub(super) fn read(
        settings: &BackendSettings,
        environment: Environment<'_>,
    ) -> Result<(PgSettings, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut arguments = Arguments::new(settings, environment);
        let text = arguments.text("conn_str", &["PG_CONN_STR"]).unwrap_or_default();
        let mut name = |argument: &str, variable: &str, default: &str| {
            arguments.text(argument, &[variable]).unwrap_or_else(|| default.to_owned())
        };
        let names = Names {
            schema: name("schema_name", "PG_SCHEMA_NAME", DEFAULT_NAMES[0]),
            table: name("table_name", "PG_TABLE_NAME", DEFAULT_NAMES[1]),
            index: name("index_name", "PG_INDEX_NAME", DEFAULT_NAMES[2]),
        };
        let mut skip = |what: &str| {
            let variable = format!("PG_SKIP_{}_CREATION", what.to_uppercase());
            arguments.flag(&format!("skip_{what}_creation"), &[&variable]).unwrap_or_default()
        };
        let skips = Skips { schema: skip("schema"), table: skip("table"), index: skip("index") };
        let keys = string::parse(&text, environment).unwrap_or_else(|error| {
            arguments.problems.push(problems::connection_string(&error));
            BTreeMap::new()
        });
        if let Some(mode) = keys.get("sslmode").filter(|mode| !SSL_MODES.contains(&mode.as_str())) {
            arguments.problems.push(problems::ssl_mode(mode, &SSL_MODES));
        }
        let home = environment("HOME").map(PathBuf::from);
        arguments.finish(PgSettings { keys, names, skips, home })
    }

    /// The value of a key of the connection string.
    pub(super) fn key(&self, name: &str) -> Option<&str> {
        self.keys.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The host, port, database and schema, without secrets.
    pub(super) fn place(&self) -> String {
        let key = |name: &str, default: &'static str| self.key(name).unwrap_or(default).to_owned();
        let (host, port) = (key("host", "localhost"), key("port", "5432"));
        format!("postgres://{host}:{port}/{} {}", key("dbname", ""), self.names.schema)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_and_their_defaults() {
        let environment = |name: &str| match name {
            "PG_SCHEMA_NAME" => Some("own".to_owned()),
            "PG_SKIP_TABLE_CREATION" => Some("true".to_owned()),
            _ => None,
        };
        let settings = json!({"conn_str": "postgres://u:secret@h/db", "schema_name": null});
        let (read, _) = PgSettings::read(settings.as_object().unwrap(), &environment).unwrap();
        assert_eq!(read.names.table(), "\"own\".\"states\"");
        assert_eq!(read.skips, Skips { table: true, ..Skips::default() });
        assert_eq!(read.place(), "postgres://h:5432/db own");
        assert!(!format!("{read:?}").contains("secret"));
    }

    #[test]
    fn unknown_modes_are_refused() {
        let settings = json!({"conn_str": "host=h sslmode=prefer"});
        let found = PgSettings::read(settings.as_object().unwrap(), &|_| None).unwrap_err();
        assert_eq!(found[0].summary, "unsupported sslmode \"prefer\"");
    }
}
