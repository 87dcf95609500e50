//! The plans for single objects, as plain data. Operations are drafted from them later.

use smol_str::SmolStr;
use weft_evaluator::glue::NamedObjects;
use weft_graph_format::address::{DeposedKey, ProviderInstance, ResourceInstance};
use weft_graph_format::changes::ResourceChange;
use weft_graph_format::formula::Formula;
use weft_graph_format::graph::{CheckKind, OperationId, PlannedObject, PriorObject, ProvisionWhen, StateRecord};
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;

use crate::prior::Prior;

/// The plan for an object.
#[derive(Debug)]
pub(crate) struct PlannedInstance {
    /// The change for the reviewer.
    pub(crate) change: ResourceChange,
    /// The step, or `None` if nothing happens.
    pub(crate) step: Option<PlannedStep>,
}

/// A step of the plan.
#[derive(Debug)]
pub(crate) enum PlannedStep {
    /// Creates, updates or replaces the object.
    Change(Box<Change>),
    /// Deletes the object.
    Delete(Box<Leaving>),
    /// Removes the object from the state without deleting it.
    Forget(Box<Leaving>),
    /// Reads a data source at apply.
    Read(Box<Read>),
}

/// A step, with its object.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) address: ResourceInstance,
    pub(crate) provider: ProviderInstance,
    /// The operation whose result readers use.
    pub(crate) result: OperationId,
    pub(crate) step: PlannedStep,
}

/// A create or an update, and the treatment of the old object.
#[derive(Debug)]
pub(crate) struct Change {
    /// The configuration, computed at apply.
    pub(crate) config: Formula,
    /// The operations that the first operation waits for, besides the provider.
    pub(crate) waits: Option<Origin>,
    /// The operations that check the preconditions. In a create-first replacement, setting the old object aside does
    /// not wait for these operations.
    pub(crate) checked: Option<Origin>,
    pub(crate) planned: PlannedObject,
    /// The stored dependencies of the object.
    pub(crate) depended: Vec<SmolStr>,
    pub(crate) old: OldObject,
    /// Whether the replacement is create-first only because a dependent requires that.
    pub(crate) is_forced: bool,
}

/// The old object of a change.
#[derive(Debug)]
pub(crate) enum OldObject {
    /// There is no old object.
    Nothing,
    /// The old object is updated.
    Updated(Box<Prior>),
    /// The old object is deleted first, after these provisioners have run.
    DeletedFirst(Box<Prior>, Vec<PlannedProvision>),
    /// The old object is deposed under this key, and deleted after the new object is created.
    DeletedLast(Box<Prior>, DeposedKey),
    /// The old object is forgotten first.
    Forgotten(Box<Prior>),
}

/// An object that is deleted or forgotten.
#[derive(Debug)]
pub(crate) struct Leaving {
    /// The deposed key, or `None` for the current object.
    pub(crate) deposed: Option<DeposedKey>,
    pub(crate) prior: Prior,
    /// The private data for the delete.
    pub(crate) private: Vec<u8>,
    /// Provisioners that run before the delete.
    pub(crate) farewell: Vec<PlannedProvision>,
}

/// A data source that is read at apply.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) config: Formula,
    pub(crate) waits: Option<Origin>,
    /// The expected value.
    pub(crate) planned: Value,
    pub(crate) record: StateRecord,
    pub(crate) sensitive: Vec<Path>,
    /// Whether the data source is in a check block.
    pub(crate) for_check: bool,
    /// The objects that the block refers to.
    pub(crate) names: Vec<NamedObjects>,
    /// A record that is stored before the read.
    pub(crate) first: Option<Record>,
}

/// A change of the state without a provider: stores this object, or removes the entry.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) address: ResourceInstance,
    pub(crate) object: Option<PriorObject>,
    pub(crate) provider: ProviderInstance,
}

/// A change of the memory of a provider instance. `None` if the state forgets the instance.
#[derive(Clone, Debug)]
pub(crate) struct MemoryChange {
    pub(crate) instance: ProviderInstance,
    pub(crate) value: Option<Value>,
}

/// An ephemeral object that apply opens where it is needed.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) result: OperationId,
    pub(crate) address: ResourceInstance,
    pub(crate) provider: ProviderInstance,
    pub(crate) config: Formula,
    pub(crate) waits: Option<Origin>,
}

/// A part of a value that is computed once for all readers.
#[derive(Debug)]
pub(crate) struct Computed {
    pub(crate) result: OperationId,
    pub(crate) label: SmolStr,
    pub(crate) formula: Formula,
    pub(crate) waits: Option<Origin>,
    /// The configured provider whose functions the formula calls.
    pub(crate) provider: Option<ProviderInstance>,
}

/// A condition that apply evaluates.
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

/// A planned provisioner.
#[derive(Debug)]
pub(crate) struct PlannedProvision {
    /// The number of the provisioner's operation, if other operations wait for it.
    pub(crate) result: Option<OperationId>,
    pub(crate) kind: SmolStr,
    pub(crate) when: ProvisionWhen,
    /// Whether the following operations run even if the provisioner fails.
    pub(crate) continues: bool,
    pub(crate) config: Formula,
    pub(crate) range: SourceRange,
    pub(crate) waits: Option<Origin>,
}
