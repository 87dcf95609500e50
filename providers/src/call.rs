//! Requests to a provider, its replies, and the errors of a call. Plain data.
//!
//! A reply means that the provider answered. The field `diagnostics` of the reply has what the provider reported,
//! including errors. A [`CallError`] means that the provider did not answer properly, so the effect of the call is
//! unknown, unless [`CallError::was_not_sent`] returns `true`. These two cases must never be confused: an error of the
//! provider is a failure, and an unknown effect is a doubt.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use smol_str::SmolStr;
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::path::Path;
use weft_graph_format::schema::FunctionSignature;
use weft_graph_format::value::Value;

use crate::diagnostic::{ProviderDiagnostic, has_errors};

/// The kinds of call, for deadlines and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallKind {
    /// Schemas of resources, identities and functions.
    Schema,
    /// Validation of any configuration.
    Validate,
    /// Configuration of the provider.
    Configure,
    /// Upgrade or move of a stored object: computation only.
    Upgrade,
    /// Read of a managed object, also during an import.
    Read,
    /// Plan of a change.
    Plan,
    /// Apply of a change.
    Apply,
    /// Read of a data source.
    Data,
    /// Opening, renewing and closing of ephemeral objects.
    Ephemeral,
    /// Call of a function.
    Function,
    /// Request to end early.
    Stop,
}

/// The deadline for a reply, per kind of call. After a deadline, the outcome of the call is unknown. So deadlines only
/// guard against calls that hang forever. They do not limit slow operations: providers have their own timeouts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deadlines {
    limits: BTreeMap<CallKind, Duration>,
}

/// Schemas: the largest providers need about ten seconds to assemble theirs on a busy machine.
pub const SCHEMA_DEADLINE: Duration = Duration::from_secs(180);
/// Validation is computation, but some providers look up data.
pub const VALIDATE_DEADLINE: Duration = Duration::from_secs(300);
/// Configuration includes a login, with retries.
pub const CONFIGURE_DEADLINE: Duration = Duration::from_secs(900);
/// Upgrades are pure computation.
pub const UPGRADE_DEADLINE: Duration = Duration::from_secs(300);
/// A read polls and retries throttled requests. The default timeout of the SDKs is twenty minutes.
pub const READ_DEADLINE: Duration = Duration::from_secs(3_600);
/// Plans may read the remote object too.
pub const PLAN_DEADLINE: Duration = Duration::from_secs(3_600);
/// The slowest known creates (databases, network appliances) take hours, and their `timeouts` blocks allow such times.
pub const APPLY_DEADLINE: Duration = Duration::from_secs(24 * 3_600);
/// A data source may wait for something to appear.
pub const DATA_DEADLINE: Duration = Duration::from_secs(3_600);
/// To open an ephemeral object, the provider requests a secret from a service.
pub const EPHEMERAL_DEADLINE: Duration = Duration::from_secs(900);
/// Functions are pure computation.
pub const FUNCTION_DEADLINE: Duration = Duration::from_secs(300);
/// A plugin that does not handle Stop is not worth waiting for.
pub const STOP_DEADLINE: Duration = Duration::from_secs(10);

impl Deadlines {
    /// Sets the deadline of one kind of call.
    #[must_use]
    pub fn with(mut self, kind: CallKind, limit: Duration) -> Deadlines {
        self.limits.insert(kind, limit);
        self
    }

    /// The deadline of a kind.
    pub fn of(&self, kind: CallKind) -> Duration {
        self.limits.get(&kind).copied().unwrap_or(match kind {
            CallKind::Schema => SCHEMA_DEADLINE,
            CallKind::Validate => VALIDATE_DEADLINE,
            CallKind::Configure => CONFIGURE_DEADLINE,
            CallKind::Upgrade => UPGRADE_DEADLINE,
            CallKind::Read => READ_DEADLINE,
            CallKind::Plan => PLAN_DEADLINE,
            CallKind::Apply => APPLY_DEADLINE,
            CallKind::Data => DATA_DEADLINE,
            CallKind::Ephemeral => EPHEMERAL_DEADLINE,
            CallKind::Function => FUNCTION_DEADLINE,
            CallKind::Stop => STOP_DEADLINE,
        })
    }
}

/// Why there is no reply. The first five variants mean that the call was not sent or not possible. After any other
/// variant, the effect of the call is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The session was already closed. Nothing was sent.
    #[error("the provider session was closed")]
    Closed,
    /// The provider has no such resource type, data source, ephemeral resource or function. Nothing was sent.
    #[error("the provider has no {what} named \"{name}\"")]
    UnknownType {
        /// "resource type", "data source", ...
        what: &'static str,
        /// The missing name.
        name: SmolStr,
    },
    /// The provider reported errors instead of its schema, without which no call is possible.
    #[error("the provider has no schema: {}", summaries(.diagnostics))]
    NoSchema {
        /// The errors.
        diagnostics: Vec<ProviderDiagnostic>,
    },
    /// A value does not match the provider's schema. Nothing was sent.
    #[error("the value for {argument} cannot be sent: {reason}")]
    Unencodable {
        /// The argument.
        argument: &'static str,
        /// The mismatch.
        reason: String,
    },
    /// The plugin's process had ended before the call. Nothing was sent.
    #[error("the plugin process is not running: {status}{}", tail(.stderr))]
    NotRunning {
        /// The exit status of the process.
        status: String,
        /// The last output of the process.
        stderr: String,
    },
    /// The plugin's process ended during the call.
    #[error("the plugin process ended during {method}: {status}{}", tail(.stderr))]
    Crashed {
        /// The call.
        method: &'static str,
        /// The exit status of the process.
        status: String,
        /// The last output of the process.
        stderr: String,
    },
    /// The connection broke, but the process is alive.
    #[error("the connection to the plugin broke during {method}: {reason}")]
    Transport {
        /// The call.
        method: &'static str,
        /// The reason.
        reason: String,
    },
    /// No reply arrived before the deadline.
    #[error("no reply to {method} within {} s", .limit.as_secs())]
    Deadline {
        /// The call.
        method: &'static str,
        /// The deadline.
        limit: Duration,
    },
    /// The plugin replied with a gRPC status other than OK.
    #[error("{method} ended with status {code:?}: {message}")]
    Status {
        /// The call.
        method: &'static str,
        /// The status.
        code: StatusCode,
        /// The plugin's text.
        message: String,
    },
    /// The reply is not a valid message, or its values do not match the provider's own schema.
    #[error("the reply to {method} cannot be decoded: {reason}")]
    Undecodable {
        /// The call.
        method: &'static str,
        /// The problem.
        reason: String,
    },
}

impl CallError {
    /// Whether it is certain that the plugin never received the call.
    pub fn was_not_sent(&self) -> bool {
        matches!(
            self,
            CallError::Closed
                | CallError::UnknownType { .. }
                | CallError::NoSchema { .. }
                | CallError::Unencodable { .. }
                | CallError::NotRunning { .. }
        )
    }

    /// Whether the plugin does not implement this call.
    pub fn is_unimplemented(&self) -> bool {
        matches!(self, CallError::Status { code: StatusCode::Unimplemented, .. })
    }
}

pub(crate) fn summaries(diagnostics: &[ProviderDiagnostic]) -> String {
    diagnostics.iter().map(|d| d.summary.as_str()).collect::<Vec<_>>().join("; ")
}

fn tail(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("\n\nThe plugin's last output:\n{stderr}") }
}

/// The official names of the gRPC statuses other than OK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum StatusCode {
    Cancelled,
    Unknown,
    InvalidArgument,
    DeadlineExceeded,
    NotFound,
    AlreadyExists,
    PermissionDenied,
    ResourceExhausted,
    FailedPrecondition,
    Aborted,
    OutOfRange,
    Unimplemented,
    Internal,
    Unavailable,
    DataLoss,
    Unauthenticated,
}

/// A reply with the provider's diagnostics.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply<T> {
    /// The reply. After an error, the value that the provider returned with the error.
    pub value: T,
    /// The diagnostics, in the provider's order.
    pub diagnostics: Vec<ProviderDiagnostic>,
}

impl<T> Reply<T> {
    /// Whether the provider reported an error.
    pub fn has_errors(&self) -> bool {
        has_errors(&self.diagnostics)
    }
}

/// `ReadResource`: the current object.
#[derive(Clone, Debug)]
pub struct ReadRequest {
    /// The object's address. Providers do not receive this address.
    pub address: ResourceInstance,
    /// Resource type.
    pub type_name: SmolStr,
    /// The object as last known, of the type that the schema implies.
    pub current_state: Value,
    /// The provider's own bytes, stored with the object.
    pub private: Vec<u8>,
    /// The module's `provider_meta`, if the provider has a schema for it.
    pub provider_meta: Option<Value>,
    /// The identity stored with the object.
    pub identity: Option<Value>,
}

/// An object and its additional data.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectState {
    /// The object; null if it no longer exists.
    pub state: Value,
    /// The provider's own bytes.
    pub private: Vec<u8>,
    /// The identity of the object, if the type has identities and the provider returned one.
    pub identity: Option<Value>,
}

/// `PlanResourceChange`.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// The object's address. Providers do not receive this address.
    pub address: ResourceInstance,
    /// Resource type.
    pub type_name: SmolStr,
    /// The current object; null for a create.
    pub prior_state: Value,
    /// The proposed object; null for a destroy.
    pub proposed_new_state: Value,
    /// The configuration; null for a destroy.
    pub config: Value,
    /// The provider's bytes stored with the prior object.
    pub prior_private: Vec<u8>,
    /// The module's `provider_meta`.
    pub provider_meta: Option<Value>,
    /// The identity stored with the prior object.
    pub prior_identity: Option<Value>,
}

/// The provider's plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedChange {
    /// The planned object, with unknown parts.
    pub planned_state: Value,
    /// The paths whose changes need a new object.
    pub requires_replace: Vec<Path>,
    /// Bytes to pass to the apply.
    pub planned_private: Vec<u8>,
    /// Whether the provider uses an SDK that cannot follow the rules for planned values, so that the rules are not
    /// enforced.
    pub legacy_type_system: bool,
    /// The planned identity, with unknown parts.
    pub planned_identity: Option<Value>,
}

/// `ApplyResourceChange`.
#[derive(Clone, Debug)]
pub struct ApplyRequest {
    /// The object's address. Providers do not receive this address.
    pub address: ResourceInstance,
    /// Resource type.
    pub type_name: SmolStr,
    /// The current object; null for a create.
    pub prior_state: Value,
    /// The planned object; null for a destroy.
    pub planned_state: Value,
    /// The configuration; null for a destroy.
    pub config: Value,
    /// Bytes from the plan.
    pub planned_private: Vec<u8>,
    /// The module's `provider_meta`.
    pub provider_meta: Option<Value>,
    /// The planned identity.
    pub planned_identity: Option<Value>,
}

/// The result of an apply. After an error the object may be partial, null, or still the prior object.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedChange {
    /// The object, private bytes and identity.
    pub object: ObjectState,
    /// As in [`PlannedChange::legacy_type_system`].
    pub legacy_type_system: bool,
}

/// The object to import.
#[derive(Clone, Debug)]
pub enum ImportTarget {
    /// The provider's id.
    Id(String),
    /// An identity, of the type's identity schema.
    Identity(Value),
}

/// An imported object.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedObject {
    /// The resource type of the object.
    pub type_name: SmolStr,
    /// The object (which must be read next), private bytes and identity.
    pub object: ObjectState,
}

/// A stored object before any decoding.
#[derive(Clone, Debug)]
pub enum RawState {
    /// The `attributes` of state format 4, as JSON text.
    Json(Vec<u8>),
    /// The flat map of states from before format 4.
    Flatmap(BTreeMap<String, String>),
}

/// `MoveResourceState`: converts an object of one type to another.
#[derive(Clone, Debug)]
pub struct MoveRequest {
    /// Provider of the source type: `registry.opentofu.org/hashicorp/null`.
    pub source_provider: String,
    /// The source type.
    pub source_type_name: SmolStr,
    /// Schema version of the stored object.
    pub source_schema_version: u64,
    /// The stored object.
    pub source_state: RawState,
    /// The private bytes of the stored object.
    pub source_private: Vec<u8>,
    /// The stored identity of the object as JSON text, with the version of its schema.
    pub source_identity: Option<(Vec<u8>, u64)>,
    /// The target type.
    pub target_type_name: SmolStr,
}

/// An open ephemeral object.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenedEphemeral {
    /// The value of the object.
    pub result: Value,
    /// Bytes to pass to renewals and closing.
    pub private: Option<Vec<u8>>,
    /// When the object must be renewed; `None` if it needs no renewal.
    pub renew_at: Option<SystemTime>,
}

/// The result of a renewal.
#[derive(Clone, Debug, PartialEq)]
pub struct RenewedEphemeral {
    /// Bytes that replace the previous private bytes of the object.
    pub private: Option<Vec<u8>>,
    /// When the object must be renewed again; `None` if it needs no further renewal.
    pub renew_at: Option<SystemTime>,
}

/// Functions by name.
pub type Functions = BTreeMap<SmolStr, FunctionSignature>;

/// The error of a function. The function itself reports this error, like an error diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionFailure {
    /// The problem.
    pub text: String,
    /// The index of the faulty argument (from 0), if an argument is at fault.
    pub argument: Option<u64>,
}
