//! A state as text: its objects as blocks, and its outputs.

use weft_graph_format::address::ResourceMode;
use weft_graph_format::value::Value;
use weft_state::InstanceRecord;
use weft_state::tfstate::StateFile;

use super::difference::{Pair, Printing, Reasons, object, typed, untyped_object};
use super::quoting::quoted;
use super::schemas::{schema_of_record, stored_value};
use super::style::Style;
use super::values;

pub use super::schemas::Schemas;

/// A whole state. If the state is empty, the text says so.
pub fn human(state: &StateFile, schemas: &Schemas, style: &Style) -> String {
    let mut records: Vec<(Vec<String>, &InstanceRecord)> =
        state.instances.values().map(|record| (module_path(record), record)).collect();
    let has_outputs = state.named_outputs().next().is_some();
    // As in OpenTofu, resources without instances count only if they are in modules.
    let has_modules = state.bare_resources().iter().any(|bare| !bare.resource.module.is_root());
    if records.is_empty() && !has_outputs && !has_modules {
        return "The state file is empty. No resources are represented.\n".to_owned();
    }
    // As in OpenTofu, modules are sorted by their addresses as strings, and a module comes before the modules inside
    // it. The instances of a resource are sorted by key: 2 before 10.
    records.sort_by_cached_key(|(path, record)| {
        (path.clone(), record.address.resource.to_string(), record.address.key.clone())
    });
    let mut text = String::new();
    // The modules that contain the current record and have objects, outermost first.
    let mut above: Vec<&[String]> = Vec::new();
    for (path, record) in &records {
        while above.last().is_some_and(|module| !path.starts_with(module)) {
            above.pop();
        }
        match above.last() {
            Some(module) if *module == path.as_slice() => text.push('\n'),
            Some(_) => text.push_str("\n\n"),
            None => {}
        }
        if above.last() != Some(&path.as_slice()) {
            above.push(path);
        }
        text.push_str(&instance(record, schemas, style));
    }
    if has_outputs {
        text.push_str("\n\nOutputs:\n\n");
        for (name, output) in state.named_outputs() {
            let shown = match values::decoded(output) {
                _ if output.sensitive && !style.reveal => "(sensitive value)".to_owned(),
                Some(value) => still(&value, style),
                None => output.value.as_str().to_owned(),
            };
            text.push_str(&format!("{name} = {shown}\n"));
        }
    }
    text
}

fn still(value: &Value, style: &Style) -> String {
    let pair = Pair { before: Some(value), after: Some(value) };
    Printing::still(style).part(&typed(pair, &value.ty(), &Reasons::default()), 0)
}

/// The module instances that contain a record, outermost first.
fn module_path(record: &InstanceRecord) -> Vec<String> {
    record.address.module.0.iter().map(|step| format!("{}{}", step.name, step.key)).collect()
}

/// One instance: its current object, then the deposed ones. The text of each object ends with a newline.
pub fn instance(record: &InstanceRecord, schemas: &Schemas, style: &Style) -> String {
    let schema = schema_of_record(schemas, record);
    let resource = &record.address.resource;
    let block = if record.mode() == ResourceMode::Data { "data" } else { "resource" };
    let current = record
        .current
        .iter()
        .map(|object| (if object.tainted { " (tainted)".to_owned() } else { String::new() }, object));
    let deposed = record.deposed.iter().map(|(key, object)| (format!(" (deposed object {key})"), object));
    let mut texts = Vec::new();
    for (note, stored) in current.chain(deposed) {
        let mut text = format!("# {}:{note}\n", record.address);
        text.push_str(&format!("{block} {} {} ", quoted(&resource.type_name), quoted(&resource.name)));
        match stored_value(stored, schema) {
            Some(value) => {
                let pair = Pair { before: Some(&value), after: Some(&value) };
                let fits = schema.filter(|schema| schema.version == stored.schema_version);
                let part = match fits {
                    Some(schema) => object(pair, &schema.block, &Reasons::default()),
                    None => untyped_object(pair, &Reasons::default()),
                };
                text.push_str(&Printing::still(style).part(&part, 0));
            }
            None => text.push_str("{\n    # (its attributes cannot be read)\n}"),
        }
        text.push('\n');
        texts.push(text);
    }
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_state::tfstate::StateFile;

    #[test]
    fn instances_come_in_the_order_of_their_keys() {
        let instance = |key: usize| serde_json::json!({"index_key": key, "schema_version": 0, "attributes": {}});
        let text = serde_json::json!({"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "l",
            "outputs": {}, "check_results": null,
            "resources": [{"mode": "managed", "type": "terraform_data", "name": "r",
                "provider": "provider[\"terraform.io/builtin/terraform\"]",
                "instances": [instance(0), instance(10), instance(2)]}]})
        .to_string();
        let Ok(file) = StateFile::parse(text.as_bytes(), "test") else { panic!("a state") };
        let shown = human(&file, &Schemas::default(), &Style::default());
        let heads: Vec<&str> = shown.lines().filter(|line| line.starts_with("# ")).collect();
        assert_eq!(heads, ["# terraform_data.r[0]:", "# terraform_data.r[2]:", "# terraform_data.r[10]:"]);
    }

    #[test]
    fn a_state_shows_objects_modules_and_outputs() {
        let text = serde_json::json!({"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "l",
            "check_results": null,
            "outputs": {"o": {"value": {"id": "i", "n": 1}, "type": ["object", {"id": "string", "n": "number"}]},
                        "s": {"value": "hush", "type": "string", "sensitive": true}},
            "resources": [
                {"mode": "managed", "type": "terraform_data", "name": "b",
                 "provider": "provider[\"terraform.io/builtin/terraform\"]",
                 "instances": [{"index_key": 0, "schema_version": 0, "status": "tainted", "attributes": {
                     "id": "i", "output": null, "triggers_replace": null,
                     "input": {"value": {"list": [0, "x"], "text": "a\nb"},
                               "type": ["object", {"list": ["tuple", ["number", "string"]], "text": "string"}]}}}]},
                {"module": "module.m", "mode": "data", "type": "other_thing", "name": "d",
                 "provider": "provider[\"weft.test/other/other\"]",
                 "instances": [{"schema_version": 3, "attributes": {"token": "hush", "gone": null, "tags": {"a b": "1"}},
                                "sensitive_attributes": [[{"type": "get_attr", "value": "token"}]]}]}]});
        let Ok(state) = StateFile::parse(text.to_string().as_bytes(), "test") else { panic!("a state") };
        let expected = r#"# terraform_data.b[0]: (tainted)
resource "terraform_data" "b" {
    id    = "i"
    input = {
        list = [
            0,
            "x",
        ]
        text = <<-EOT
            a
            b
        EOT
    }
}


# module.m.data.other_thing.d:
data "other_thing" "d" {
    tags  = {
        "a b" = "1"
    }
    token = (sensitive value)
}


Outputs:

o = {
    id = "i"
    n  = 1
}
s = (sensitive value)
"#;
        assert_eq!(human(&state, &Schemas::new(), &Style::default()), expected);
    }
}
