//! Requests to a provider, its replies, and how a call can go wrong. Plain data.
//!
//! A reply always means that the provider answered: what it reports is in `diagnostics`, and an error there is its own
//! word. A [`CallError`] always means that it did not answer properly, so that what it did is not known, unless
//! [`CallError::was_not_sent`]. Nobody may confuse the two (RUNS.md, step 6).

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
    /// Read of a managed object, also in the course of an import.
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
    /// The request to end early.
    Stop,
}

/// How long to wait for a reply, per kind of call. A deadline that passes leaves the outcome unknown, so these are
/// bounds against hanging for ever and no means of keeping a provider brisk: providers have timeouts of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deadlines {
    limits: BTreeMap<CallKind, Duration>,
}

/// The largest providers take some ten seconds to assemble their schema on a busy machine.
pub const SCHEMA_DEADLINE: Duration = Duration::from_secs(180);
/// Validation is computation, though some providers look things up in it.
pub const VALIDATE_DEADLINE: Duration = Duration::from_secs(300);
/// Configuring logs in somewhere, with retries.
pub const CONFIGURE_DEADLINE: Duration = Duration::from_secs(900);
/// Pure computation.
pub const UPGRADE_DEADLINE: Duration = Duration::from_secs(300);
/// A read polls and retries throttled requests; twenty minutes is the default timeout of the SDKs.
pub const READ_DEADLINE: Duration = Duration::from_secs(3_600);
/// Plans may look at the remote object too.
pub const PLAN_DEADLINE: Duration = Duration::from_secs(3_600);
/// The slowest creates known (databases, network appliances) take hours, as configured in their `timeouts` blocks.
pub const APPLY_DEADLINE: Duration = Duration::from_secs(24 * 3_600);
/// A data source may wait for something to appear.
pub const DATA_DEADLINE: Duration = Duration::from_secs(3_600);
/// Opening asks a service for a secret.
pub const EPHEMERAL_DEADLINE: Duration = Duration::from_secs(900);
/// Functions are pure computation.
pub const FUNCTION_DEADLINE: Duration = Duration::from_secs(300);
/// A plugin that does not even take note of Stop is not worth waiting for.
pub const STOP_DEADLINE: Duration = Duration::from_secs(10);

impl Deadlines {
    /// The same with another limit for one kind.
    #[must_use]
    pub fn with(mut self, kind: CallKind, limit: Duration) -> Deadlines {
        self.limits.insert(kind, limit);
        self
    }

    /// The limit of a kind.
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

/// Why there is no reply. All but the first five leave open what the provider did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The session was closed before; nothing was sent.
    #[error("the provider session was closed")]
    Closed,
    /// The provider has no such resource type, data source, ephemeral resource or function; nothing was sent.
    #[error("the provider has no {what} named \"{name}\"")]
    UnknownType {
        /// "resource type", "data source", ...
        what: &'static str,
        /// What was asked for.
        name: SmolStr,
    },
    /// The provider reported errors in place of its schema, without which nothing can be sent.
    #[error("the provider has no schema: {}", summaries(.diagnostics))]
    NoSchema {
        /// What it said.
        diagnostics: Vec<ProviderDiagnostic>,
    },
    /// A value of ours does not fit the provider's schema; nothing was sent.
    #[error("the value for {argument} cannot be sent: {reason}")]
    Unencodable {
        /// Which value.
        argument: &'static str,
        /// What does not fit.
        reason: String,
    },
    /// The plugin's process had ended before the call; nothing was sent.
    #[error("the plugin process is not running: {status}{}", tail(.stderr))]
    NotRunning {
        /// How it ended.
        status: String,
        /// Its last words.
        stderr: String,
    },
    /// The plugin's process ended during the call.
    #[error("the plugin process ended during {method}: {status}{}", tail(.stderr))]
    Crashed {
        /// The call.
        method: &'static str,
        /// How it ended.
        status: String,
        /// Its last words.
        stderr: String,
    },
    /// The connection broke though the process lives.
    #[error("the connection to the plugin broke during {method}: {reason}")]
    Transport {
        /// The call.
        method: &'static str,
        /// What happened.
        reason: String,
    },
    /// No reply in time.
    #[error("no reply to {method} within {} s", .limit.as_secs())]
    Deadline {
        /// The call.
        method: &'static str,
        /// How long it was waited for.
        limit: Duration,
    },
    /// The plugin answered with a gRPC status other than OK.
    #[error("{method} ended with status {code:?}: {message}")]
    Status {
        /// The call.
        method: &'static str,
        /// The status.
        code: StatusCode,
        /// The plugin's text.
        message: String,
    },
    /// A reply came, but it is no valid message, or its values do not fit the provider's own schema.
    #[error("the reply to {method} cannot be decoded: {reason}")]
    Undecodable {
        /// The call.
        method: &'static str,
        /// What is wrong.
        reason: String,
    },
}

impl CallError {
    /// Whether it is certain that the plugin never saw the call.
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

    /// Whether the plugin does not know this call at all.
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

/// The gRPC statuses that are not OK, under their official names.
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

/// A reply and what the provider said with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply<T> {
    /// The reply. After an error it is what the provider nevertheless gave.
    pub value: T,
    /// In the provider's order.
    pub diagnostics: Vec<ProviderDiagnostic>,
}

impl<T> Reply<T> {
    /// Whether the provider reported an error.
    pub fn has_errors(&self) -> bool {
        has_errors(&self.diagnostics)
    }
}

/// `ReadResource`: the object as it is now.
#[derive(Clone, Debug)]
pub struct ReadRequest {
    /// Whose object it is. Providers are not told.
    pub address: ResourceInstance,
    /// Resource type.
    pub type_name: SmolStr,
    /// The object as last known, of the type that the schema implies.
    pub current_state: Value,
    /// The provider's own bytes, kept with the object.
    pub private: Vec<u8>,
    /// The module's `provider_meta`, if the provider has a schema for it.
    pub provider_meta: Option<Value>,
    /// The identity stored with the object.
    pub identity: Option<Value>,
}

/// An object with what is stored beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectState {
    /// The object; null when it is gone.
    pub state: Value,
    /// The provider's own bytes.
    pub private: Vec<u8>,
    /// Its identity, when the type has one and the provider gave it.
    pub identity: Option<Value>,
}

/// `PlanResourceChange`.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// Whose object it is. Providers are not told.
    pub address: ResourceInstance,
    /// Resource type.
    pub type_name: SmolStr,
    /// The object as it is; null for a create.
    pub prior_state: Value,
    /// What the engine proposes; null for a destroy.
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

/// What the provider plans.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedChange {
    /// The object to come, with unknown parts.
    pub planned_state: Value,
    /// Changes of these places need a new object.
    pub requires_replace: Vec<Path>,
    /// Bytes to hand over at apply.
    pub planned_private: Vec<u8>,
    /// The provider's SDK cannot keep the rules on planned values, and must be forgiven.
    pub legacy_type_system: bool,
    /// The identity to come, with unknown parts.
    pub planned_identity: Option<Value>,
}

/// `ApplyResourceChange`.
#[derive(Clone, Debug)]
pub struct ApplyRequest {
    /// Whose object it is. Providers are not told.
    pub address: ResourceInstance,
    /// Resource type.
    pub type_name: SmolStr,
    /// The object as it is; null for a create.
    pub prior_state: Value,
    /// What was planned; null for a destroy.
    pub planned_state: Value,
    /// The configuration; null for a destroy.
    pub config: Value,
    /// Bytes from the plan.
    pub planned_private: Vec<u8>,
    /// The module's `provider_meta`.
    pub provider_meta: Option<Value>,
    /// The identity that was planned.
    pub planned_identity: Option<Value>,
}

/// What an apply left behind; after an error the object may be partial, null, or still the prior one.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedChange {
    /// The object, private bytes and identity.
    pub object: ObjectState,
    /// As in [`PlannedChange::legacy_type_system`].
    pub legacy_type_system: bool,
}

/// What to import.
#[derive(Clone, Debug)]
pub enum ImportTarget {
    /// By the provider's id.
    Id(String),
    /// By identity, of the type's identity schema.
    Identity(Value),
}

/// One object that an import yielded.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedObject {
    /// Its resource type.
    pub type_name: SmolStr,
    /// The object (to be read next), private bytes and identity.
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

/// `MoveResourceState`: an object of one type becomes one of another.
#[derive(Clone, Debug)]
pub struct MoveRequest {
    /// Provider of the source type: `registry.opentofu.org/hashicorp/null`.
    pub source_provider: String,
    /// The type it had.
    pub source_type_name: SmolStr,
    /// Schema version of the stored object.
    pub source_schema_version: u64,
    /// The stored object.
    pub source_state: RawState,
    /// Its private bytes.
    pub source_private: Vec<u8>,
    /// Its stored identity as JSON text, with its schema version.
    pub source_identity: Option<(Vec<u8>, u64)>,
    /// The type it shall have.
    pub target_type_name: SmolStr,
}

/// An open ephemeral object.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenedEphemeral {
    /// Its value.
    pub result: Value,
    /// Bytes to hand over at renewal and closing.
    pub private: Option<Vec<u8>>,
    /// When it must be renewed.
    pub renew_at: Option<SystemTime>,
}

/// After a renewal.
#[derive(Clone, Debug, PartialEq)]
pub struct RenewedEphemeral {
    /// Bytes that take the place of the ones before.
    pub private: Option<Vec<u8>>,
    /// When it must be renewed again.
    pub renew_at: Option<SystemTime>,
}

/// Functions by name.
pub type Functions = BTreeMap<SmolStr, FunctionSignature>;

/// A function that did not return a value. This is the function's own word, like an error diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionFailure {
    /// What is wrong.
    pub text: String,
    /// Which argument (from 0) is to blame, if one is.
    pub argument: Option<u64>,
}
