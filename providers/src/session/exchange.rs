//! One call: encodes and sends the request, waits for the reply, and classifies the outcome.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use smol_str::SmolStr;
use tonic::{Code, Status};
use weft_graph_format::schema::{IdentitySchema, Schema};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_proto::tfplugin6 as messages;

use super::{ProviderSession, TypeOf};
use crate::call::{CallError, CallKind, StatusCode};
use crate::convert;
use crate::diagnostic::ProviderDiagnostic;
use crate::launch;
use crate::wire_value;

/// The time in which a reply may still arrive after its process has ended.
const REPLY_AFTER_END: Duration = Duration::from_millis(200);

/// The time to wait for the end of a process after its connection broke, to distinguish a crash from a broken
/// connection.
const END_AFTER_BREAK: Duration = Duration::from_secs(1);

/// The prefix of tonic's message for a reply that is not valid protobuf.
const BAD_MESSAGE: &str = "failed to decode Protobuf message";

/// The prefix of tonic's message for a reply over the size limit.
const TOO_LARGE: &str = "Error, decoded message length too large";

impl ProviderSession {
    /// Makes one call, within its deadline, while the process is alive. Logs its duration.
    pub(super) async fn call<T>(
        &self,
        kind: CallKind,
        method: &'static str,
        reply: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, CallError> {
        let begun = Instant::now();
        let outcome = self.exchange(kind, method, reply).await;
        let milliseconds = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(plugin = %self.inner.name, method, milliseconds, failed = outcome.is_err(), "call of a plugin");
        outcome
    }

    async fn exchange<T>(
        &self,
        kind: CallKind,
        method: &'static str,
        reply: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, CallError> {
        if self.inner.closed.load(Ordering::Acquire) {
            return Err(CallError::Closed);
        }
        if let Some(status) = self.inner.process.ended() {
            return Err(CallError::NotRunning { status, stderr: self.inner.process.last_lines() });
        }
        let limit = self.inner.options.deadlines.of(kind);
        let mut reply = std::pin::pin!(reply);
        let outcome = tokio::select! {
            outcome = &mut reply => outcome,
            status = self.inner.process.wait() => match tokio::time::timeout(REPLY_AFTER_END, &mut reply).await {
                Ok(Ok(reply)) => Ok(reply),
                _ => return Err(self.crashed(method, status)),
            },
            () = tokio::time::sleep(limit) => return Err(CallError::Deadline { method, limit }),
        };
        match outcome {
            Ok(reply) => Ok(reply),
            Err(status) => Err(self.classify(method, status).await),
        }
    }

    fn crashed(&self, method: &'static str, status: String) -> CallError {
        CallError::Crashed { method, status, stderr: self.inner.process.last_lines() }
    }

    async fn classify(&self, method: &'static str, status: Status) -> CallError {
        let message = status.message().to_owned();
        if message.starts_with(BAD_MESSAGE) || message.starts_with(TOO_LARGE) {
            return CallError::Undecodable { method, reason: message };
        }
        // A status that the plugin sent has no source error. A status made on this side of the connection has a source
        // error.
        if std::error::Error::source(&status).is_some() {
            return match tokio::time::timeout(END_AFTER_BREAK, self.inner.process.wait()).await {
                Ok(end) => self.crashed(method, end),
                Err(_) => CallError::Transport { method, reason: launch::causes(&status) },
            };
        }
        CallError::Status { method, code: status_code(status.code()), message }
    }

    pub(super) fn log(&self, method: &str, diagnostics: &[ProviderDiagnostic]) {
        for d in diagnostics {
            tracing::warn!(plugin = %self.inner.name, method, "{}: {}", d.summary, d.detail);
        }
    }

    pub(super) async fn ty(&self, of: TypeOf, name: &str) -> Result<Type, CallError> {
        let key = (of, SmolStr::from(name));
        if let Some(ty) = self.inner.types.lock().get(&key) {
            return Ok(ty.clone());
        }
        let schema = self.schema().await?;
        let block = |s: &Schema| s.block.implied_type();
        let (what, ty) = match of {
            TypeOf::Provider => ("provider configuration", Some(block(&schema.provider))),
            TypeOf::ProviderMeta => ("provider_meta", Some(block(&schema.provider_meta))),
            TypeOf::Resource => ("resource type", schema.resources.get(name).map(|s| block(s))),
            TypeOf::Data => ("data source", schema.data_sources.get(name).map(|s| block(s))),
            TypeOf::Ephemeral => ("ephemeral resource type", schema.ephemeral.get(name).map(|s| block(s))),
            TypeOf::Identity => {
                let attributes = |s: &IdentitySchema| {
                    Type::object(s.attributes.iter().map(|(name, a)| (name.clone(), a.ty.clone())))
                };
                ("resource identity", schema.identities.get(name).map(attributes))
            }
        };
        let ty = ty.ok_or_else(|| CallError::UnknownType { what, name: name.into() })?;
        self.inner.types.lock().insert(key, ty.clone());
        Ok(ty)
    }

    pub(super) async fn encode(
        &self,
        argument: &'static str,
        value: &Value,
        of: TypeOf,
        name: &str,
    ) -> Result<Option<messages::DynamicValue>, CallError> {
        let ty = self.ty(of, name).await?;
        match wire_value::encode(value, &ty) {
            Ok(encoded) => Ok(Some(encoded)),
            Err(error) => Err(CallError::Unencodable { argument, reason: error.to_string() }),
        }
    }

    pub(super) async fn encode_meta(&self, value: Option<&Value>) -> Result<Option<messages::DynamicValue>, CallError> {
        match value {
            Some(value) => self.encode("provider_meta", value, TypeOf::ProviderMeta, "").await,
            None => Ok(None),
        }
    }

    pub(super) async fn encode_identity(
        &self,
        value: Option<&Value>,
        type_name: &str,
    ) -> Result<Option<messages::ResourceIdentityData>, CallError> {
        let Some(value) = value else { return Ok(None) };
        let identity_data = self.encode("identity", value, TypeOf::Identity, type_name).await?;
        Ok(Some(messages::ResourceIdentityData { identity_data }))
    }

    /// Decodes an identity. An identity for a type without an identity schema is useless, and is dropped.
    pub(super) async fn decode_identity(
        &self,
        method: &'static str,
        data: Option<messages::ResourceIdentityData>,
        type_name: &str,
    ) -> Result<Option<Value>, CallError> {
        let Some(data) = data.and_then(|d| d.identity_data) else { return Ok(None) };
        match self.ty(TypeOf::Identity, type_name).await {
            Ok(ty) => Ok(Some(decode(method, Some(data), &ty)?)),
            Err(CallError::UnknownType { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

pub(super) fn capabilities() -> Option<messages::ClientCapabilities> {
    Some(messages::ClientCapabilities { deferral_allowed: false, write_only_attributes_allowed: true })
}

pub(super) fn undecodable(method: &'static str, reason: impl std::fmt::Display) -> CallError {
    CallError::Undecodable { method, reason: reason.to_string() }
}

pub(super) fn decode(
    method: &'static str,
    value: Option<messages::DynamicValue>,
    ty: &Type,
) -> Result<Value, CallError> {
    wire_value::decode(value, ty).map_err(|reason| undecodable(method, reason))
}

/// Adds an error if the provider deferred the change. Weft does not allow deferrals, so this violates the protocol.
pub(super) fn with_deferral(
    from: Vec<messages::Diagnostic>,
    deferred: Option<messages::Deferred>,
) -> Vec<ProviderDiagnostic> {
    let mut diagnostics = convert::diagnostics(from);
    if let Some(deferred) = deferred {
        diagnostics.push(crate::problems::deferred_change(deferred.reason().as_str_name()));
    }
    diagnostics
}

fn status_code(code: Code) -> StatusCode {
    match code {
        Code::Cancelled => StatusCode::Cancelled,
        // A status of OK is never an error.
        Code::Ok | Code::Unknown => StatusCode::Unknown,
        Code::InvalidArgument => StatusCode::InvalidArgument,
        Code::DeadlineExceeded => StatusCode::DeadlineExceeded,
        Code::NotFound => StatusCode::NotFound,
        Code::AlreadyExists => StatusCode::AlreadyExists,
        Code::PermissionDenied => StatusCode::PermissionDenied,
        Code::ResourceExhausted => StatusCode::ResourceExhausted,
        Code::FailedPrecondition => StatusCode::FailedPrecondition,
        Code::Aborted => StatusCode::Aborted,
        Code::OutOfRange => StatusCode::OutOfRange,
        Code::Unimplemented => StatusCode::Unimplemented,
        Code::Internal => StatusCode::Internal,
        Code::Unavailable => StatusCode::Unavailable,
        Code::DataLoss => StatusCode::DataLoss,
        Code::Unauthenticated => StatusCode::Unauthenticated,
    }
}
