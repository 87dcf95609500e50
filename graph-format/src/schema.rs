//! Schemas: the types of a provider, as plain data.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::address::ResourceMode;
use crate::types::Type;

/// Everything a provider plugin describes of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProviderSchema {
    /// Its own configuration.
    pub provider: Schema,
    /// `provider_meta`, empty where it has none.
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
    /// `PlanResourceChange` is to be called for deletes too.
    pub plan_destroy: bool,
    /// A new process need not be asked for its schema again.
    pub schema_optional: bool,
    /// The provider has `MoveResourceState`.
    pub move_resource_state: bool,
}

impl ProviderSchema {
    /// All types of resources of a mode, by name.
    pub fn types(&self, mode: ResourceMode) -> &BTreeMap<SmolStr, Arc<Schema>> {
        match mode {
            ResourceMode::Managed => &self.resources,
            ResourceMode::Data => &self.data_sources,
            ResourceMode::Ephemeral => &self.ephemeral,
        }
    }
}

/// A version and a block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// Version of the stored form.
    pub version: u64,
    /// The arguments.
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
    /// The description is markdown.
    pub markdown: bool,
    /// Should not be used any more.
    pub deprecated: bool,
    /// What to use in its place.
    pub deprecation_message: String,
}

/// One attribute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attribute {
    /// Its type, also for a nested attribute (derived from `nested`).
    pub ty: Type,
    /// The attributes of a nested attribute (protocol 6).
    pub nested: Option<Box<NestedAttributes>>,
    /// Must be given.
    pub required: bool,
    /// May be given.
    pub optional: bool,
    /// The provider may choose a value.
    pub computed: bool,
    /// Never to be shown.
    pub sensitive: bool,
    /// Sent to the provider and never stored.
    pub write_only: bool,
    /// Should not be used any more.
    pub deprecated: bool,
    /// What to use in its place.
    pub deprecation_message: String,
    /// A description.
    pub description: String,
    /// The description is markdown.
    pub markdown: bool,
}

/// How often a nested attribute or block stands, and under what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Nesting {
    /// One or none.
    Single,
    /// Always one object, even when nothing is written (blocks only).
    Group,
    /// In order.
    List,
    /// Without order.
    Set,
    /// By a key.
    Map,
}

/// The object type of a nested attribute, with the properties of its attributes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NestedAttributes {
    /// Attributes of the object.
    pub attributes: BTreeMap<SmolStr, Attribute>,
    /// Never [`Nesting::Group`].
    pub nesting: Nesting,
}

/// A nested block type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NestedBlock {
    /// Its arguments.
    pub block: Block,
    /// How often it stands.
    pub nesting: Nesting,
    /// Least number of blocks, 0 for no bound.
    pub min_items: u64,
    /// Greatest number of blocks, 0 for no bound.
    pub max_items: u64,
}

/// An identity: what names an object for import and look-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IdentitySchema {
    /// Version of the stored form.
    pub version: u64,
    /// Its attributes.
    pub attributes: BTreeMap<SmolStr, IdentityAttribute>,
}

/// One attribute of an identity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdentityAttribute {
    /// Its type.
    pub ty: Type,
    /// Must be given to import.
    pub required_for_import: bool,
    /// May be given to import.
    pub optional_for_import: bool,
    /// A description.
    pub description: String,
}

/// The signature of a provider function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionSignature {
    /// Parameters in order.
    pub parameters: Vec<FunctionParameter>,
    /// The parameter that the remaining arguments belong to.
    pub variadic: Option<FunctionParameter>,
    /// Type of the result.
    pub result: Type,
    /// A summary of one line.
    pub summary: String,
    /// A description.
    pub description: String,
    /// What to use in its place, empty when it is not deprecated.
    pub deprecation_message: String,
}

/// A parameter of a provider function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionParameter {
    /// Its name, for messages.
    pub name: String,
    /// What arguments are converted to.
    pub ty: Type,
    /// Null may be passed.
    pub allow_null: bool,
    /// Unknown values may be passed.
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
    /// The type of the object that a body of this schema decodes to.
    ///
    /// List and map blocks whose content has a dynamic attribute have no single element type: they are tuples and
    /// objects then, and the constraint for them is dynamic (as OpenTofu's `ImpliedType`).
    pub fn implied_type(&self) -> Type {
        let attributes = self.attributes.iter().map(|(n, a)| (n.clone(), a.ty.clone()));
        let blocks = self.blocks.iter().map(|(n, b)| (n.clone(), b.implied_type()));
        Type::object(attributes.chain(blocks))
    }
}

impl NestedBlock {
    /// The type of the attribute that holds all blocks of this type.
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
