//! What is planned for single objects: plain data, from which operations are drafted later.

use smol_str::SmolStr;
use weft_graph_format::address::{AbsResource, DeposedKey, ProviderInstance, ResourceInstance};
use weft_graph_format::changes::ResourceChange;
use weft_graph_format::formula::Formula;
use weft_graph_format::graph::{CheckKind, OperationId, PlannedObject, PriorObject, ProvisionWhen, StateRecord};
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;

use super::prior::Prior;

/// An object, and what happens to it.
#[derive(Debug)]
pub(crate) struct PlannedInstance {
    /// As the reviewer reads it: action, reason, values.
    pub(crate) change: ResourceChange,
    /// What is to be done; `None` when nothing is.
    pub(crate) step: Option<Step>,
}

/// What is to be done about an object.
#[derive(Debug)]
pub(crate) enum Step {
    /// It is created, updated or replaced.
    Change(Box<Change>),
    /// It is deleted.
    Delete(Box<Leaving>),
    /// It is taken out of state and left alone.
    Forget(Box<Leaving>),
    /// It is read at apply.
    Read(Box<Read>),
}

/// A step, and whose it is.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) address: ResourceInstance,
    pub(crate) provider: ProviderInstance,
    /// The operation whose result others read.
    pub(crate) result: OperationId,
    pub(crate) step: Step,
}

/// A create or an update, and what becomes of the object before.
#[derive(Debug)]
pub(crate) struct Change {
    /// The configuration, as it is to be computed at apply.
    pub(crate) config: Formula,
    /// What the first operation waits for beside the provider.
    pub(crate) waits: Option<Origin>,
    pub(crate) planned: PlannedObject,
    /// What the object depended on before.
    pub(crate) depended: Vec<SmolStr>,
    pub(crate) old: OldObject,
    /// It is replaced by creating first only since something that depends on it asks for that.
    pub(crate) is_forced: bool,
}

/// What becomes of the object before.
#[derive(Debug)]
pub(crate) enum OldObject {
    /// There is none.
    Nothing,
    /// It is changed into what is planned.
    Updated(Box<Prior>),
    /// It is deleted first, after these provisioners.
    DeletedFirst(Box<Prior>, Vec<PlannedProvision>),
    /// It is set aside under the key, and deleted when the new object is there.
    DeletedLast(Box<Prior>, DeposedKey),
    /// It is taken out of state first and left alone.
    Forgotten(Box<Prior>),
}

/// An object that goes.
#[derive(Debug)]
pub(crate) struct Leaving {
    /// Which object, when it is not the current one.
    pub(crate) deposed: Option<DeposedKey>,
    pub(crate) prior: Prior,
    /// The provider's own data for the delete.
    pub(crate) private: Vec<u8>,
    /// What runs before.
    pub(crate) farewell: Vec<PlannedProvision>,
}

/// A data source that is read at apply.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) config: Formula,
    pub(crate) waits: Option<Origin>,
    /// What it is expected to give.
    pub(crate) planned: Value,
    pub(crate) record: StateRecord,
    pub(crate) sensitive: Vec<Path>,
    /// A check block is what reads it.
    pub(crate) for_check: bool,
    /// Managed resources that the block names.
    pub(crate) names: Vec<AbsResource>,
    /// What state takes over before.
    pub(crate) first: Option<Record>,
}

/// A change of state alone: it is to have this object, or none, under the address.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) address: ResourceInstance,
    pub(crate) object: Option<PriorObject>,
    pub(crate) provider: ProviderInstance,
}

/// An ephemeral object, opened at apply by whoever needs it.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) result: OperationId,
    pub(crate) address: ResourceInstance,
    pub(crate) provider: ProviderInstance,
    pub(crate) config: Formula,
    pub(crate) waits: Option<Origin>,
}

/// A part of a value that is computed once, for all its readers.
#[derive(Debug)]
pub(crate) struct Computed {
    pub(crate) result: OperationId,
    pub(crate) label: SmolStr,
    pub(crate) formula: Formula,
    pub(crate) waits: Option<Origin>,
    /// The configured provider whose functions it calls.
    pub(crate) provider: Option<ProviderInstance>,
}

/// A condition that apply looks at.
#[derive(Debug)]
pub(crate) struct PlannedCheck {
    pub(crate) result: OperationId,
    pub(crate) address: SmolStr,
    pub(crate) kind: CheckKind,
    pub(crate) condition: Formula,
    pub(crate) message: Formula,
    pub(crate) range: SourceRange,
    pub(crate) waits: Option<Origin>,
}

/// A provisioner that runs.
#[derive(Debug)]
pub(crate) struct PlannedProvision {
    /// The number that others wait for; `None` where nothing does.
    pub(crate) result: Option<OperationId>,
    pub(crate) kind: SmolStr,
    pub(crate) when: ProvisionWhen,
    /// What comes after it goes on when it fails.
    pub(crate) continues: bool,
    pub(crate) config: Formula,
    pub(crate) range: SourceRange,
    pub(crate) waits: Option<Origin>,
}
