//! One running plugin and its calls. This file has the calls that concern the provider as a whole.

mod data;
mod exchange;
mod managed;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use smol_str::SmolStr;
use tokio::sync::OnceCell;
use tonic::transport::Channel;
use weft_graph_format::schema::ProviderSchema;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_proto::plugin::grpc_controller_client::GrpcControllerClient;
use weft_proto::plugin::grpc_stdio_client::GrpcStdioClient;
use weft_proto::{plugin, tfplugin6 as messages};

use crate::call::{CallError, CallKind, Deadlines};
use crate::convert;
use crate::diagnostic::{ProviderDiagnostic, has_errors};
use crate::handshake::Protocol;
use crate::launch::{self, LaunchError, LaunchSpec};
use crate::plugin_log;
use crate::process::PluginProcess;
use crate::schema_cache::SchemaCache;
use crate::wire::Wire;
use exchange::capabilities;

/// The engine version that providers receive when they are configured: the version of the OpenTofu release whose
/// behavior Weft follows. Some providers behave differently with other versions.
pub const REPORTED_VERSION: &str = "1.12.6";

/// The time that a plugin has to end gracefully before it is killed.
pub const CLOSE_DEADLINE: Duration = Duration::from_secs(2);

/// Options of a session.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// The deadlines for replies.
    pub deadlines: Deadlines,
    /// The schema cache, and the checksum of this plugin's package.
    pub schema_cache: Option<(Arc<SchemaCache>, String)>,
}

/// A running plugin. Cheap to clone; the process ends when the last clone is dropped, or at [`ProviderSession::close`].
///
/// All values have the types that the schema implies. Marks are not sent, but unknown values are sent.
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
    /// Starts a plugin and connects to it. No call is made yet.
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
            }),
        })
    }

    /// The provider's name, as given at launch.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The protocol that the plugin uses.
    pub fn protocol(&self) -> Protocol {
        self.inner.protocol
    }

    /// The process id of the plugin.
    pub fn pid(&self) -> u32 {
        self.inner.process.pid()
    }

    /// Whether the plugin can still be called.
    pub fn is_alive(&self) -> bool {
        !self.inner.closed.load(Ordering::Acquire) && self.inner.process.ended().is_none()
    }

    /// The schema: from this process, or from the cache if the provider sets `schema_optional`.
    pub async fn schema(&self) -> Result<Arc<ProviderSchema>, CallError> {
        // On the heap: every encoding needs the schema, but only the first caller loads it.
        self.inner.schema.get_or_try_init(|| Box::pin(self.load_schema())).await.cloned()
    }

    async fn load_schema(&self) -> Result<Arc<ProviderSchema>, CallError> {
        const METHOD: &str = "GetProviderSchema";
        let cache = self.inner.options.schema_cache.as_ref();
        let cached = match cache {
            Some((cache, checksum)) => cache.load(checksum).await,
            None => None,
        };
        if let Some(schema) = cached.as_ref().filter(|schema| schema.schema_optional) {
            return Ok(schema.clone());
        }
        // Providers without `schema_optional` may initialize themselves in this call. So a new process must receive the
        // call even if the schema is cached.
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
        // The largest schemas have tens of megabytes, so this runs on a blocking thread.
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
            // The plugin's version of the protocol is older than identities.
            Err(error) if error.is_unimplemented() => Ok(Default::default()),
            Err(error) => Err(error),
        }
    }

    /// Validates a provider configuration. Unknown values are allowed.
    pub async fn validate_provider_config(&self, config: &Value) -> Result<Vec<ProviderDiagnostic>, CallError> {
        let config = self.encode("config", config, TypeOf::Provider, "").await?;
        let call = self.inner.wire.validate_provider_config(config);
        Ok(convert::diagnostics(self.call(CallKind::Validate, "ValidateProviderConfig", call).await?))
    }

    /// Configures the provider. Called once for each process.
    pub async fn configure(&self, config: &Value) -> Result<Vec<ProviderDiagnostic>, CallError> {
        let request = messages::configure_provider::Request {
            terraform_version: REPORTED_VERSION.to_owned(),
            config: self.encode("config", config, TypeOf::Provider, "").await?,
            client_capabilities: capabilities(),
        };
        let call = self.inner.wire.configure(request);
        Ok(convert::diagnostics(self.call(CallKind::Configure, "ConfigureProvider", call).await?.diagnostics))
    }

    /// Asks running calls to end early. The reply is the error that the provider returned, or `None`.
    pub async fn stop(&self) -> Result<Option<String>, CallError> {
        let reply =
            self.call(CallKind::Stop, "StopProvider", self.inner.wire.stop(messages::stop_provider::Request {}));
        let error = reply.await?.error;
        Ok((!error.is_empty()).then_some(error))
    }

    /// Ends the process: gracefully if it responds within [`CLOSE_DEADLINE`], otherwise by force. No clone can make
    /// calls afterwards. Returns once the process has ended.
    pub async fn close(&self) {
        self.inner.closed.store(true, Ordering::Release);
        let ended = self.inner.process.wait();
        let orderly = async {
            let mut controller = GrpcControllerClient::new(self.inner.channel.clone());
            // The process may end before it responds.
            let _ = controller.shutdown(plugin::Empty {}).await;
            ended.await
        };
        if tokio::time::timeout(CLOSE_DEADLINE, orderly).await.is_err() {
            tracing::warn!(plugin = %self.inner.name, "the plugin did not end when asked to; it is killed");
            self.inner.process.kill();
            self.inner.process.wait().await;
        }
        tracing::debug!(plugin = %self.inner.name, "plugin ended");
    }
}

/// Logs the output that the plugin sends through go-plugin's own channel. The channel must be read, because otherwise
/// the plugin blocks.
fn relay_output(channel: Channel, name: String) {
    tokio::spawn(async move {
        // Plugins that are not written in Go may lack this service.
        let Ok(stream) = GrpcStdioClient::new(channel).stream_stdio(()).await else { return };
        let mut stream = stream.into_inner();
        while let Ok(Some(data)) = stream.message().await {
            for line in String::from_utf8_lossy(&data.data).lines() {
                plugin_log::relay(&name, line);
            }
        }
    });
}
