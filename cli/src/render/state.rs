//! A state, for people: its objects as blocks, and its outputs.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_graph_format::address::ProviderSource;
use weft_graph_format::codec;
use weft_graph_format::schema::ProviderSchema;
use weft_state::tfstate::StateFile;
use weft_state::{InstanceRecord, ResourceMode};

use super::style::Style;
use super::values;

/// Schemas by provider, as far as they are at hand.
pub type Schemas = BTreeMap<ProviderSource, Arc<ProviderSchema>>;

/// A whole state.
pub fn human(state: &StateFile, schemas: &Schemas, style: &Style) -> String {
    let mut text = String::new();
    for record in state.instances.values() {
        text.push_str(&instance(record, schemas, style));
        text.push('\n');
    }
    if !state.outputs.is_empty() {
        text.push_str("\nOutputs:\n\n");
        for (name, output) in &state.outputs {
            text.push_str(&format!("{name} = {}\n", values::stored(output, false)));
        }
    }
    text
}

/// One instance.
pub fn instance(record: &InstanceRecord, _schemas: &Schemas, _style: &Style) -> String {
    let block = if record.mode == ResourceMode::Data { "data" } else { "resource" };
    let mut text = String::new();
    if let Some(object) = &record.current {
        let tainted = if object.tainted { " (tainted)" } else { "" };
        text.push_str(&format!("# {}:{tainted}\n", record.address));
        text.push_str(&format!("{block} \"{}\" \"{}\" {{\n", record.resource_type, record.name));
        if let Ok(value) = codec::json::decode_implied(object.attributes.as_str().as_bytes()) {
            let secret = |name: &str| {
                object.sensitive_paths.iter().any(
                    |path| matches!(path.first(), Some(weft_state::PathStep::Attribute(first)) if first == name),
                )
            };
            for (name, part) in value.as_fields().into_iter().flatten() {
                let shown =
                    if secret(name) { "(sensitive value)".to_owned() } else { values::human(part, 4) };
                text.push_str(&format!("    {name} = {shown}\n"));
            }
        }
        text.push_str("}\n");
    }
    text
}
