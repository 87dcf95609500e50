//! The settings of a backend in the configuration, with those of `-backend-config`.

use serde_json::Value as Json;
use smol_str::SmolStr;
use weft_backends::catalog::{self, BackendKind, BackendSettings};
use weft_evaluator::config::{CompiledModule, settings_in_file};
use weft_expressions::convert::convert;
use weft_graph_format::codec::json::encode_plain;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::Block;
use weft_graph_format::value::Value;

use super::hash::block_hash;
use super::{CLOUD, local, problems};
use crate::variables;

/// A `backend` block, or a `cloud` block.
#[derive(Clone, Debug)]
pub struct WrittenBackend {
    /// The type of the backend.
    pub kind: SmolStr,
    /// The settings. Every attribute has a value, which is null if the block does not set the attribute.
    pub settings: BackendSettings,
    /// The hash that tells `init` whether the block has changed. The settings of `-backend-config` do not affect it.
    pub hash: u32,
}

/// The schema of a type of backend.
pub fn schema(kind: &str) -> Option<Block> {
    if kind == "local" { Some(local::schema()) } else { catalog::schema(kind) }
}

impl WrittenBackend {
    /// Reads the `cloud` or `backend` block of a root module. `None` if the module has neither. `init` says whether the
    /// command is `init`, which has its own message for an unknown type.
    ///
    /// # Errors
    /// Returns everything that is wrong with the block. Missing arguments are not errors, because `-backend-config` may
    /// set them.
    pub fn read(root: &CompiledModule, init: bool) -> Result<Option<WrittenBackend>, Vec<Diagnostic>> {
        let Some(block) = root.settings.cloud.as_ref().or(root.settings.backend.as_ref()) else { return Ok(None) };
        let kind = block.kind.as_str();
        if kind == CLOUD && root.settings.cloud.is_none() {
            return Err(vec![problems::cloud_as_backend(init).at(block.range.clone())]);
        }
        let Some(schema) = schema(kind) else {
            let problem = match catalog::kind(kind) {
                BackendKind::Removed(instead) => problems::backend_removed(kind, instead, init),
                BackendKind::Unknown => problems::backend_unknown(kind, init),
                BackendKind::Known | BackendKind::Missing => problems::backend_unsupported(kind),
            };
            return Err(vec![problem.at(block.range.clone())]);
        };
        let schema = optional(schema);
        let settings = as_settings(&block.settings(&schema)?);
        let hash = block_hash(kind, &schema, &settings);
        Ok(Some(WrittenBackend { kind: block.kind.clone(), settings, hash }))
    }

    /// The type of the block, if the block has values that do not fit the schema of this type.
    pub fn unfit(root: &CompiledModule) -> Option<SmolStr> {
        let block = root.settings.cloud.as_ref().or(root.settings.backend.as_ref())?;
        let schema = schema(block.kind.as_str())?;
        (block.is_evaluated() && block.settings(&optional(schema)).is_err()).then(|| block.kind.clone())
    }

    /// Adds the `-backend-config` options: `NAME=VALUE`, or files of such arguments. Later options take precedence.
    ///
    /// # Errors
    /// Returns an error if an argument is invalid, or a file cannot be read.
    pub fn with<'a>(mut self, given: impl Iterator<Item = &'a str>) -> Result<WrittenBackend, Vec<Diagnostic>> {
        let schema = optional(schema(&self.kind).unwrap_or_default());
        for text in given {
            let Some((name, value)) = text.split_once('=') else {
                let found = in_file(text, &schema)?;
                self.settings.extend(found.into_iter().map(|(name, value)| (name.to_string(), json_of(&value))));
                continue;
            };
            let Some(attribute) = schema.attributes.get(name) else {
                return Err(vec![problems::unexpected_argument(name)]);
            };
            let Ok(value) = convert(&Value::string(value), &attribute.ty) else {
                return Err(vec![problems::invalid_argument(name, &attribute.ty)]);
            };
            self.settings.insert(name.to_owned(), json_of(&value));
        }
        Ok(self)
    }
}

/// The schema with all arguments and blocks optional.
fn optional(mut schema: Block) -> Block {
    for attribute in schema.attributes.values_mut() {
        attribute.required = false;
    }
    for block in schema.blocks.values_mut() {
        block.min_items = 0;
    }
    schema
}

/// The settings in a file.
fn in_file(path: &str, schema: &Block) -> Result<Vec<(SmolStr, Value)>, Vec<Diagnostic>> {
    let content = variables::file_content(path).map_err(|problem| vec![problem])?;
    settings_in_file(path, &content, schema)
}

/// Converts an object to settings. The value is known, because it is static.
fn as_settings(value: &Value) -> BackendSettings {
    match json_of(value) {
        Json::Object(settings) => settings,
        _ => BackendSettings::new(),
    }
}

/// A value as JSON.
pub fn json_of(value: &Value) -> Json {
    let text = encode_plain(&value.unmark_deep().0);
    text.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}
