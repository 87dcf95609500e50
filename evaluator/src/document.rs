//! The configuration as a JSON document: the `configuration` of `show -json`.
//!
//! Only constants are evaluated: an expression becomes its constant value or the names of its references. [`document`]
//! builds the whole document, `expressions` describes expressions and bodies, and `providers` describes the provider
//! configurations of all modules, and finds the provider configuration that each resource uses.

mod expressions;
mod providers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use weft_expressions::constant::evaluate_constant;
use weft_expressions::convert::convert_with_defaults;
use weft_graph_format::address::{ProviderSource, ResourceMode};
use weft_graph_format::codec::type_json;
use weft_graph_format::diagnostic::has_errors;
use weft_graph_format::number::Number;
use weft_graph_format::schema::ProviderSchema;
use weft_graph_format::types::Type;
use weft_syntax::Key;

use crate::config::{
    CompiledModule, ModuleCall, Output, ProviderKey, Repetition, ResourceBlock, SourceFiles, Variable,
};
use crate::evaluation::provisioner_schema;
use crate::reference::Reference;
use expressions::{constant_expression, described, of_body, subject_of};
use providers::{ProviderConfigs, key};

/// The inputs of a document.
pub struct DocumentInputs<'a> {
    /// The schemas of providers. Arguments of types without a schema are left out.
    pub schemas: &'a BTreeMap<ProviderSource, Arc<ProviderSchema>>,
    /// The files of the configuration.
    pub sources: &'a SourceFiles,
    /// The version constraints of a module for each provider, as text; empty if there are none.
    pub constraints: &'a dyn Fn(&CompiledModule) -> BTreeMap<ProviderSource, String>,
    /// Whether to leave out expressions and called modules, to describe a module on its own.
    pub alone: bool,
}

/// The providers that a module requires, configures, or uses in resources and imports.
pub fn providers_of(module: &CompiledModule) -> BTreeSet<ProviderSource> {
    let required = module.settings.required_providers.values().map(|required| required.source.clone());
    let blocks = module.providers.values().map(|block| module.provider_source(&block.local_name));
    let resources = module.resources.values().map(|block| module.provider_source(&block.provider_local_name()));
    let imports = module.statements.imports.iter().map(|import| {
        let implied = import.to.resource.type_name.split('_').next().unwrap_or_default();
        let named = import.provider.as_ref().map_or(implied, |provider| provider.local_name.as_str());
        module.provider_source(named)
    });
    required.chain(blocks).chain(resources).chain(imports).collect()
}

/// The document of a configuration.
pub fn document(root: &Arc<CompiledModule>, inputs: &DocumentInputs<'_>) -> Json {
    let configs = ProviderConfigs::of(root, inputs);
    let mut whole = Map::new();
    let module = module(root, inputs, &configs);
    let configs = configs.into_json();
    if !configs.is_empty() {
        whole.insert("provider_config".into(), Json::Object(configs));
    }
    whole.insert("root_module".into(), Json::Object(module));
    Json::Object(whole)
}

/// Adds a member, unless its value is empty.
fn add(object: &mut Map<String, Json>, name: &str, value: impl Into<Json>) {
    let value = value.into();
    let empty = match &value {
        Json::Null | Json::Bool(false) => true,
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(members) => members.is_empty(),
        _ => false,
    };
    if !empty {
        object.insert(name.to_owned(), value);
    }
}

/// Describes a module and its descendants. The loader limits the nesting.
fn module(module: &CompiledModule, inputs: &DocumentInputs<'_>, configs: &ProviderConfigs) -> Map<String, Json> {
    let outputs = module.outputs.iter().map(|(name, found)| (name.to_string(), output(found, inputs)));
    let mut resources: Vec<Json> = Vec::new();
    for mode in [ResourceMode::Managed, ResourceMode::Data, ResourceMode::Ephemeral] {
        let blocks = module.resources.iter().filter(|(resource, _)| resource.mode == mode);
        let mut blocks: Vec<(String, &ResourceBlock)> =
            blocks.map(|(resource, block)| (resource.to_string(), &**block)).collect();
        blocks.sort_by(|(a, _), (b, _)| a.cmp(b));
        resources.extend(
            blocks.into_iter().map(|(address, block)| Json::Object(resource(module, block, &address, inputs, configs))),
        );
    }
    let calls = module.calls.values().map(|found| (found.name.to_string(), call(module, found, inputs, configs)));
    let variables = module.variables.iter().map(|(name, found)| (name.to_string(), variable(found)));
    let mut object = Map::new();
    add(&mut object, "outputs", outputs.collect::<Map<_, _>>());
    add(&mut object, "resources", resources);
    add(&mut object, "module_calls", calls.collect::<Map<_, _>>());
    add(&mut object, "variables", variables.collect::<Map<_, _>>());
    object
}

fn output(output: &Output, inputs: &DocumentInputs<'_>) -> Json {
    let mut object = Map::new();
    add(&mut object, "sensitive", output.sensitive);
    add(&mut object, "ephemeral", output.ephemeral);
    add(&mut object, "deprecated", output.deprecated.clone());
    if !inputs.alone {
        object.insert("expression".into(), Json::Object(described(&output.value)));
    }
    add(&mut object, "depends_on", depends_on(&output.depends_on, inputs));
    add(&mut object, "description", output.description.clone());
    Json::Object(object)
}

/// The names of the references in `depends_on`, with keys.
fn depends_on(references: &[Reference], inputs: &DocumentInputs<'_>) -> Vec<Json> {
    references.iter().map(|reference| subject_of(reference, inputs.sources).into()).collect()
}

fn variable(variable: &Variable) -> Json {
    let mut object = Map::new();
    if variable.ty != Type::Dynamic {
        let ty = serde_json::from_str(&type_json::encode(&variable.ty)).unwrap_or(Json::Null);
        add(&mut object, "type", ty);
    }
    match &variable.default {
        None => add(&mut object, "required", true),
        Some(default) => {
            let (value, problems) = evaluate_constant(default);
            let converted = convert_with_defaults(&value, &variable.ty, &variable.defaults);
            if let Some(default) = converted.ok().filter(|_| !has_errors(&problems)).and_then(|v| expressions::json(&v))
            {
                object.insert("default".into(), default);
            }
        }
    }
    add(&mut object, "description", variable.description.clone());
    add(&mut object, "sensitive", variable.sensitive);
    add(&mut object, "ephemeral", variable.ephemeral);
    add(&mut object, "deprecated", variable.deprecated.clone());
    Json::Object(object)
}

/// `count` and `for_each`, if present.
fn repetition(object: &mut Map<String, Json>, repetition: &Repetition) {
    let member = match repetition {
        Repetition::Count(expression) => Some(("count_expression", expression)),
        Repetition::ForEach(expression) => Some(("for_each_expression", expression)),
        Repetition::Single | Repetition::Enabled(_) => None,
    };
    if let Some((name, expression)) = member {
        add(object, name, described(expression));
    }
}

/// The key of a provider instance, as an expression. OpenTofu 1.12 does not describe the key.
fn provider_key(key: &ProviderKey) -> Map<String, Json> {
    match key {
        ProviderKey::Literal(Key::String(text), _) => constant_expression(text.as_str().into()),
        // A key is always a string: `lab.by[0]` is the instance "0".
        ProviderKey::Literal(Key::Number(digits), _) => {
            let number = Number::parse(digits).map_or_else(|_| digits.to_string(), |number| number.to_string());
            constant_expression(number.into())
        }
        ProviderKey::Literal(Key::Bool(key), _) => constant_expression(key.to_string().into()),
        ProviderKey::Literal(Key::Null, _) => constant_expression(Json::Null),
        ProviderKey::Computed(expression) => described(expression),
    }
}

fn resource(
    module: &CompiledModule,
    block: &ResourceBlock,
    address: &str,
    inputs: &DocumentInputs<'_>,
    configs: &ProviderConfigs,
) -> Map<String, Json> {
    let resource = &block.resource;
    let mode = match resource.mode {
        ResourceMode::Managed => "managed",
        ResourceMode::Data => "data",
        ResourceMode::Ephemeral => "ephemeral",
    };
    let alias = block.provider.as_ref().and_then(|provider| provider.alias.as_deref());
    let local_name = block.provider_local_name();
    let mut object = Map::new();
    object.insert("address".into(), address.into());
    add(&mut object, "mode", mode);
    add(&mut object, "type", resource.type_name.as_str());
    add(&mut object, "name", resource.name.as_str());
    add(&mut object, "provider_config_key", configs.used(&key(&module.path, &local_name, alias)));
    let provisioners: Vec<Json> = block
        .provisioners
        .iter()
        .map(|provisioner| {
            let mut described = Map::new();
            add(&mut described, "type", provisioner.kind.as_str());
            if let Some(schema) = provisioner_schema(&provisioner.kind).filter(|_| !inputs.alone) {
                add(&mut described, "expressions", of_body(&provisioner.body, &schema));
            }
            Json::Object(described)
        })
        .collect();
    add(&mut object, "provisioners", provisioners);
    if !inputs.alone {
        let key = block.provider.as_ref().and_then(|provider| provider.key.as_ref());
        add(&mut object, "provider_instance_expression", key.map(provider_key).unwrap_or_default());
        let source = module.provider_source(&local_name);
        let schemas = inputs.schemas.get(&source);
        if let Some(schema) = schemas.and_then(|schemas| schemas.types(resource.mode).get(&resource.type_name)) {
            add(&mut object, "expressions", of_body(&block.body, &schema.block));
            object.insert("schema_version".into(), schema.version.into());
        }
        repetition(&mut object, &block.repetition);
    }
    add(&mut object, "depends_on", depends_on(&block.depends_on, inputs));
    object
}

fn call(module: &CompiledModule, call: &ModuleCall, inputs: &DocumentInputs<'_>, configs: &ProviderConfigs) -> Json {
    let mut object = Map::new();
    if let Some(source) = module.sources.get(&call.name) {
        add(&mut object, "source", source.text.as_str());
        add(&mut object, "version_constraint", source.version.as_deref());
    }
    if !inputs.alone {
        repetition(&mut object, &call.repetition);
    }
    if let Some(child) = module.children.get(&call.name).filter(|_| !inputs.alone) {
        let arguments = call.arguments.iter().filter(|(name, _)| child.variables.contains_key(*name));
        let arguments = arguments.map(|(name, (value, _))| (name.to_string(), Json::Object(described(value))));
        add(&mut object, "expressions", arguments.collect::<Map<_, _>>());
        object.insert("module".into(), Json::Object(self::module(child, inputs, configs)));
    }
    add(&mut object, "depends_on", depends_on(&call.depends_on, inputs));
    Json::Object(object)
}
