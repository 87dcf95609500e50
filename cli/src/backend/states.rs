//! The states of other configurations in backends, for `terraform_remote_state`.

use async_trait::async_trait;
use weft_backends::catalog::{self, BackendSettings};
use weft_evaluator::config::constraint_of;
use weft_expressions::convert::convert;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::value::Value;
use weft_providers::{SettingsMismatch, StateBackends, StateReadError};

use super::CLOUD;
use super::hosts::CliHosts;
use super::written::json_of;
use crate::context::environment;

/// All types of backends that this build supports, except `cloud`.
#[derive(Debug)]
pub struct AllBackends;

/// Converts an object, or null, to settings of a backend.
fn settings_of(backend: &str, settings: &Value) -> Result<BackendSettings, SettingsMismatch> {
    let schema = catalog::schema(backend).unwrap_or_default();
    let mut found = BackendSettings::new();
    if settings.is_null() {
        return Ok(found);
    }
    let fields = settings.as_fields().ok_or(SettingsMismatch::NotAnObject)?;
    for (name, value) in fields.iter() {
        let attribute = schema.attributes.get(name).map(|attribute| attribute.ty.clone());
        let Some(ty) = attribute.or_else(|| schema.blocks.get(name).map(constraint_of)) else {
            return Err(SettingsMismatch::UnknownArgument(name.to_string()));
        };
        let value = convert(value, &ty)
            .map_err(|problem| SettingsMismatch::Type { name: name.to_string(), reason: problem.with_path() })?;
        found.insert(name.to_string(), json_of(&value));
    }
    Ok(found)
}

/// The settings of a backend are not valid, as these diagnostics say.
#[derive(Debug, thiserror::Error)]
#[error("{}", in_words(.0))]
struct Unconnected(Vec<Diagnostic>);

fn in_words(problems: &[Diagnostic]) -> String {
    let words = problems.iter().map(|problem| match problem.detail.is_empty() {
        true => problem.summary.clone(),
        false => problem.detail.clone(),
    });
    words.collect::<Vec<_>>().join("; ")
}

#[async_trait]
impl StateBackends for AllBackends {
    fn has(&self, backend: &str) -> bool {
        backend != CLOUD && catalog::schema(backend).is_some()
    }

    fn check(&self, backend: &str, settings: &Value) -> Result<(), SettingsMismatch> {
        settings_of(backend, settings).map(|_| ())
    }

    async fn read(&self, backend: &str, settings: &Value, workspace: &str) -> Result<Option<Vec<u8>>, StateReadError> {
        let settings = settings_of(backend, settings)?;
        let connected = catalog::connect_at(backend, &settings, &environment, &CliHosts::shared());
        let connected = connected.map_err(Unconnected)?;
        let state = connected.backend.state(workspace)?;
        let found = state.read().await?;
        Ok(found.map(|found| found.content.to_vec()).filter(|content| !content.is_empty()))
    }
}
