//! Schemas: the resource types, functions and configuration of a provider, as plain data.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::address::ResourceMode;
use crate::types::Type;

/// Everything that a provider plugin says about itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProviderSchema {
    /// The schema of the provider's own configuration.
    pub provider: Schema,
    /// The schema of `provider_meta`; empty if the provider has none.
    pub provider_meta: Schema,
    /// Managed resource types.
    pub resources: BTreeMap<SmolStr, Arc<Schema>>,
    /// Data sources.
    pub data_sources: BTreeMap<SmolStr, Arc<Schema>>,
    /// Ephemeral resource types.
    pub ephemeral: BTreeMap<SmolStr, Arc<Schema>>,
    /// Functions that need no configured provider.
    pub functions: BTreeMap<SmolStr, FunctionSignature>,
    /// Identity schemas by managed resource type.
    pub identities: BTreeMap<SmolStr, IdentitySchema>,
    /// Whether the provider requires `PlanResourceChange` for deletes too.
    pub plan_destroy: bool,
    /// Whether a new process can be used without requesting its schema again.
    pub schema_optional: bool,
    /// Whether the provider supports `MoveResourceState`.
    pub move_resource_state: bool,
}

impl ProviderSchema {
    /// All resource types of this mode (managed, data or ephemeral), by name.
    pub fn types(&self, mode: ResourceMode) -> &BTreeMap<SmolStr, Arc<Schema>> {
        match mode {
            ResourceMode::Managed => &self.resources,
            ResourceMode::Data => &self.data_sources,
            ResourceMode::Ephemeral => &self.ephemeral,
        }
    }
}

/// The schema of a block with a version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// The version, which is stored with objects of the type.
    pub version: u64,
    /// The attributes and nested blocks.
    pub block: Block,
}

/// Attributes and nested blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Attributes by name.
    pub attributes: BTreeMap<SmolStr, Attribute>,
    /// Nested blocks by type name.
    pub blocks: BTreeMap<SmolStr, NestedBlock>,
    /// A description, plain text or markdown.
    pub description: String,
    /// Whether the description is markdown.
    pub markdown: bool,
    /// Whether the block is deprecated.
    pub deprecated: bool,
    /// What to use instead of the deprecated item.
    pub deprecation_message: String,
}

/// One attribute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attribute {
    /// The type. For a nested attribute, the type is derived from `nested`.
    pub ty: Type,
    /// The attributes of a nested attribute (protocol 6 of providers).
    pub nested: Option<Box<NestedAttributes>>,
    /// Whether the attribute must be set.
    pub required: bool,
    /// Whether the attribute may be set.
    pub optional: bool,
    /// Whether the provider may choose the value.
    pub computed: bool,
    /// Whether the value must never be shown.
    pub sensitive: bool,
    /// Whether the value is sent to the provider and never stored.
    pub write_only: bool,
    /// Whether the attribute is deprecated.
    pub deprecated: bool,
    /// What to use instead of the deprecated item.
    pub deprecation_message: String,
    /// A description.
    pub description: String,
    /// Whether the description is markdown.
    pub markdown: bool,
}

/// How nested attributes or blocks are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Nesting {
    /// At most one object.
    Single,
    /// Always one object, even if the configuration contains none (blocks only).
    Group,
    /// A list of objects.
    List,
    /// A set of objects.
    Set,
    /// A map of objects.
    Map,
}

/// The object type of a nested attribute, with the properties of its attributes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NestedAttributes {
    /// Attributes of the object.
    pub attributes: BTreeMap<SmolStr, Attribute>,
    /// How the objects are collected. Never [`Nesting::Group`].
    pub nesting: Nesting,
}

/// A nested block type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NestedBlock {
    /// The content of the blocks.
    pub block: Block,
    /// How the blocks are collected.
    pub nesting: Nesting,
    /// The minimum number of blocks; 0 for no limit.
    pub min_items: u64,
    /// The maximum number of blocks; 0 for no limit.
    pub max_items: u64,
}

/// The schema of an identity: attributes that identify an object for imports and look-ups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IdentitySchema {
    /// The version, which is stored with identities.
    pub version: u64,
    /// The attributes of the identity.
    pub attributes: BTreeMap<SmolStr, IdentityAttribute>,
}

/// One attribute of an identity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdentityAttribute {
    /// The type of the attribute.
    pub ty: Type,
    /// Whether an import must set the attribute.
    pub required_for_import: bool,
    /// Whether an import may set the attribute.
    pub optional_for_import: bool,
    /// A description.
    pub description: String,
}

/// The signature of a provider function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionSignature {
    /// Parameters in order.
    pub parameters: Vec<FunctionParameter>,
    /// The parameter for all further arguments, if the function accepts any.
    pub variadic: Option<FunctionParameter>,
    /// Type of the result.
    pub result: Type,
    /// A summary of one line.
    pub summary: String,
    /// A description.
    pub description: String,
    /// What to use instead; empty if the function is not deprecated.
    pub deprecation_message: String,
}

/// A parameter of a provider function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionParameter {
    /// The name of the parameter, for messages.
    pub name: String,
    /// The type that arguments are converted to.
    pub ty: Type,
    /// Whether null may be passed.
    pub allow_null: bool,
    /// Whether unknown values may be passed.
    pub allow_unknown: bool,
    /// A description.
    pub description: String,
}

impl Attribute {
    /// An attribute of this type that is neither required nor optional nor computed.
    pub fn new(ty: Type) -> Attribute {
        Attribute {
            ty,
            nested: None,
            required: false,
            optional: false,
            computed: false,
            sensitive: false,
            write_only: false,
            deprecated: false,
            deprecation_message: String::new(),
            description: String::new(),
            markdown: false,
        }
    }
}

impl NestedAttributes {
    /// The type of a value of the attribute.
    pub fn implied_type(&self) -> Type {
        let object = Type::object(self.attributes.iter().map(|(n, a)| (n.clone(), a.ty.clone())));
        match self.nesting {
            Nesting::Single | Nesting::Group => object,
            Nesting::List => Type::list(object),
            Nesting::Set => Type::set(object),
            Nesting::Map => Type::map(object),
        }
    }
}

impl Block {
    /// The type of the object that a body with this schema is decoded to.
    ///
    /// List and map blocks whose content has a dynamic attribute have no common element type. They are decoded to
    /// tuples and objects, and their type is dynamic here, as in OpenTofu's `ImpliedType`.
    pub fn implied_type(&self) -> Type {
        let attributes = self.attributes.iter().map(|(n, a)| (n.clone(), a.ty.clone()));
        let blocks = self.blocks.iter().map(|(n, b)| (n.clone(), b.implied_type()));
        Type::object(attributes.chain(blocks))
    }

    /// Whether a body can have an argument or a nested block of this name.
    pub fn has_name(&self, name: &str) -> bool {
        self.attributes.contains_key(name) || self.blocks.contains_key(name)
    }
}

impl NestedBlock {
    /// The type of the attribute that contains all blocks of this type.
    pub fn implied_type(&self) -> Type {
        let content = self.block.implied_type();
        match self.nesting {
            Nesting::Single | Nesting::Group => content,
            Nesting::List if content.has_dynamic() => Type::Dynamic,
            Nesting::Map if content.has_dynamic() => Type::Dynamic,
            Nesting::List => Type::list(content),
            Nesting::Set => Type::set(content),
            Nesting::Map => Type::map(content),
        }
    }
}
