//! A desired instance, with the settings of its block.

use std::fmt;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{AbsResource, InstanceKey, ProviderInstance, ResourceInstance};
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::schema::Schema;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;

use super::ImportWish;
use crate::config::ResourceBlock;

/// The settings of a resource block, without its arguments.
#[derive(Clone, Debug)]
pub struct BlockRules {
    /// The header of the block.
    pub range: SourceRange,
    /// The check block that contains the resource block.
    pub check: Option<SmolStr>,
    /// The `ignore_changes` argument.
    pub ignored: Ignored,
    /// Whether the block itself sets `create_before_destroy`.
    pub create_first: bool,
    /// The `destroy` argument of the `lifecycle` block.
    pub destroy: Option<bool>,
    /// Whether the block has preconditions or postconditions.
    pub has_conditions: bool,
    /// Whether provisioners run after a create.
    pub is_provisioned: bool,
    /// The source ranges of the arguments.
    pub places: Places,
}

/// The value of `ignore_changes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// No attributes.
    Nothing,
    /// The attributes at these paths.
    Paths(Vec<Path>),
    /// All attributes.
    All,
}

/// The source ranges of a block's arguments.
#[derive(Clone)]
pub struct Places {
    header: SourceRange,
    /// The block. `None` if only its header is known.
    block: Option<Arc<ResourceBlock>>,
}

impl Places {
    /// The source ranges of a block of which only the header is known.
    pub fn at(header: SourceRange) -> Places {
        Places { header, block: None }
    }

    /// The header of the block.
    pub fn block(&self) -> &SourceRange {
        &self.header
    }

    /// The source range of a path in the decoded arguments: the value of an attribute, or the header of the block that
    /// contains the path.
    pub fn locate(&self, path: &Path) -> SourceRange {
        match &self.block {
            Some(block) => block.body.locate(path),
            None => self.header.clone(),
        }
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "places at {}:{}", self.header.file, self.header.start.line)
    }
}

impl BlockRules {
    /// The settings of a block.
    pub(crate) fn of(block: &Arc<ResourceBlock>) -> BlockRules {
        let lifecycle = &block.lifecycle;
        let ignored = match (lifecycle.ignore_all, lifecycle.ignore_changes.is_empty()) {
            (true, _) => Ignored::All,
            (false, true) => Ignored::Nothing,
            (false, false) => Ignored::Paths(lifecycle.ignore_changes.iter().map(|(path, _)| path.clone()).collect()),
        };
        BlockRules {
            range: block.range.clone(),
            check: block.check.clone(),
            ignored,
            create_first: lifecycle.create_before_destroy == Some(true),
            destroy: lifecycle.destroy,
            has_conditions: block.has_conditions(),
            is_provisioned: block.provisioners.iter().any(|provisioner| !provisioner.on_destroy),
            places: Places { header: block.body.missing(), block: Some(block.clone()) },
        }
    }
}

/// A desired instance.
#[derive(Clone, Debug)]
pub struct DesiredInstance {
    /// Its address.
    pub address: ResourceInstance,
    /// Its provider.
    pub provider: ProviderInstance,
    /// Its decoded arguments. Every attribute and block of the schema is present. An attribute that the configuration
    /// does not set is null, and a block that it does not set is empty.
    pub config: Value,
    /// The schema of `config`.
    pub schema: Arc<Schema>,
    /// The settings of its block, without the arguments.
    pub block: Arc<BlockRules>,
    /// The origins of the repetition, of `depends_on`, of the values that the preconditions read, and of the key of the
    /// provider. The instance waits for these origins and for the origins of its arguments.
    pub waits: Option<Origin>,
    /// The origins of its preconditions, including their checks at apply.
    pub checked: Option<Origin>,
    /// Its dependencies for state: addresses of configured resources, sorted.
    pub dependencies: Arc<[SmolStr]>,
    /// Whether the instance must be replaced create-first because a dependent is replaced create-first.
    pub create_first: bool,
    /// For a data source or an ephemeral object: the objects of the same module that the block refers to directly, and
    /// all targets of `depends_on`.
    pub direct: Vec<NamedObjects>,
    /// For a data source or an ephemeral object: the addresses of the configured resources that it waits for because of
    /// `depends_on`, besides the resources that its own `depends_on` names:
    ///
    /// - the resources that the modules and values in its own `depends_on` need,
    /// - the resources in the `depends_on` of the call of its module, or of a call around it, and everything that they
    ///   need.
    pub awaited: Arc<[SmolStr]>,
    /// The object that is imported as this instance.
    pub import: Option<ImportWish>,
    /// The targets of `replace_triggered_by`.
    pub triggers: Vec<Trigger>,
}

/// The objects that a reference names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamedObjects {
    /// The resource.
    pub resource: AbsResource,
    /// The key of the instance, if the reference has a literal key. `None` for all instances.
    pub key: Option<InstanceKey>,
}

/// A reference of `replace_triggered_by`.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// The resource.
    pub resource: AbsResource,
    /// The key of the instance, if the reference names a single instance.
    pub key: Option<InstanceKey>,
    /// The path in the value; empty for the whole.
    pub path: Path,
}
