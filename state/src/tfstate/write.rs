//! Writes a state file in OpenTofu's layout.

use std::collections::BTreeMap;

use weft_graph_format::address::{DeposedKey, InstanceKey, ModuleInstance, Resource, ResourceMode};
use weft_graph_format::bare::BareResource;
use weft_graph_format::stored::is_provider_memory;

use super::StateFile;
use crate::check::{CheckObject, CheckRecord};
use crate::json::{Escapes, push_indented, push_line, push_string};
use crate::record::{InstanceObject, InstanceRecord, OutputRecord, PathStep};

/// Text under construction, with the current level and whether a comma is due.
struct Page {
    text: String,
    level: usize,
    first: bool,
}

impl Page {
    /// Opens a container with `{` or `[` and goes one level deeper.
    fn open(&mut self, bracket: char) {
        self.text.push(bracket);
        self.level += 1;
        self.first = true;
    }

    /// Closes a container with `}` or `]`, on its own line unless the container is empty.
    fn close(&mut self, bracket: char) {
        self.level -= 1;
        if !self.first {
            push_line(&mut self.text, self.level);
        }
        self.text.push(bracket);
        self.first = false;
    }

    /// Begins the next element of a list, or the next key of an object.
    fn item(&mut self) {
        if !self.first {
            self.text.push(',');
        }
        self.first = false;
        push_line(&mut self.text, self.level);
    }

    fn key(&mut self, name: &str) {
        self.item();
        push_string(&mut self.text, name, Escapes::Html);
        self.text.push_str(": ");
    }

    fn string(&mut self, name: &str, value: &str) {
        self.key(name);
        push_string(&mut self.text, value, Escapes::Html);
    }

    fn word(&mut self, name: &str, value: impl std::fmt::Display) {
        self.key(name);
        self.text.push_str(&value.to_string());
    }

    fn json(&mut self, name: &str, value: &str) {
        self.key(name);
        push_indented(&mut self.text, value, self.level);
    }

    fn strings(&mut self, name: &str, values: &[String]) {
        self.key(name);
        self.open('[');
        for value in values {
            self.item();
            push_string(&mut self.text, value, Escapes::Html);
        }
        self.close(']');
    }
}

/// Writes the whole file.
pub(super) fn to_text(file: &StateFile) -> String {
    let mut page = Page { text: String::new(), level: 0, first: true };
    page.open('{');
    page.word("version", super::FORMAT as char);
    page.string("terraform_version", &file.terraform_version);
    page.word("serial", file.serial);
    page.string("lineage", if file.has_lineage() { &file.lineage } else { "" });
    page.key("outputs");
    page.open('{');
    for (name, output) in file.named_outputs() {
        page.key(name);
        write_output(&mut page, output);
    }
    page.close('}');
    page.key("resources");
    page.open('[');
    let bare = bare_resources(file);
    let modules = modules(&file.instances, &bare);
    for (place, instances) in by_resource(&file.instances, &bare, &modules) {
        page.item();
        write_resource(&mut page, place, &instances);
    }
    page.close(']');
    page.key("check_results");
    match file.checks.as_deref() {
        // OpenTofu writes null for an empty list.
        None | Some([]) => page.text.push_str("null"),
        Some(checks) => {
            page.open('[');
            for check in checks {
                page.item();
                write_check(&mut page, check);
            }
            page.close(']');
        }
    }
    write_memories(&mut page, file);
    page.close('}');
    page.text.push('\n');
    page.text
}

/// Writes the memories of provider instances. A file without memories is exactly as OpenTofu writes it.
fn write_memories(page: &mut Page, file: &StateFile) {
    let is_memory = |name: &str| is_provider_memory(name) && BareResource::of_name(name).is_none();
    let mut memories = file.outputs.iter().filter(|(name, _)| is_memory(name)).peekable();
    if memories.peek().is_none() {
        return;
    }
    page.key(super::MEMORIES);
    page.open('{');
    for (name, memory) in memories {
        page.key(name);
        write_output(page, memory);
    }
    page.close('}');
}

/// Module, mode, type and name, in the order in which the file sorts resources (as bytes), and the provider
/// configuration. Usually a resource has one provider configuration. If its instances belong to several configurations,
/// each configuration has its own entry, because all instances of an entry must name the same configuration.
type ResourceKey<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str);

/// The text of each module instance.
type Modules<'a> = BTreeMap<&'a ModuleInstance, String>;

fn modules<'a>(instances: &'a BTreeMap<String, InstanceRecord>, bare: &'a [BareText]) -> Modules<'a> {
    let mut modules = Modules::new();
    let of_bare = bare.iter().map(|(bare, _)| &bare.resource.module);
    for module in instances.values().map(|record| &record.address.module).chain(of_bare) {
        modules.entry(module).or_insert_with(|| module.to_string());
    }
    modules
}

/// A resource without instances, with the text of its provider configuration.
type BareText = (BareResource, String);

/// The resources without instances.
fn bare_resources(file: &StateFile) -> Vec<BareText> {
    let with_text = |bare: BareResource| {
        let provider = bare.provider.to_string();
        (bare, provider)
    };
    file.bare_resources().into_iter().map(with_text).collect()
}

fn by_resource<'a>(
    instances: &'a BTreeMap<String, InstanceRecord>,
    bare: &'a [BareText],
    modules: &'a Modules<'a>,
) -> BTreeMap<ResourceKey<'a>, Vec<&'a InstanceRecord>> {
    let mut resources: BTreeMap<ResourceKey<'_>, Vec<&InstanceRecord>> = BTreeMap::new();
    for (bare, provider) in bare {
        let Resource { mode, type_name, name } = &bare.resource.resource;
        let module = modules.get(&bare.resource.module).map_or("", String::as_str);
        resources.insert((module, mode_word(*mode), type_name.as_str(), name.as_str(), provider.as_str()), Vec::new());
    }
    for record in instances.values().filter(|record| !record.is_empty()) {
        let Resource { mode, type_name, name } = &record.address.resource;
        let module = modules.get(&record.address.module).map_or("", String::as_str);
        let place = (module, mode_word(*mode), type_name.as_str(), name.as_str(), record.provider.configuration());
        resources.entry(place).or_default().push(record);
    }
    for records in resources.values_mut() {
        records.sort_by(|left, right| left.address.key.cmp(&right.address.key));
    }
    resources
}

fn write_output(page: &mut Page, output: &OutputRecord) {
    page.open('{');
    page.json("value", output.value.as_str());
    page.json("type", output.value_type.as_str());
    if output.sensitive {
        page.word("sensitive", true);
    }
    if let Some(text) = &output.deprecated {
        page.string("deprecated", text);
    }
    page.close('}');
}

fn write_resource(
    page: &mut Page,
    (module, mode, resource_type, name, configuration): ResourceKey<'_>,
    instances: &[&InstanceRecord],
) {
    let one = instances.first().map_or(configuration, |record| record.provider.text());
    let per_instance = instances.iter().any(|record| {
        let provider = &record.provider;
        provider.text() != one || provider.configuration() != provider.text()
    });
    page.open('{');
    if !module.is_empty() {
        page.string("module", module);
    }
    page.string("mode", mode);
    page.string("type", resource_type);
    page.string("name", name);
    if !per_instance {
        page.string("provider", one);
    }
    page.key("instances");
    page.open('[');
    for record in instances {
        let provider = per_instance.then_some(record.provider.text());
        if let Some(object) = &record.current {
            write_object(page, &record.address.key, None, provider, object);
        }
        for (deposed, object) in &record.deposed {
            write_object(page, &record.address.key, Some(deposed), provider, object);
        }
    }
    page.close(']');
    page.close('}');
}

/// The word of a state file for a mode. Ephemeral objects are never stored.
fn mode_word(mode: ResourceMode) -> &'static str {
    match mode {
        ResourceMode::Managed => "managed",
        ResourceMode::Data => "data",
        ResourceMode::Ephemeral => "ephemeral",
    }
}

fn write_object(
    page: &mut Page,
    key: &InstanceKey,
    deposed: Option<&DeposedKey>,
    provider: Option<&str>,
    object: &InstanceObject,
) {
    page.item();
    page.open('{');
    match key {
        InstanceKey::None => {}
        InstanceKey::Int(index) => page.word("index_key", index),
        InstanceKey::String(key) => page.string("index_key", key),
    }
    if object.tainted {
        page.string("status", "tainted");
    }
    if let Some(deposed) = deposed {
        page.string("deposed", deposed.as_str());
    }
    if let Some(provider) = provider {
        page.string("provider", provider);
    }
    page.word("schema_version", object.schema_version);
    match &object.attributes_flat {
        None => page.json("attributes", object.attributes.as_str()),
        Some(flat) => {
            page.key("attributes_flat");
            page.open('{');
            for (name, value) in flat {
                page.string(name, value);
            }
            page.close('}');
        }
    }
    page.key("sensitive_attributes");
    page.open('[');
    for path in &object.sensitive_paths {
        page.item();
        page.open('[');
        for step in path {
            page.item();
            page.open('{');
            match step {
                PathStep::Attribute(name) => {
                    page.string("type", "get_attr");
                    page.string("value", name);
                }
                PathStep::Index(key) => {
                    page.string("type", "index");
                    page.json("value", &typed_key(key.as_str()));
                }
            }
            page.close('}');
        }
        page.close(']');
    }
    page.close(']');
    if !object.private.0.is_empty() {
        page.string("private", &data_encoding::BASE64.encode(&object.private.0));
    }
    if !object.dependencies.is_empty() {
        page.strings("dependencies", &object.dependencies);
    }
    if object.create_before_destroy {
        page.word("create_before_destroy", true);
    }
    if object.skip_destroy {
        page.word("skip_destroy", true);
    }
    if let Some(identity) = &object.identity {
        page.json("identity", identity.as_str());
        page.word("identity_schema_version", object.identity_schema_version);
    }
    page.close('}');
}

fn write_check(page: &mut Page, check: &CheckRecord) {
    page.open('{');
    page.string("object_kind", &check.object_kind);
    page.string("config_addr", check.config_addr.text());
    page.string("status", check.status.word());
    page.key("objects");
    match &check.objects {
        None => page.text.push_str("null"),
        Some(objects) => {
            page.open('[');
            for object in objects {
                page.item();
                write_check_object(page, object);
            }
            page.close(']');
        }
    }
    page.close('}');
}

fn write_check_object(page: &mut Page, object: &CheckObject) {
    page.open('{');
    page.string("object_addr", object.object_addr.text());
    page.string("status", object.status.word());
    if !object.failure_messages.is_empty() {
        page.strings("failure_messages", &object.failure_messages);
    }
    page.close('}');
}

/// A key of a path with its type, as in the file: `{"value": KEY, "type": TYPE}`.
fn typed_key(key: &str) -> String {
    let ty = match key.as_bytes().first() {
        // The key already has that form.
        Some(b'{') => return key.to_owned(),
        Some(b'"') => "string",
        Some(b't' | b'f') => "bool",
        _ => "number",
    };
    format!("{{\"value\":{key},\"type\":\"{ty}\"}}")
}
