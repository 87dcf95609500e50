//! The operations and their numbers on disk.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::{OperationId, PlannedObject, PriorObject, StateRecord};
use crate::address::{DeposedKey, ProviderInstance, ResourceInstance};
use crate::path::Path;
use crate::source::SourceRange;
use crate::stored::is_provider_memory;
use crate::types::Type;
use crate::value::Value;

/// Opcodes. The numbers are on disk: they are given by hand and never used again for something else.
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

/// Which condition of a block a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CheckKind {
    /// Before the action of a resource or the storing of an output.
    Precondition,
    /// After the action.
    Postcondition,
    /// A condition of a root variable.
    Validation,
    /// An assertion of a check block: a warning if it is false.
    Assertion,
}

/// An operation; `F` is how a formula is named: shared in memory while planning, a row of a table afterwards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Operation<F> {
    /// Computes a named value once for all that read it. Result: the value.
    Evaluate {
        /// The name of the value, as text: `local.port`.
        name: SmolStr,
        /// How it is computed.
        formula: F,
    },
    /// Starts and configures a provider when the first operation needs it. Result: the provider.
    OpenProvider {
        /// Which one.
        instance: ProviderInstance,
        /// Its configuration.
        config: F,
    },
    /// Ends a provider after the last operation that needs it.
    CloseProvider {
        /// The `open_provider`.
        provider: OperationId,
    },
    /// Hands out an object as it was when the plan was made.
    PriorState {
        /// Whose.
        address: ResourceInstance,
        /// Which, when it is not the current object.
        deposed: Option<DeposedKey>,
        /// The object.
        object: Box<PriorObject>,
    },
    /// Computes the configuration of an instance. Result: the value, typed by the schema.
    Desired {
        /// Whose.
        address: ResourceInstance,
        /// How.
        config: F,
    },
    /// Makes the final plan and holds it against the reviewed one. Result: the final plan.
    FinalPlan {
        /// Whose.
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
        /// Whose.
        address: ResourceInstance,
        /// Which object, when it is not the current one (deletes of deposed objects).
        deposed: Option<DeposedKey>,
        /// The `final_plan`.
        plan: OperationId,
    },
    /// Sets the current object aside, so that a new one can be created first.
    Depose {
        /// Whose.
        address: ResourceInstance,
        /// The key that it is kept under.
        key: DeposedKey,
    },
    /// Takes an object out of state and leaves it alone.
    Forget {
        /// Whose.
        address: ResourceInstance,
        /// Which object, when it is not the current one.
        deposed: Option<DeposedKey>,
    },
    /// Reads a data source and commits the result. Result: the value.
    ReadData {
        /// Whose.
        address: ResourceInstance,
        /// The `open_provider` of the instance.
        provider: OperationId,
        /// The configuration.
        config: F,
        /// The planned object: the configuration with unknown results.
        planned: Value,
        /// The record of the object.
        record: Box<StateRecord>,
        /// Sensitive paths, by schema and configuration.
        sensitive: Vec<Path>,
        /// It is read for a check block: an error is a warning.
        for_check: bool,
    },
    /// Writes an object that refreshing, moving or a changed configuration altered in state only. No provider is called.
    Record {
        /// Whose.
        address: ResourceInstance,
        /// The address that the object had until now, when it is another one: nothing is left there.
        previous: Option<Box<ResourceInstance>>,
        /// The new object; `None` if it is removed.
        object: Option<Box<PriorObject>>,
        /// The provider that the state names from now on.
        provider: ProviderInstance,
    },
    /// Computes and stores an output of the root module. Result: the value.
    Output {
        /// Its name.
        name: SmolStr,
        /// The value; `None` if it is removed.
        formula: Option<F>,
        /// Its type where it was known at plan.
        ty: Type,
        /// Declared sensitive.
        sensitive: bool,
        /// The planned value, unknown where only apply can tell.
        planned: Value,
        /// The deprecation message, stored with the output.
        deprecated: Option<String>,
    },
    /// Checks a condition that could not be decided at plan.
    Check {
        /// Whose condition, as text: an instance, output or variable.
        address: SmolStr,
        /// Which kind.
        kind: CheckKind,
        /// The condition.
        condition: F,
        /// The message when it does not hold.
        message: F,
        /// Where the condition stands.
        range: Option<SourceRange>,
    },
    /// Runs a provisioner, after an object was created or before it is deleted. Result: nothing.
    Provision {
        /// Whose.
        address: ResourceInstance,
        /// Which one: `local-exec`.
        provisioner: SmolStr,
        /// When it runs.
        when: ProvisionWhen,
        /// The operations behind it continue if it fails.
        continues: bool,
        /// Its arguments, typed by the provisioner's schema.
        config: F,
        /// Where the block stands.
        range: Option<SourceRange>,
    },
    /// Opens an ephemeral object when the first operation of the shard needs it, and renews it while it is open. Every
    /// shard that reads it has such an operation. Result: the object, which is never stored.
    OpenEphemeral {
        /// Which.
        address: ResourceInstance,
        /// The `open_provider` of the instance, in the same shard.
        provider: OperationId,
        /// The configuration.
        config: F,
        /// The number of shards that have such an operation for the object.
        shards: u32,
    },
    /// Closes an ephemeral object after the last operation that needs it.
    CloseEphemeral {
        /// The `open_ephemeral`.
        ephemeral: OperationId,
    },
    /// Computes a named value from values that are never stored, separately in every shard that reads it. Result: the
    /// value, which is never stored either.
    EvaluateLive {
        /// The name of the value, as text: `local.password`.
        name: SmolStr,
        /// How it is computed.
        formula: F,
    },
}

/// When a provisioner runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ProvisionWhen {
    /// After the create; others follow.
    Created,
    /// After the create, as the last: with it the object is whole, and no longer tainted.
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

    /// Whether it changes something outside: an intent comes before it.
    pub fn changes_world(&self) -> bool {
        matches!(self, Operation::Apply { .. } | Operation::Provision { .. })
    }

    /// Whether a coordinator schedules and journals it. The others run inside the tracked operation that needs them.
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

    /// Whether its result is never stored and never sent: its readers are in the same shard.
    pub fn is_live(&self) -> bool {
        matches!(self, Operation::OpenEphemeral { .. } | Operation::EvaluateLive { .. })
    }

    /// The subject, as text.
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
            // What the state remembers of a provider instance has its name.
            Operation::Output { name, .. } if is_provider_memory(name) => name.to_string(),
            Operation::Output { name, .. } => format!("output.{name}"),
            Operation::Check { address, .. } => address.to_string(),
        }
    }

    /// The deposed object it is about, where it is about one.
    pub fn deposed(&self) -> Option<&DeposedKey> {
        match self {
            Operation::PriorState { deposed, .. }
            | Operation::Apply { deposed, .. }
            | Operation::Forget { deposed, .. } => deposed.as_ref(),
            Operation::Depose { key, .. } => Some(key),
            _ => None,
        }
    }

    /// Its operands that are operations, in order.
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

    /// Its formulas, in order.
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
