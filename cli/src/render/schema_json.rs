//! Schemas as JSON, in the format of `providers schema -json` (OpenTofu, "Providers Schema Representation", format
//! 1.0).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use smol_str::SmolStr;
use weft_graph_format::codec::type_json;
use weft_graph_format::schema::{
    Attribute, Block, FunctionParameter, FunctionSignature, IdentitySchema, NestedBlock, Nesting, ProviderSchema,
    Schema,
};
use weft_graph_format::types::Type;

/// The schemas of a provider. Empty parts are omitted.
pub fn provider(schema: &ProviderSchema) -> Json {
    let mut document = Map::new();
    document.insert("provider".to_owned(), of_schema(&schema.provider));
    let mut add = |name: &str, schemas: &BTreeMap<SmolStr, Arc<Schema>>| {
        if !schemas.is_empty() {
            document.insert(name.to_owned(), each(schemas, |schema| of_schema(schema)));
        }
    };
    add("resource_schemas", &schema.resources);
    add("data_source_schemas", &schema.data_sources);
    add("ephemeral_resource_schemas", &schema.ephemeral);
    if !schema.functions.is_empty() {
        document.insert("functions".to_owned(), each(&schema.functions, function));
    }
    if !schema.identities.is_empty() {
        document.insert("resource_identity_schemas".to_owned(), each(&schema.identities, identity));
    }
    document.into()
}

fn each<T>(all: &BTreeMap<SmolStr, T>, render: impl Fn(&T) -> Json) -> Json {
    all.iter().map(|(name, item)| (name.to_string(), render(item))).collect::<Map<_, _>>().into()
}

fn of_schema(schema: &Schema) -> Json {
    let empty = *schema == Schema::default();
    if empty { json!({ "version": 0 }) } else { json!({ "version": schema.version, "block": block(&schema.block) }) }
}

fn block(block: &Block) -> Json {
    let mut document = Map::new();
    if !block.attributes.is_empty() {
        document.insert("attributes".to_owned(), each(&block.attributes, attribute));
    }
    if !block.blocks.is_empty() {
        document.insert("block_types".to_owned(), each(&block.blocks, nested));
    }
    describe(&mut document, &block.description, block.markdown);
    deprecate(&mut document, block.deprecated, &block.deprecation_message);
    document.into()
}

fn nested(nested: &NestedBlock) -> Json {
    let mut document = Map::new();
    document.insert("nesting_mode".to_owned(), mode(nested.nesting).into());
    document.insert("block".to_owned(), block(&nested.block));
    for (name, count) in [("min_items", nested.min_items), ("max_items", nested.max_items)] {
        if count > 0 {
            document.insert(name.to_owned(), count.into());
        }
    }
    document.into()
}

fn mode(nesting: Nesting) -> &'static str {
    match nesting {
        Nesting::Single => "single",
        Nesting::Group => "group",
        Nesting::List => "list",
        Nesting::Set => "set",
        Nesting::Map => "map",
    }
}

fn attribute(attribute: &Attribute) -> Json {
    let mut document = Map::new();
    match &attribute.nested {
        None => drop(document.insert("type".to_owned(), of_type(&attribute.ty))),
        Some(nested) => {
            let attributes = each(&nested.attributes, self::attribute);
            let nested = json!({ "attributes": attributes, "nesting_mode": mode(nested.nesting) });
            document.insert("nested_type".to_owned(), nested);
        }
    }
    describe(&mut document, &attribute.description, attribute.markdown);
    deprecate(&mut document, attribute.deprecated, &attribute.deprecation_message);
    for (name, set) in [
        ("required", attribute.required),
        ("optional", attribute.optional),
        ("computed", attribute.computed),
        ("sensitive", attribute.sensitive),
        ("write_only", attribute.write_only),
    ] {
        if set {
            document.insert(name.to_owned(), true.into());
        }
    }
    document.into()
}

fn describe(document: &mut Map<String, Json>, text: &str, markdown: bool) {
    if !text.is_empty() {
        document.insert("description".to_owned(), text.into());
    }
    document.insert("description_kind".to_owned(), if markdown { "markdown" } else { "plain" }.into());
}

fn deprecate(document: &mut Map<String, Json>, deprecated: bool, message: &str) {
    if deprecated {
        document.insert("deprecated".to_owned(), true.into());
    }
    if !message.is_empty() {
        document.insert("deprecation_message".to_owned(), message.into());
    }
}

fn of_type(ty: &Type) -> Json {
    serde_json::from_str(&type_json::encode(ty)).unwrap_or(Json::Null)
}

fn function(function: &FunctionSignature) -> Json {
    let mut document = Map::new();
    for (name, text) in [
        ("description", &function.description),
        ("summary", &function.summary),
        ("deprecation_message", &function.deprecation_message),
    ] {
        if name == "description" || !text.is_empty() {
            document.insert(name.to_owned(), text.as_str().into());
        }
    }
    document.insert("return_type".to_owned(), of_type(&function.result));
    if !function.parameters.is_empty() {
        document.insert("parameters".to_owned(), function.parameters.iter().map(parameter).collect());
    }
    if let Some(variadic) = &function.variadic {
        document.insert("variadic_parameter".to_owned(), parameter(variadic));
    }
    document.into()
}

fn parameter(parameter: &FunctionParameter) -> Json {
    let mut document = Map::new();
    document.insert("name".to_owned(), parameter.name.as_str().into());
    document.insert("description".to_owned(), parameter.description.as_str().into());
    if parameter.allow_null {
        document.insert("is_nullable".to_owned(), true.into());
    }
    document.insert("type".to_owned(), of_type(&parameter.ty));
    document.into()
}

fn identity(identity: &IdentitySchema) -> Json {
    let attributes = identity.attributes.iter().map(|(name, attribute)| {
        let mut document = Map::new();
        document.insert("type".to_owned(), of_type(&attribute.ty));
        if !attribute.description.is_empty() {
            document.insert("description".to_owned(), attribute.description.as_str().into());
        }
        for (name, set) in [
            ("required_for_import", attribute.required_for_import),
            ("optional_for_import", attribute.optional_for_import),
        ] {
            if set {
                document.insert(name.to_owned(), true.into());
            }
        }
        (name.to_string(), Json::Object(document))
    });
    json!({ "version": identity.version, "attributes": attributes.collect::<Map<_, _>>() })
}
