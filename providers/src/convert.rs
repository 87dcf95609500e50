//! Converts generated protocol types to ours. All data from a plugin is checked here, and nothing here panics.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Severity;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::schema::{
    Attribute, Block, FunctionParameter, FunctionSignature, IdentityAttribute, IdentitySchema, NestedAttributes,
    NestedBlock, Nesting, ProviderSchema, Schema,
};
use weft_graph_format::types::Type;
use weft_proto::tfplugin6 as messages;

use crate::diagnostic::ProviderDiagnostic;
use weft_graph_format::codec::{DecodeError, type_json};

/// A part of a reply that its protocol does not allow.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConvertError {
    #[error("the type of {place} is not a valid type: {error}")]
    Type { place: String, error: DecodeError },
    #[error("{place} has an unknown nesting mode")]
    Nesting { place: String },
}

pub(crate) fn diagnostics(from: Vec<messages::Diagnostic>) -> Vec<ProviderDiagnostic> {
    from.into_iter()
        .map(|d| ProviderDiagnostic {
            severity: match d.severity() {
                messages::diagnostic::Severity::Warning => Severity::Warning,
                _ => Severity::Error,
            },
            summary: d.summary,
            detail: d.detail,
            path: d.attribute.map(path).unwrap_or_default(),
            bare: false,
        })
        .collect()
}

/// Converts the valid beginning of a path: the result ends before the first empty step.
pub(crate) fn path(from: messages::AttributePath) -> Path {
    use messages::attribute_path::step::Selector;
    let step = |step: messages::attribute_path::Step| match step.selector? {
        Selector::AttributeName(name) => Some(ValueStep::Attribute(name.into())),
        Selector::ElementKeyString(key) => Some(ValueStep::Key(key.into())),
        Selector::ElementKeyInt(index) => u64::try_from(index).ok().map(ValueStep::Index),
    };
    Path(from.steps.into_iter().map_while(step).collect())
}

fn ty(json: &[u8], place: impl FnOnce() -> String) -> Result<Type, ConvertError> {
    type_json::decode(json).map_err(|error| ConvertError::Type { place: place(), error })
}

fn count(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

fn markdown(kind: i32) -> bool {
    kind == messages::StringKind::Markdown as i32
}

pub(crate) fn functions(
    from: impl IntoIterator<Item = (String, messages::Function)>,
) -> Result<BTreeMap<SmolStr, FunctionSignature>, ConvertError> {
    from.into_iter()
        .map(|(name, f)| {
            let parameter = |p: messages::function::Parameter| {
                Ok(FunctionParameter {
                    ty: ty(&p.r#type, || format!("parameter {} of function {name}", p.name))?,
                    name: p.name,
                    allow_null: p.allow_null_value,
                    allow_unknown: p.allow_unknown_values,
                    description: p.description,
                })
            };
            let result = f.r#return.unwrap_or_default().r#type;
            let signature = FunctionSignature {
                parameters: f.parameters.into_iter().map(parameter).collect::<Result<_, ConvertError>>()?,
                variadic: f.variadic_parameter.map(parameter).transpose()?,
                result: ty(&result, || format!("the result of function {name}"))?,
                summary: f.summary,
                description: f.description,
                deprecation_message: f.deprecation_message,
            };
            Ok((SmolStr::from(name), signature))
        })
        .collect()
}

pub(crate) fn identities(
    from: impl IntoIterator<Item = (String, messages::ResourceIdentitySchema)>,
) -> Result<BTreeMap<SmolStr, IdentitySchema>, ConvertError> {
    from.into_iter()
        .map(|(name, schema)| {
            let attribute = |a: messages::resource_identity_schema::IdentityAttribute| {
                let converted = IdentityAttribute {
                    ty: ty(&a.r#type, || format!("identity attribute {} of {name}", a.name))?,
                    required_for_import: a.required_for_import,
                    optional_for_import: a.optional_for_import,
                    description: a.description,
                };
                Ok((SmolStr::from(a.name), converted))
            };
            let attributes =
                schema.identity_attributes.into_iter().map(attribute).collect::<Result<_, ConvertError>>()?;
            Ok((SmolStr::from(name), IdentitySchema { version: count(schema.version), attributes }))
        })
        .collect()
}

/// Converts schemas. Both protocols have schemas of the same form, in different Rust types. The only difference is that
/// protocol 6 has nested attributes.
macro_rules! schema_conversion {
    ($proto:ident, $nested:path) => {
        pub(crate) mod $proto {
            use weft_proto::$proto as proto;

            use super::*;

            pub(crate) fn provider_schema(
                from: proto::get_provider_schema::Response,
            ) -> Result<ProviderSchema, ConvertError> {
                let capabilities = from.server_capabilities.unwrap_or_default();
                Ok(ProviderSchema {
                    provider: schema("the provider configuration", from.provider.unwrap_or_default())?,
                    provider_meta: schema("provider_meta", from.provider_meta.unwrap_or_default())?,
                    resources: schemas(from.resource_schemas)?,
                    data_sources: schemas(from.data_source_schemas)?,
                    ephemeral: schemas(from.ephemeral_resource_schemas)?,
                    functions: functions(from.functions)?,
                    identities: BTreeMap::new(),
                    plan_destroy: capabilities.plan_destroy,
                    schema_optional: capabilities.get_provider_schema_optional,
                    move_resource_state: capabilities.move_resource_state,
                })
            }

            fn schemas(
                from: impl IntoIterator<Item = (String, proto::Schema)>,
            ) -> Result<BTreeMap<SmolStr, Arc<Schema>>, ConvertError> {
                from.into_iter().map(|(name, s)| Ok((SmolStr::from(&name), Arc::new(schema(&name, s)?)))).collect()
            }

            fn schema(place: &str, from: proto::Schema) -> Result<Schema, ConvertError> {
                Ok(Schema { version: count(from.version), block: block(place, from.block.unwrap_or_default())? })
            }

            fn block(place: &str, from: proto::schema::Block) -> Result<Block, ConvertError> {
                let nested = from.block_types.into_iter();
                Ok(Block {
                    attributes: attributes(place, from.attributes)?,
                    blocks: nested.map(|b| nested_block(place, b)).collect::<Result<_, _>>()?,
                    markdown: markdown(from.description_kind),
                    description: from.description,
                    deprecated: from.deprecated,
                    deprecation_message: from.deprecation_message,
                })
            }

            fn nested_block(
                place: &str,
                from: proto::schema::NestedBlock,
            ) -> Result<(SmolStr, NestedBlock), ConvertError> {
                use proto::schema::nested_block::NestingMode;
                let place = format!("{place}.{}", from.type_name);
                let nesting = match from.nesting() {
                    NestingMode::Single => Nesting::Single,
                    NestingMode::Group => Nesting::Group,
                    NestingMode::List => Nesting::List,
                    NestingMode::Set => Nesting::Set,
                    NestingMode::Map => Nesting::Map,
                    NestingMode::Invalid => return Err(ConvertError::Nesting { place }),
                };
                let converted = NestedBlock {
                    nesting,
                    min_items: count(from.min_items),
                    max_items: count(from.max_items),
                    block: block(&place, from.block.unwrap_or_default())?,
                };
                Ok((from.type_name.into(), converted))
            }

            pub(super) fn attributes(
                place: &str,
                from: Vec<proto::schema::Attribute>,
            ) -> Result<BTreeMap<SmolStr, Attribute>, ConvertError> {
                from.into_iter().map(|a| attribute(place, a)).collect()
            }

            fn attribute(
                place: &str,
                mut from: proto::schema::Attribute,
            ) -> Result<(SmolStr, Attribute), ConvertError> {
                let place = format!("{place}.{}", from.name);
                let nested: Option<NestedAttributes> = $nested(&place, &mut from)?;
                let converted = Attribute {
                    ty: match &nested {
                        Some(nested) => nested.implied_type(),
                        None => ty(&from.r#type, || place)?,
                    },
                    nested: nested.map(Box::new),
                    required: from.required,
                    optional: from.optional,
                    computed: from.computed,
                    sensitive: from.sensitive,
                    write_only: from.write_only,
                    deprecated: from.deprecated,
                    deprecation_message: from.deprecation_message,
                    markdown: markdown(from.description_kind),
                    description: from.description,
                };
                Ok((from.name.into(), converted))
            }
        }
    };
}

schema_conversion!(tfplugin5, super::no_nested_attributes);
schema_conversion!(tfplugin6, super::nested_attributes);

fn no_nested_attributes(
    _place: &str,
    _from: &mut weft_proto::tfplugin5::schema::Attribute,
) -> Result<Option<NestedAttributes>, ConvertError> {
    Ok(None)
}

fn nested_attributes(
    place: &str,
    from: &mut weft_proto::tfplugin6::schema::Attribute,
) -> Result<Option<NestedAttributes>, ConvertError> {
    use weft_proto::tfplugin6::schema::object::NestingMode;
    let Some(object) = from.nested_type.take() else { return Ok(None) };
    let nesting = match object.nesting() {
        NestingMode::Single => Nesting::Single,
        NestingMode::List => Nesting::List,
        NestingMode::Set => Nesting::Set,
        NestingMode::Map => Nesting::Map,
        NestingMode::Invalid => return Err(ConvertError::Nesting { place: place.to_owned() }),
    };
    Ok(Some(NestedAttributes { attributes: tfplugin6::attributes(place, object.attributes)?, nesting }))
}
