//! The provider of the tests: its schemas, and the results of planning.
//!
//! | type | attributes |
//! |---|---|
//! | `test_thing` | `id` and `size` computed, `kind`, `name`, `tags`, `old` deprecated, `secret` sensitive, `password` write-only, blocks `part` |
//! | `data.test_look` | `name` required, `answer` computed |
//! | `ephemeral.test_token` | `name`, `token` computed |

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_graph_format::address::{ProviderSource, ResourceMode};
use weft_graph_format::schema::{
    Attribute, Block, FunctionParameter, FunctionSignature, IdentityAttribute, IdentitySchema, NestedBlock, Nesting,
    ProviderSchema, Schema,
};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Entries, Value};

fn optional(ty: Type) -> Attribute {
    Attribute { optional: true, ..Attribute::new(ty) }
}

fn computed(ty: Type) -> Attribute {
    Attribute { computed: true, ..Attribute::new(ty) }
}

fn block<const N: usize>(attributes: [(&str, Attribute); N]) -> Block {
    let attributes = attributes.into_iter().map(|(name, attribute)| (name.into(), attribute)).collect();
    Block { attributes, ..Block::default() }
}

fn schema(block: Block) -> Arc<Schema> {
    Arc::new(Schema { version: 0, block })
}

fn thing() -> Block {
    let text = || optional(Type::String);
    let mut thing = block([
        ("id", computed(Type::String)),
        ("kind", text()),
        ("name", text()),
        ("old", Attribute { deprecated: true, deprecation_message: "use name".into(), ..text() }),
        ("password", Attribute { write_only: true, ..text() }),
        ("secret", Attribute { sensitive: true, ..text() }),
        ("size", Attribute { computed: true, ..optional(Type::Number) }),
        ("tags", optional(Type::map(Type::String))),
    ]);
    let part = block([("n", Attribute { required: true, ..Attribute::new(Type::Number) })]);
    let part = NestedBlock { block: part, nesting: Nesting::List, min_items: 0, max_items: 2 };
    thing.blocks.insert("part".into(), part);
    thing
}

/// The schema of the provider `test`. Other providers are not installed.
pub fn provider_schema(source: &ProviderSource) -> Option<Arc<ProviderSchema>> {
    if source.type_name != "test" {
        return None;
    }
    let required = Attribute { required: true, ..Attribute::new(Type::String) };
    let look = block([("answer", computed(Type::String)), ("name", required)]);
    let token = block([("name", optional(Type::String)), ("token", computed(Type::String))]);
    let parameter = FunctionParameter {
        name: String::from("text"),
        ty: Type::String,
        allow_null: false,
        allow_unknown: false,
        description: String::new(),
    };
    let shout = FunctionSignature {
        parameters: vec![parameter],
        variadic: None,
        result: Type::String,
        summary: String::new(),
        description: String::new(),
        deprecation_message: String::new(),
    };
    let name = IdentityAttribute {
        ty: Type::String,
        required_for_import: true,
        optional_for_import: false,
        description: String::new(),
    };
    let identity = IdentitySchema { version: 0, attributes: [("name".into(), name)].into() };
    Some(Arc::new(ProviderSchema {
        provider: Schema { version: 0, block: block([("region", optional(Type::String))]) },
        resources: [("test_thing".into(), schema(thing()))].into(),
        data_sources: [("test_look".into(), schema(look))].into(),
        ephemeral: [("test_token".into(), schema(token))].into(),
        functions: [("shout".into(), shout)].into(),
        identities: [("test_thing".into(), identity)].into(),
        ..ProviderSchema::default()
    }))
}

/// The planned value of a managed instance. Computed attributes without a value are unknown.
pub fn planned(config: &Value, schema: &Schema) -> Value {
    with(config, |name, value| {
        let computed = schema.block.attributes.get(name).is_some_and(|attribute| attribute.computed);
        (computed && value.is_null()).then(|| Value::unknown(value.ty()))
    })
}

/// The value of a data source or an ephemeral resource. The computed attribute is derived from the name.
pub fn made(mode: ResourceMode, config: &Value) -> Value {
    let (attribute, word) = match mode {
        ResourceMode::Ephemeral => ("token", "token of"),
        _ => ("answer", "answer to"),
    };
    let name = config.as_fields().and_then(|fields| fields.get("name")).cloned();
    let name = name.unwrap_or_else(|| Value::null(Type::String));
    with(config, |own, _| {
        (own == attribute).then(|| match name.is_known() {
            true => Value::string(format!("{word} {}", name.as_str().unwrap_or_default())).mark(name.marks()),
            false => Value::unknown(Type::String),
        })
    })
}

/// A copy of the object with some attributes replaced.
fn with(object: &Value, change: impl Fn(&str, &Value) -> Option<Value>) -> Value {
    let fields: BTreeMap<_, _> = object.as_fields().map(Entries::to_map).unwrap_or_default();
    Value::object(fields.into_iter().map(|(name, value)| {
        let new = change(&name, &value).unwrap_or(value);
        (name, new)
    }))
}
