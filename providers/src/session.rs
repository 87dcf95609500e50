//! One running plugin, and every call that can be made of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use smol_str::SmolStr;
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tonic::transport::Channel;
use tonic::{Code, Status};
use weft_graph_format::schema::ProviderSchema;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_proto::plugin::grpc_controller_client::GrpcControllerClient;
use weft_proto::plugin::grpc_stdio_client::GrpcStdioClient;
use weft_proto::{plugin, tfplugin6 as messages};

use crate::call::{
    AppliedChange, ApplyRequest, CallError, CallKind, Deadlines, FunctionFailure, Functions, ImportTarget,
    ImportedObject, MoveRequest, ObjectState, OpenedEphemeral, PlanRequest, PlannedChange, RawState, ReadRequest,
    RenewedEphemeral, Reply, StatusCode,
};
use crate::convert;
use crate::diagnostic::{ProviderDiagnostic, has_errors};
use crate::handshake::Protocol;
use crate::launch::{self, LaunchError, LaunchSpec};
use crate::plugin_log;
use crate::process::PluginProcess;
use crate::schema_cache::SchemaCache;
use crate::wire::Wire;
use crate::wire_value;

/// The engine version that providers are told when they are configured. Some compare it, so it is that of the OpenTofu
/// whose behaviour we follow.
pub const REPORTED_VERSION: &str = "1.12.6";

/// How long a reply may still arrive after the process that sent it has ended.
const REPLY_AFTER_END: Duration = Duration::from_millis(200);

/// How long to wait for a process's end after its connection broke, to tell a crash from a broken connection.
const END_AFTER_BREAK: Duration = Duration::from_secs(1);

/// How long a plugin may take to end in good order before it is killed.
pub const CLOSE_DEADLINE: Duration = Duration::from_secs(2);

/// Beginning of tonic's message for a reply that is no valid protobuf.
const BAD_MESSAGE: &str = "failed to decode Protobuf message";

/// Beginning of tonic's message for a reply over the size limit.
const TOO_LARGE: &str = "Error, decoded message length too large";

/// What a session needs besides its program.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// How long to wait for replies.
    pub deadlines: Deadlines,
    /// Where schemas are kept, and the checksum of this plugin's package.
    pub schema_cache: Option<(Arc<SchemaCache>, String)>,
}

/// A running plugin. Cheap to clone; the process ends when the last clone is dropped, or at [`ProviderSession::close`].
///
/// All values are of the types that the schema implies. Marks on values are not sent; unknown values are.
#[derive(Clone)]
pub struct ProviderSession {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    protocol: Protocol,
    wire: Wire,
    channel: Channel,
    process: PluginProcess,
    options: SessionOptions,
    schema: OnceCell<Arc<ProviderSchema>>,
    types: Mutex<HashMap<(TypeOf, SmolStr), Type>>,
    closed: AtomicBool,
    _socket_directory: TempDir,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum TypeOf {
    Provider,
    ProviderMeta,
    Resource,
    Data,
    Ephemeral,
    Identity,
}

impl ProviderSession {
    /// Starts a plugin and connects to it. Nothing is asked of it yet.
    pub async fn launch(spec: &LaunchSpec, options: SessionOptions) -> Result<ProviderSession, LaunchError> {
        let launched = launch::launch(spec).await?;
        tracing::debug!(plugin = %spec.name, pid = launched.process.pid(), "plugin started");
        relay_output(launched.channel.clone(), spec.name.clone());
        Ok(ProviderSession {
            inner: Arc::new(Inner {
                name: spec.name.clone(),
                protocol: launched.protocol,
                wire: Wire::new(launched.protocol, launched.channel.clone()),
                channel: launched.channel,
                process: launched.process,
                options,
                schema: OnceCell::new(),
                types: Mutex::default(),
                closed: AtomicBool::new(false),
                _socket_directory: launched.socket_directory,
            }),
        })
    }

    /// The provider's name as given at launch.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Which protocol it speaks.
    pub fn protocol(&self) -> Protocol {
        self.inner.protocol
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.inner.process.pid()
    }

    /// Whether it can still be called.
    pub fn is_alive(&self) -> bool {
        !self.inner.closed.load(Ordering::Acquire) && self.inner.process.ended().is_none()
    }

    /// What the provider has: from this process, or from the cache where the provider allows that.
    pub async fn schema(&self) -> Result<Arc<ProviderSchema>, CallError> {
        self.inner.schema.get_or_try_init(|| self.load_schema()).await.cloned()
    }

    async fn load_schema(&self) -> Result<Arc<ProviderSchema>, CallError> {
        const METHOD: &str = "GetProviderSchema";
        let cache = self.inner.options.schema_cache.as_ref();
        let cached = cache.and_then(|(cache, checksum)| cache.get(checksum));
        if let Some(schema) = cached.as_ref().filter(|schema| schema.schema_optional) {
            return Ok(schema.clone());
        }
        // Other providers build their tables in this call, so a new process must see it even when the answer is known.
        let mut reply = self.call(CallKind::Schema, METHOD, self.inner.wire.schema()).await?;
        let diagnostics = convert::diagnostics(reply.take_diagnostics());
        if has_errors(&diagnostics) {
            return Err(CallError::NoSchema { diagnostics });
        }
        self.log(METHOD, &diagnostics);
        if let Some(schema) = cached {
            return Ok(schema);
        }
        let identities = self.identity_schemas().await?;
        let undecodable = |reason: String| CallError::Undecodable { method: METHOD, reason };
        let Some((cache, checksum)) = cache.cloned() else {
            return Ok(Arc::new(reply.convert(identities).map_err(|e| undecodable(e.to_string()))?));
        };
        // Tens of megabytes for the largest: not on a thread that others wait for.
        let converted = tokio::task::spawn_blocking(move || {
            let copy = (reply.clone(), identities.clone());
            let schema = Arc::new(reply.convert(identities)?);
            cache.save(&checksum, &copy.0, &copy.1);
            Ok::<_, convert::ConvertError>(cache.remember(&checksum, schema))
        });
        match converted.await {
            Ok(schema) => schema.map_err(|e| undecodable(e.to_string())),
            Err(error) => Err(undecodable(error.to_string())),
        }
    }

    async fn identity_schemas(&self) -> Result<messages::get_resource_identity_schemas::Response, CallError> {
        const METHOD: &str = "GetResourceIdentitySchemas";
        let request = messages::get_resource_identity_schemas::Request {};
        match self.call(CallKind::Schema, METHOD, self.inner.wire.identity_schemas(request)).await {
            Ok(mut reply) => {
                let diagnostics = convert::diagnostics(std::mem::take(&mut reply.diagnostics));
                if has_errors(&diagnostics) {
                    return Err(CallError::NoSchema { diagnostics });
                }
                Ok(reply)
            }
            // Older than identities.
            Err(error) if error.is_unimplemented() => Ok(Default::default()),
            Err(error) => Err(error),
        }
    }

    /// Is this a sound provider configuration? Unknown values are allowed.
    pub async fn validate_provider_config(&self, config: &Value) -> Result<Vec<ProviderDiagnostic>, CallError> {
        let config = self.encode("config", config, TypeOf::Provider, "").await?;
        let call = self.inner.wire.validate_provider_config(config);
        Ok(convert::diagnostics(self.call(CallKind::Validate, "ValidateProviderConfig", call).await?))
    }

    /// Is this a sound configuration of a managed resource? Unknown values are allowed.
    pub async fn validate_resource_config(
        &self,
        type_name: &str,
        config: &Value,
    ) -> Result<Vec<ProviderDiagnostic>, CallError> {
        let request = messages::validate_resource_config::Request {
            type_name: type_name.to_owned(),
            config: self.encode("config", config, TypeOf::Resource, type_name).await?,
            client_capabilities: capabilities(),
        };
        let call = self.inner.wire.validate_resource(request);
        Ok(convert::diagnostics(self.call(CallKind::Validate, "ValidateResourceConfig", call).await?.diagnostics))
    }

    /// Is this a sound configuration of a data source? Unknown values are allowed.
    pub async fn validate_data_config(
        &self,
        type_name: &str,
        config: &Value,
    ) -> Result<Vec<ProviderDiagnostic>, CallError> {
        let request = messages::validate_data_resource_config::Request {
            type_name: type_name.to_owned(),
            config: self.encode("config", config, TypeOf::Data, type_name).await?,
        };
        let call = self.inner.wire.validate_data(request);
        Ok(convert::diagnostics(self.call(CallKind::Validate, "ValidateDataResourceConfig", call).await?.diagnostics))
    }

    /// Is this a sound configuration of an ephemeral resource? Unknown values are allowed.
    pub async fn validate_ephemeral_config(
        &self,
        type_name: &str,
        config: &Value,
    ) -> Result<Vec<ProviderDiagnostic>, CallError> {
        const METHOD: &str = "ValidateEphemeralResourceConfig";
        let request = messages::validate_ephemeral_resource_config::Request {
            type_name: type_name.to_owned(),
            config: self.encode("config", config, TypeOf::Ephemeral, type_name).await?,
        };
        let call = self.inner.wire.validate_ephemeral(request);
        Ok(convert::diagnostics(self.call(CallKind::Validate, METHOD, call).await?.diagnostics))
    }

    /// Makes the provider ready for work. Once a process.
    pub async fn configure(&self, config: &Value) -> Result<Vec<ProviderDiagnostic>, CallError> {
        let request = messages::configure_provider::Request {
            terraform_version: REPORTED_VERSION.to_owned(),
            config: self.encode("config", config, TypeOf::Provider, "").await?,
            client_capabilities: capabilities(),
        };
        let call = self.inner.wire.configure(request);
        Ok(convert::diagnostics(self.call(CallKind::Configure, "ConfigureProvider", call).await?.diagnostics))
    }

    /// Brings a stored object to the current schema version. To be called for every stored object, also of the current
    /// version: only the provider can decode what it once stored.
    pub async fn upgrade_resource_state(
        &self,
        type_name: &str,
        version: u64,
        state: RawState,
    ) -> Result<Reply<Value>, CallError> {
        const METHOD: &str = "UpgradeResourceState";
        let ty = self.ty(TypeOf::Resource, type_name).await?;
        let request = messages::upgrade_resource_state::Request {
            type_name: type_name.to_owned(),
            version: version_number(version),
            raw_state: Some(raw_state(state)),
        };
        let reply = self.call(CallKind::Upgrade, METHOD, self.inner.wire.upgrade_state(request)).await?;
        Ok(Reply {
            value: decode(METHOD, reply.upgraded_state, &ty)?,
            diagnostics: convert::diagnostics(reply.diagnostics),
        })
    }

    /// Brings a stored identity (JSON text) to the current version of its schema.
    pub async fn upgrade_resource_identity(
        &self,
        type_name: &str,
        version: u64,
        identity: Vec<u8>,
    ) -> Result<Reply<Value>, CallError> {
        const METHOD: &str = "UpgradeResourceIdentity";
        let ty = self.ty(TypeOf::Identity, type_name).await?;
        let request = messages::upgrade_resource_identity::Request {
            type_name: type_name.to_owned(),
            version: version_number(version),
            raw_identity: Some(raw_state(RawState::Json(identity))),
        };
        let reply = self.call(CallKind::Upgrade, METHOD, self.inner.wire.upgrade_identity(request)).await?;
        Ok(Reply {
            value: decode(METHOD, reply.upgraded_identity.and_then(|i| i.identity_data), &ty)?,
            diagnostics: convert::diagnostics(reply.diagnostics),
        })
    }

    /// Looks at the real object. Null when it is gone.
    pub async fn read_resource(&self, request: ReadRequest) -> Result<Reply<ObjectState>, CallError> {
        const METHOD: &str = "ReadResource";
        let name = &request.type_name;
        let message = messages::read_resource::Request {
            type_name: name.to_string(),
            current_state: self.encode("current_state", &request.current_state, TypeOf::Resource, name).await?,
            private: request.private,
            provider_meta: self.encode_meta(request.provider_meta.as_ref()).await?,
            client_capabilities: capabilities(),
            current_identity: self.encode_identity(request.identity.as_ref(), name).await?,
        };
        let reply = self.call(CallKind::Read, METHOD, self.inner.wire.read_resource(message)).await?;
        let ty = self.ty(TypeOf::Resource, name).await?;
        Ok(Reply {
            value: ObjectState {
                state: decode(METHOD, reply.new_state, &ty)?,
                private: reply.private,
                identity: self.decode_identity(METHOD, reply.new_identity, name).await?,
            },
            diagnostics: with_deferral(reply.diagnostics, reply.deferred),
        })
    }

    /// What would become of an object.
    pub async fn plan_resource_change(&self, request: PlanRequest) -> Result<Reply<PlannedChange>, CallError> {
        const METHOD: &str = "PlanResourceChange";
        let name = &request.type_name;
        let of = TypeOf::Resource;
        let message = messages::plan_resource_change::Request {
            type_name: name.to_string(),
            prior_state: self.encode("prior_state", &request.prior_state, of, name).await?,
            proposed_new_state: self.encode("proposed_new_state", &request.proposed_new_state, of, name).await?,
            config: self.encode("config", &request.config, of, name).await?,
            prior_private: request.prior_private,
            provider_meta: self.encode_meta(request.provider_meta.as_ref()).await?,
            client_capabilities: capabilities(),
            prior_identity: self.encode_identity(request.prior_identity.as_ref(), name).await?,
        };
        let reply = self.call(CallKind::Plan, METHOD, self.inner.wire.plan_change(message)).await?;
        let ty = self.ty(of, name).await?;
        Ok(Reply {
            value: PlannedChange {
                planned_state: decode(METHOD, reply.planned_state, &ty)?,
                requires_replace: reply.requires_replace.into_iter().map(convert::path).collect(),
                planned_private: reply.planned_private,
                legacy_type_system: reply.legacy_type_system,
                planned_identity: self.decode_identity(METHOD, reply.planned_identity, name).await?,
            },
            diagnostics: with_deferral(reply.diagnostics, reply.deferred),
        })
    }

    /// Changes the world. An error of this function other than one that [`CallError::was_not_sent`] leaves open whether
    /// it did.
    pub async fn apply_resource_change(&self, request: ApplyRequest) -> Result<Reply<AppliedChange>, CallError> {
        const METHOD: &str = "ApplyResourceChange";
        let name = &request.type_name;
        let of = TypeOf::Resource;
        let message = messages::apply_resource_change::Request {
            type_name: name.to_string(),
            prior_state: self.encode("prior_state", &request.prior_state, of, name).await?,
            planned_state: self.encode("planned_state", &request.planned_state, of, name).await?,
            config: self.encode("config", &request.config, of, name).await?,
            planned_private: request.planned_private,
            provider_meta: self.encode_meta(request.provider_meta.as_ref()).await?,
            planned_identity: self.encode_identity(request.planned_identity.as_ref(), name).await?,
        };
        let reply = self.call(CallKind::Apply, METHOD, self.inner.wire.apply_change(message)).await?;
        let ty = self.ty(of, name).await?;
        Ok(Reply {
            value: AppliedChange {
                object: ObjectState {
                    state: decode(METHOD, reply.new_state, &ty)?,
                    private: reply.private,
                    identity: self.decode_identity(METHOD, reply.new_identity, name).await?,
                },
                legacy_type_system: reply.legacy_type_system,
            },
            diagnostics: convert::diagnostics(reply.diagnostics),
        })
    }

    /// Finds an existing object, to be managed from now on. What comes back is to be read next.
    pub async fn import_resource_state(
        &self,
        type_name: &str,
        target: ImportTarget,
    ) -> Result<Reply<Vec<ImportedObject>>, CallError> {
        const METHOD: &str = "ImportResourceState";
        let (id, identity) = match target {
            ImportTarget::Id(id) => (id, None),
            ImportTarget::Identity(identity) => {
                (String::new(), self.encode_identity(Some(&identity), type_name).await?)
            }
        };
        let message = messages::import_resource_state::Request {
            type_name: type_name.to_owned(),
            id,
            client_capabilities: capabilities(),
            identity,
        };
        let reply = self.call(CallKind::Read, METHOD, self.inner.wire.import_state(message)).await?;
        let mut objects = Vec::with_capacity(reply.imported_resources.len());
        for imported in reply.imported_resources {
            let type_name = SmolStr::from(imported.type_name);
            let ty = self.ty(TypeOf::Resource, &type_name).await.map_err(|e| undecodable(METHOD, e))?;
            objects.push(ImportedObject {
                object: ObjectState {
                    state: decode(METHOD, imported.state, &ty)?,
                    private: imported.private,
                    identity: self.decode_identity(METHOD, imported.identity, &type_name).await?,
                },
                type_name,
            });
        }
        Ok(Reply { value: objects, diagnostics: with_deferral(reply.diagnostics, reply.deferred) })
    }

    /// Turns a stored object of another type into one of this provider's. Providers that cannot answer with
    /// [`StatusCode::Unimplemented`].
    pub async fn move_resource_state(&self, request: MoveRequest) -> Result<Reply<ObjectState>, CallError> {
        const METHOD: &str = "MoveResourceState";
        let name = &request.target_type_name;
        let ty = self.ty(TypeOf::Resource, name).await?;
        let (identity, identity_version) = request.source_identity.unzip();
        let message = messages::move_resource_state::Request {
            source_provider_address: request.source_provider,
            source_type_name: request.source_type_name.to_string(),
            source_schema_version: version_number(request.source_schema_version),
            source_state: Some(raw_state(request.source_state)),
            target_type_name: name.to_string(),
            source_private: request.source_private,
            source_identity: identity.map(|json| raw_state(RawState::Json(json))),
            source_identity_schema_version: version_number(identity_version.unwrap_or_default()),
        };
        let reply = self.call(CallKind::Upgrade, METHOD, self.inner.wire.move_state(message)).await?;
        Ok(Reply {
            value: ObjectState {
                state: decode(METHOD, reply.target_state, &ty)?,
                private: reply.target_private,
                identity: self.decode_identity(METHOD, reply.target_identity, name).await?,
            },
            diagnostics: convert::diagnostics(reply.diagnostics),
        })
    }

    /// Reads a data source.
    pub async fn read_data_source(
        &self,
        type_name: &str,
        config: &Value,
        provider_meta: Option<&Value>,
    ) -> Result<Reply<Value>, CallError> {
        const METHOD: &str = "ReadDataSource";
        let message = messages::read_data_source::Request {
            type_name: type_name.to_owned(),
            config: self.encode("config", config, TypeOf::Data, type_name).await?,
            provider_meta: self.encode_meta(provider_meta).await?,
            client_capabilities: capabilities(),
        };
        let reply = self.call(CallKind::Data, METHOD, self.inner.wire.read_data(message)).await?;
        let ty = self.ty(TypeOf::Data, type_name).await?;
        Ok(Reply {
            value: decode(METHOD, reply.state, &ty)?,
            diagnostics: with_deferral(reply.diagnostics, reply.deferred),
        })
    }

    /// Opens an ephemeral object.
    pub async fn open_ephemeral(&self, type_name: &str, config: &Value) -> Result<Reply<OpenedEphemeral>, CallError> {
        const METHOD: &str = "OpenEphemeralResource";
        let message = messages::open_ephemeral_resource::Request {
            type_name: type_name.to_owned(),
            config: self.encode("config", config, TypeOf::Ephemeral, type_name).await?,
            client_capabilities: capabilities(),
        };
        let reply = self.call(CallKind::Ephemeral, METHOD, self.inner.wire.open_ephemeral(message)).await?;
        let ty = self.ty(TypeOf::Ephemeral, type_name).await?;
        Ok(Reply {
            value: OpenedEphemeral {
                result: decode(METHOD, reply.result, &ty)?,
                private: reply.private,
                renew_at: time(METHOD, reply.renew_at)?,
            },
            diagnostics: with_deferral(reply.diagnostics, reply.deferred),
        })
    }

    /// Keeps an ephemeral object open.
    pub async fn renew_ephemeral(
        &self,
        type_name: &str,
        private: Option<Vec<u8>>,
    ) -> Result<Reply<RenewedEphemeral>, CallError> {
        const METHOD: &str = "RenewEphemeralResource";
        let message = messages::renew_ephemeral_resource::Request { type_name: type_name.to_owned(), private };
        let reply = self.call(CallKind::Ephemeral, METHOD, self.inner.wire.renew_ephemeral(message)).await?;
        Ok(Reply {
            value: RenewedEphemeral { private: reply.private, renew_at: time(METHOD, reply.renew_at)? },
            diagnostics: convert::diagnostics(reply.diagnostics),
        })
    }

    /// Closes an ephemeral object.
    pub async fn close_ephemeral(
        &self,
        type_name: &str,
        private: Option<Vec<u8>>,
    ) -> Result<Vec<ProviderDiagnostic>, CallError> {
        const METHOD: &str = "CloseEphemeralResource";
        let message = messages::close_ephemeral_resource::Request { type_name: type_name.to_owned(), private };
        let reply = self.call(CallKind::Ephemeral, METHOD, self.inner.wire.close_ephemeral(message)).await?;
        Ok(convert::diagnostics(reply.diagnostics))
    }

    /// The functions of this process: some providers have more of them once configured.
    pub async fn get_functions(&self) -> Result<Reply<Functions>, CallError> {
        const METHOD: &str = "GetFunctions";
        let call = self.inner.wire.functions(messages::get_functions::Request {});
        let reply = self.call(CallKind::Schema, METHOD, call).await?;
        Ok(Reply {
            value: convert::functions(reply.functions).map_err(|e| undecodable(METHOD, e))?,
            diagnostics: convert::diagnostics(reply.diagnostics),
        })
    }

    /// Calls a function of the schema. The inner error is the function's own.
    pub async fn call_function(
        &self,
        name: &str,
        arguments: &[Value],
    ) -> Result<Result<Value, FunctionFailure>, CallError> {
        const METHOD: &str = "CallFunction";
        let schema = self.schema().await?;
        let Some(signature) = schema.functions.get(name) else {
            return Err(CallError::UnknownType { what: "function", name: name.into() });
        };
        let unencodable = |reason| CallError::Unencodable { argument: "arguments", reason };
        let count = signature.parameters.len();
        if arguments.len() < count || (arguments.len() > count && signature.variadic.is_none()) {
            return Err(unencodable(format!("{name} takes {count} arguments, not {}", arguments.len())));
        }
        let parameters = signature.parameters.iter().chain(signature.variadic.iter().cycle());
        let message = messages::call_function::Request {
            name: name.to_owned(),
            arguments: arguments
                .iter()
                .zip(parameters)
                .map(|(value, parameter)| wire_value::encode(value, &parameter.ty).map_err(unencodable))
                .collect::<Result<_, _>>()?,
        };
        let reply = self.call(CallKind::Function, METHOD, self.inner.wire.call_function(message)).await?;
        match reply.error {
            Some(error) => Ok(Err(FunctionFailure {
                text: error.text,
                argument: error.function_argument.and_then(|n| u64::try_from(n).ok()),
            })),
            None => Ok(Ok(decode(METHOD, reply.result, &signature.result)?)),
        }
    }

    /// Asks running calls to end early. The reply is the provider's objection, if it has one.
    pub async fn stop(&self) -> Result<Option<String>, CallError> {
        let reply = self.call(CallKind::Stop, "StopProvider", self.inner.wire.stop(messages::stop_provider::Request {}));
        let error = reply.await?.error;
        Ok((!error.is_empty()).then_some(error))
    }

    /// Ends the process: in good order if it answers within [`CLOSE_DEADLINE`], by force otherwise. No call can be made
    /// any more, on any clone. Returns once the process is gone.
    pub async fn close(&self) {
        self.inner.closed.store(true, Ordering::Release);
        let ended = self.inner.process.wait();
        let orderly = async {
            let mut controller = GrpcControllerClient::new(self.inner.channel.clone());
            // The process may be gone before it answers.
            let _ = controller.shutdown(plugin::Empty {}).await;
            ended.await
        };
        if tokio::time::timeout(CLOSE_DEADLINE, orderly).await.is_err() {
            tracing::warn!(plugin = %self.inner.name, "the plugin did not end when asked to; it is killed");
            self.inner.process.kill();
            self.inner.process.wait().await;
        }
    }

    /// Makes one call, within its deadline, while the process lives.
    async fn call<T>(
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
        // A status that the plugin sent has no source; one made on our side of the connection has.
        if std::error::Error::source(&status).is_some() {
            return match tokio::time::timeout(END_AFTER_BREAK, self.inner.process.wait()).await {
                Ok(end) => self.crashed(method, end),
                Err(_) => CallError::Transport { method, reason: launch::causes(&status) },
            };
        }
        CallError::Status { method, code: status_code(status.code()), message }
    }

    fn log(&self, method: &str, diagnostics: &[ProviderDiagnostic]) {
        for d in diagnostics {
            tracing::warn!(plugin = %self.inner.name, method, "{}: {}", d.summary, d.detail);
        }
    }

    async fn ty(&self, of: TypeOf, name: &str) -> Result<Type, CallError> {
        let key = (of, SmolStr::from(name));
        if let Some(ty) = self.inner.types.lock().get(&key) {
            return Ok(ty.clone());
        }
        let schema = self.schema().await?;
        let block = |s: &weft_graph_format::schema::Schema| s.block.implied_type();
        let (what, ty) = match of {
            TypeOf::Provider => ("provider configuration", Some(block(&schema.provider))),
            TypeOf::ProviderMeta => ("provider_meta", Some(block(&schema.provider_meta))),
            TypeOf::Resource => ("resource type", schema.resources.get(name).map(block)),
            TypeOf::Data => ("data source", schema.data_sources.get(name).map(block)),
            TypeOf::Ephemeral => ("ephemeral resource type", schema.ephemeral.get(name).map(block)),
            TypeOf::Identity => {
                let attributes = |s: &weft_graph_format::schema::IdentitySchema| {
                    Type::object(s.attributes.iter().map(|(name, a)| (name.clone(), a.ty.clone())))
                };
                ("resource identity", schema.identities.get(name).map(attributes))
            }
        };
        let ty = ty.ok_or_else(|| CallError::UnknownType { what, name: name.into() })?;
        self.inner.types.lock().insert(key, ty.clone());
        Ok(ty)
    }

    async fn encode(
        &self,
        argument: &'static str,
        value: &Value,
        of: TypeOf,
        name: &str,
    ) -> Result<Option<messages::DynamicValue>, CallError> {
        let ty = self.ty(of, name).await?;
        match wire_value::encode(value, &ty) {
            Ok(encoded) => Ok(Some(encoded)),
            Err(reason) => Err(CallError::Unencodable { argument, reason }),
        }
    }

    async fn encode_meta(&self, value: Option<&Value>) -> Result<Option<messages::DynamicValue>, CallError> {
        match value {
            Some(value) => self.encode("provider_meta", value, TypeOf::ProviderMeta, "").await,
            None => Ok(None),
        }
    }

    async fn encode_identity(
        &self,
        value: Option<&Value>,
        type_name: &str,
    ) -> Result<Option<messages::ResourceIdentityData>, CallError> {
        let Some(value) = value else { return Ok(None) };
        let identity_data = self.encode("identity", value, TypeOf::Identity, type_name).await?;
        Ok(Some(messages::ResourceIdentityData { identity_data }))
    }

    /// An identity for a type that has no identity schema is of no use to anybody, and dropped.
    async fn decode_identity(
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

/// Logs what the plugin writes to its standard streams through go-plugin's own channel. It must be read: a plugin waits
/// for its reader.
fn relay_output(channel: Channel, name: String) {
    tokio::spawn(async move {
        // Plugins that are not written in Go may not have this service.
        let Ok(stream) = GrpcStdioClient::new(channel).stream_stdio(()).await else { return };
        let mut stream = stream.into_inner();
        while let Ok(Some(data)) = stream.message().await {
            for line in String::from_utf8_lossy(&data.data).lines() {
                plugin_log::relay(&name, line);
            }
        }
    });
}

fn capabilities() -> Option<messages::ClientCapabilities> {
    Some(messages::ClientCapabilities { deferral_allowed: false, write_only_attributes_allowed: true })
}

fn raw_state(state: RawState) -> messages::RawState {
    match state {
        RawState::Json(json) => messages::RawState { json, flatmap: HashMap::new() },
        RawState::Flatmap(map) => messages::RawState { json: Vec::new(), flatmap: map.into_iter().collect() },
    }
}

fn version_number(version: u64) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}

fn undecodable(method: &'static str, reason: impl std::fmt::Display) -> CallError {
    CallError::Undecodable { method, reason: reason.to_string() }
}

fn decode(method: &'static str, value: Option<messages::DynamicValue>, ty: &Type) -> Result<Value, CallError> {
    wire_value::decode(value, ty).map_err(|reason| undecodable(method, reason))
}

fn time(method: &'static str, stamp: Option<prost_types::Timestamp>) -> Result<Option<SystemTime>, CallError> {
    stamp.map(|s| SystemTime::try_from(s).map_err(|e| undecodable(method, e))).transpose()
}

/// We do not allow deferrals, so a provider that defers nevertheless is in error.
fn with_deferral(
    from: Vec<messages::Diagnostic>,
    deferred: Option<messages::Deferred>,
) -> Vec<ProviderDiagnostic> {
    let mut diagnostics = convert::diagnostics(from);
    if let Some(deferred) = deferred {
        let detail = format!(
            "The provider put the work off ({}), though it was told that this is not supported. This is a bug in the \
             provider, which should be reported in the provider's own issue tracker.",
            deferred.reason().as_str_name()
        );
        diagnostics.push(ProviderDiagnostic::error("Provider deferred changes", detail));
    }
    diagnostics
}

fn status_code(code: Code) -> StatusCode {
    match code {
        Code::Cancelled => StatusCode::Cancelled,
        // A status of OK does not come as an error.
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
