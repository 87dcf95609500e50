//! The operations and their opcodes, which are stored in plan files.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::{OperationId, PlannedObject, PriorObject, StateRecord};
use crate::address::{DeposedKey, ProviderInstance, ResourceInstance};
use crate::path::Path;
use crate::source::SourceRange;
use crate::stored::is_provider_memory;
use crate::types::Type;
use crate::value::Value;

/// The numbers of operations in plan files. They are assigned by hand, and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum Opcode {
    /// [`Operation::Evaluate`]
    Evaluate = 1,
    /// [`Operation::OpenProvider`]
    OpenProvider = 2,
    /// [`Operation::CloseProvider`]
    CloseProvider = 3,
    /// [`Operation::PriorState`]
    PriorState = 4,
    /// [`Operation::Desired`]
    Desired = 5,
    /// [`Operation::FinalPlan`]
    FinalPlan = 6,
    /// [`Operation::Apply`]
    Apply = 7,
    /// [`Operation::Depose`]
    Depose = 8,
    /// [`Operation::Forget`]
    Forget = 9,
    /// [`Operation::ReadData`]
    ReadData = 10,
    /// [`Operation::Record`]
    Record = 11,
    /// [`Operation::Output`]
    Output = 12,
    /// [`Operation::Check`]
    Check = 13,
    /// [`Operation::Provision`]
    Provision = 14,
    /// [`Operation::OpenEphemeral`]
    OpenEphemeral = 15,
    /// [`Operation::CloseEphemeral`]
    CloseEphemeral = 16,
    /// [`Operation::EvaluateLive`]
    EvaluateLive = 17,
}

/// The kind of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CheckKind {
    /// Checked before the action of a resource or before an output is stored.
    Precondition,
    /// Checked after the action.
    Postcondition,
    /// A condition of a root variable.
    Validation,
    /// An assertion of a check block: a false assertion is only a warning.
    Assertion,
}

/// An operation. `F` is a reference to a formula: shared in memory during planning, a row of a table afterwards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Operation<F> {
    /// Computes a named value once for all its readers. Result: the value.
    Evaluate {
        /// The name of the value, as text: `local.port`.
        name: SmolStr,
        /// The formula that computes the value.
        formula: F,
    },
    /// Starts and configures a provider when the first operation needs it. Result: the provider.
    OpenProvider {
        /// The provider instance.
        instance: ProviderInstance,
        /// The configuration of the provider.
        config: F,
    },
    /// Closes a provider after the last operation that needs it.
    CloseProvider {
        /// The `open_provider` whose provider is closed.
        provider: OperationId,
    },
    /// Returns an object as it was when the plan was made. Result: the object.
    PriorState {
        /// The resource instance.
        address: ResourceInstance,
        /// The key of a deposed object; `None` for the current object.
        deposed: Option<DeposedKey>,
        /// The object.
        object: Box<PriorObject>,
    },
    /// Computes the configuration of an instance. Result: the value, typed by the schema.
    Desired {
        /// The resource instance.
        address: ResourceInstance,
        /// The formula that computes the value.
        config: F,
    },
    /// Makes the final plan and compares it with the reviewed plan. Result: the final plan.
    FinalPlan {
        /// The resource instance.
        address: ResourceInstance,
        /// The `open_provider` of the instance.
        provider: OperationId,
        /// The `prior_state`; `None` for a create.
        prior: Option<OperationId>,
        /// The `desired`; `None` for a delete.
        desired: Option<OperationId>,
        /// The reviewed change.
        planned: Box<PlannedObject>,
    },
    /// Carries out a final plan and commits the instance. Result: the new object.
    Apply {
        /// The resource instance.
        address: ResourceInstance,
        /// The key of a deposed object, which is deleted; `None` for the current object.
        deposed: Option<DeposedKey>,
        /// The `final_plan` that is carried out.
        plan: OperationId,
    },
    /// Sets the current object aside, so that a new object can be created first.
    Depose {
        /// The resource instance.
        address: ResourceInstance,
        /// The key of the deposed object.
        key: DeposedKey,
    },
    /// Removes an object from the state, but does not destroy it.
    Forget {
        /// The resource instance.
        address: ResourceInstance,
        /// The key of a deposed object; `None` for the current object.
        deposed: Option<DeposedKey>,
    },
    /// Reads a data source and commits the result. Result: the value.
    ReadData {
        /// The resource instance.
        address: ResourceInstance,
        /// The `open_provider` of the instance.
        provider: OperationId,
        /// The configuration.
        config: F,
        /// The planned object: the configuration, with unknown results.
        planned: Value,
        /// The record of the object.
        record: Box<StateRecord>,
        /// The sensitive paths, according to schema and configuration.
        sensitive: Vec<Path>,
        /// Whether the data source is read for a check block, where an error is only a warning.
        for_check: bool,
    },
    /// Stores an object that a refresh, a move or a changed configuration altered in the state only. Calls no provider.
    Record {
        /// The resource instance.
        address: ResourceInstance,
        /// The previous address of a moved object. Nothing remains at this address.
        previous: Option<Box<ResourceInstance>>,
        /// The new object; `None` to remove it.
        object: Option<Box<PriorObject>>,
        /// The provider instance that the state names after the operation.
        provider: ProviderInstance,
    },
    /// Computes and stores an output of the root module. Result: the value.
    Output {
        /// The name of the output.
        name: SmolStr,
        /// The value; `None` to remove the output.
        formula: Option<F>,
        /// The type of the value, as far as it was known during planning.
        ty: Type,
        /// Whether the output is declared sensitive.
        sensitive: bool,
        /// The planned value. Parts that only apply can know are unknown.
        planned: Value,
        /// The deprecation message, stored with the output.
        deprecated: Option<String>,
    },
    /// Checks a condition that could not be decided during planning. Result: nothing.
    Check {
        /// The object with the condition, as text: an instance, output, variable, or assertion of a check block.
        address: SmolStr,
        /// The kind of the condition.
        kind: CheckKind,
        /// The condition.
        condition: F,
        /// The error message if the condition does not hold.
        message: F,
        /// The position of the condition.
        range: Option<SourceRange>,
    },
    /// Runs a provisioner, after an object was created or before it is deleted. Result: nothing.
    Provision {
        /// The resource instance.
        address: ResourceInstance,
        /// The type of the provisioner: `local-exec`.
        provisioner: SmolStr,
        /// When the provisioner runs.
        when: ProvisionWhen,
        /// Whether the operations that wait for the provisioner run even if it fails.
        continues: bool,
        /// The arguments of the provisioner, typed by its schema.
        config: F,
        /// The position of the `provisioner` block.
        range: Option<SourceRange>,
    },
    /// Opens an ephemeral object when an operation of the shard first needs it, and renews it while it is open. Each
    /// shard that reads the object has its own `open_ephemeral`. Result: the object, which is never stored.
    OpenEphemeral {
        /// The resource instance.
        address: ResourceInstance,
        /// The `open_provider` of the instance, in the same shard.
        provider: OperationId,
        /// The configuration.
        config: F,
        /// The number of shards that have such an operation for this object.
        shards: u32,
    },
    /// Closes an ephemeral object after the last operation that needs it.
    CloseEphemeral {
        /// The `open_ephemeral` whose object is closed.
        ephemeral: OperationId,
    },
    /// Computes a named value from values that are never stored. Each shard that reads the value has such an operation.
    /// Result: the value, which is never stored either.
    EvaluateLive {
        /// The name of the value, as text: `local.password`.
        name: SmolStr,
        /// The formula that computes the value.
        formula: F,
    },
}

/// When a provisioner runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ProvisionWhen {
    /// After the create. Further provisioners follow.
    Created,
    /// After the create, as the last provisioner. When this provisioner has finished, the object is no longer tainted.
    Completed,
    /// Before the delete.
    Deleting,
}

impl<F> Operation<F> {
    /// The opcode.
    pub fn opcode(&self) -> Opcode {
        match self {
            Operation::Evaluate { .. } => Opcode::Evaluate,
            Operation::OpenProvider { .. } => Opcode::OpenProvider,
            Operation::CloseProvider { .. } => Opcode::CloseProvider,
            Operation::PriorState { .. } => Opcode::PriorState,
            Operation::Desired { .. } => Opcode::Desired,
            Operation::FinalPlan { .. } => Opcode::FinalPlan,
            Operation::Apply { .. } => Opcode::Apply,
            Operation::Depose { .. } => Opcode::Depose,
            Operation::Forget { .. } => Opcode::Forget,
            Operation::ReadData { .. } => Opcode::ReadData,
            Operation::Record { .. } => Opcode::Record,
            Operation::Output { .. } => Opcode::Output,
            Operation::Check { .. } => Opcode::Check,
            Operation::Provision { .. } => Opcode::Provision,
            Operation::OpenEphemeral { .. } => Opcode::OpenEphemeral,
            Operation::CloseEphemeral { .. } => Opcode::CloseEphemeral,
            Operation::EvaluateLive { .. } => Opcode::EvaluateLive,
        }
    }

    /// Whether the operation changes something outside of Weft, so that an intent is recorded first.
    pub fn changes_world(&self) -> bool {
        matches!(self, Operation::Apply { .. } | Operation::Provision { .. })
    }

    /// Whether the operation is tracked: scheduled and journalled by a coordinator. Other operations run inside the
    /// tracked operations that need them.
    pub fn is_tracked(&self) -> bool {
        !matches!(
            self,
            Operation::OpenProvider { .. }
                | Operation::CloseProvider { .. }
                | Operation::PriorState { .. }
                | Operation::Desired { .. }
                | Operation::FinalPlan { .. }
                | Operation::OpenEphemeral { .. }
                | Operation::CloseEphemeral { .. }
                | Operation::EvaluateLive { .. }
        )
    }

    /// Whether the result of the operation is never stored and never sent. Its readers are in the same shard.
    pub fn is_live(&self) -> bool {
        matches!(self, Operation::OpenEphemeral { .. } | Operation::EvaluateLive { .. })
    }

    /// The object of the operation, as text.
    pub fn address(&self) -> String {
        match self {
            Operation::Evaluate { name, .. } | Operation::EvaluateLive { name, .. } => name.to_string(),
            Operation::OpenProvider { instance, .. } => instance.to_string(),
            Operation::CloseProvider { .. } | Operation::CloseEphemeral { .. } => String::new(),
            Operation::PriorState { address, .. }
            | Operation::Desired { address, .. }
            | Operation::FinalPlan { address, .. }
            | Operation::Apply { address, .. }
            | Operation::Depose { address, .. }
            | Operation::Forget { address, .. }
            | Operation::ReadData { address, .. }
            | Operation::Record { address, .. }
            | Operation::OpenEphemeral { address, .. }
            | Operation::Provision { address, .. } => address.to_string(),
            // The memory of a provider instance is stored under that instance's name.
            Operation::Output { name, .. } if is_provider_memory(name) => name.to_string(),
            Operation::Output { name, .. } => format!("output.{name}"),
            Operation::Check { address, .. } => address.to_string(),
        }
    }

    /// The key of the deposed object, if the operation has one.
    pub fn deposed(&self) -> Option<&DeposedKey> {
        match self {
            Operation::PriorState { deposed, .. }
            | Operation::Apply { deposed, .. }
            | Operation::Forget { deposed, .. } => deposed.as_ref(),
            Operation::Depose { key, .. } => Some(key),
            _ => None,
        }
    }

    /// The operands that are operations, in order.
    pub fn operands(&self) -> Vec<OperationId> {
        match self {
            Operation::CloseProvider { provider }
            | Operation::ReadData { provider, .. }
            | Operation::OpenEphemeral { provider, .. } => vec![*provider],
            Operation::CloseEphemeral { ephemeral } => vec![*ephemeral],
            Operation::FinalPlan { provider, prior, desired, .. } => {
                [Some(*provider), *prior, *desired].into_iter().flatten().collect()
            }
            Operation::Apply { plan, .. } => vec![*plan],
            _ => Vec::new(),
        }
    }

    /// The formulas, in order.
    pub fn formulas(&self) -> Vec<&F> {
        match self {
            Operation::Evaluate { formula, .. } | Operation::EvaluateLive { formula, .. } => vec![formula],
            Operation::OpenProvider { config, .. }
            | Operation::Desired { config, .. }
            | Operation::OpenEphemeral { config, .. }
            | Operation::ReadData { config, .. }
            | Operation::Provision { config, .. } => vec![config],
            Operation::Output { formula, .. } => formula.iter().collect(),
            Operation::Check { condition, message, .. } => vec![condition, message],
            _ => Vec::new(),
        }
    }

    /// The operation with renamed operands and formulas.
    pub fn map<G>(
        self,
        operation: &mut impl FnMut(OperationId) -> OperationId,
        formula: &mut impl FnMut(F) -> G,
    ) -> Operation<G> {
        match self {
            Operation::Evaluate { name, formula: f } => Operation::Evaluate { name, formula: formula(f) },
            Operation::OpenProvider { instance, config } => {
                Operation::OpenProvider { instance, config: formula(config) }
            }
            Operation::CloseProvider { provider } => Operation::CloseProvider { provider: operation(provider) },
            Operation::PriorState { address, deposed, object } => Operation::PriorState { address, deposed, object },
            Operation::Desired { address, config } => Operation::Desired { address, config: formula(config) },
            Operation::FinalPlan { address, provider, prior, desired, planned } => Operation::FinalPlan {
                address,
                provider: operation(provider),
                prior: prior.map(&mut *operation),
                desired: desired.map(&mut *operation),
                planned,
            },
            Operation::Apply { address, deposed, plan } => Operation::Apply { address, deposed, plan: operation(plan) },
            Operation::Depose { address, key } => Operation::Depose { address, key },
            Operation::Forget { address, deposed } => Operation::Forget { address, deposed },
            Operation::ReadData { address, provider, config, planned, record, sensitive, for_check } => {
                Operation::ReadData {
                    address,
                    provider: operation(provider),
                    config: formula(config),
                    planned,
                    record,
                    sensitive,
                    for_check,
                }
            }
            Operation::Record { address, previous, object, provider } => {
                Operation::Record { address, previous, object, provider }
            }
            Operation::Output { name, formula: f, ty, sensitive, planned, deprecated } => {
                Operation::Output { name, formula: f.map(formula), ty, sensitive, planned, deprecated }
            }
            Operation::Check { address, kind, condition, message, range } => {
                let condition = formula(condition);
                Operation::Check { address, kind, condition, message: formula(message), range }
            }
            Operation::Provision { address, provisioner, when, continues, config, range } => {
                Operation::Provision { address, provisioner, when, continues, config: formula(config), range }
            }
            Operation::OpenEphemeral { address, provider, config, shards } => {
                Operation::OpenEphemeral { address, provider: operation(provider), config: formula(config), shards }
            }
            Operation::CloseEphemeral { ephemeral } => Operation::CloseEphemeral { ephemeral: operation(ephemeral) },
            Operation::EvaluateLive { name, formula: f } => Operation::EvaluateLive { name, formula: formula(f) },
        }
    }
}
