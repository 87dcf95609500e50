//! The clients of both protocols, with one set of calls. The messages are those of protocol 6. If protocol 5 has
//! another name for a call, this module translates it.

use prost::Message as _;
use tonic::transport::Channel;
use tonic::{Response, Status};
use weft_graph_format::schema::ProviderSchema;
use weft_proto::tfplugin5::provider_client::ProviderClient as Client5;
use weft_proto::tfplugin6::provider_client::ProviderClient as Client6;
use weft_proto::{tfplugin5, tfplugin6};

use crate::convert::{self, ConvertError};
use crate::handshake::Protocol;

/// The maximum size of a schema. The largest provider has a schema of 40 MiB, and OpenTofu's limit is 64 MiB.
pub const MAX_SCHEMA_REPLY: usize = 128 * 1024 * 1024;

/// The maximum size of any other reply: one object with its private data. Real objects are far smaller, so a larger
/// reply is a bug in the plugin.
pub const MAX_REPLY: usize = 256 * 1024 * 1024;

/// A connection with one of the protocols.
#[derive(Clone)]
pub(crate) enum Wire {
    V5(Client5<Channel>),
    V6(Client6<Channel>),
}

macro_rules! calls {
    ($($name:ident($request:ident) = $five:ident / $six:ident;)*) => {
        $(pub(crate) async fn $name(
            &self,
            request: tfplugin6::$request::Request,
        ) -> Result<tfplugin6::$request::Response, Status> {
            match self {
                Wire::V5(client) => client.clone().$five(request).await,
                Wire::V6(client) => client.clone().$six(request).await,
            }
            .map(Response::into_inner)
        })*
    };
}

impl Wire {
    pub(crate) fn new(protocol: Protocol, channel: Channel) -> Wire {
        match protocol {
            Protocol::V5 => Wire::V5(
                Client5::new(channel).max_decoding_message_size(MAX_REPLY).max_encoding_message_size(MAX_REPLY),
            ),
            Protocol::V6 => Wire::V6(
                Client6::new(channel).max_decoding_message_size(MAX_REPLY).max_encoding_message_size(MAX_REPLY),
            ),
        }
    }

    pub(crate) async fn schema(&self) -> Result<SchemaReply, Status> {
        match self {
            Wire::V5(client) => {
                let mut client = client.clone().max_decoding_message_size(MAX_SCHEMA_REPLY);
                client
                    .get_schema(tfplugin5::get_provider_schema::Request {})
                    .await
                    .map(|r| SchemaReply::V5(r.into_inner()))
            }
            Wire::V6(client) => {
                let mut client = client.clone().max_decoding_message_size(MAX_SCHEMA_REPLY);
                let reply = client.get_provider_schema(tfplugin6::get_provider_schema::Request {}).await;
                reply.map(|r| SchemaReply::V6(r.into_inner()))
            }
        }
    }

    pub(crate) async fn validate_provider_config(
        &self,
        config: Option<tfplugin6::DynamicValue>,
    ) -> Result<Vec<tfplugin6::Diagnostic>, Status> {
        match self {
            Wire::V5(client) => {
                let request = tfplugin5::prepare_provider_config::Request { config };
                client.clone().prepare_provider_config(request).await.map(|r| r.into_inner().diagnostics)
            }
            Wire::V6(client) => {
                let request = tfplugin6::validate_provider_config::Request { config };
                client.clone().validate_provider_config(request).await.map(|r| r.into_inner().diagnostics)
            }
        }
    }

    calls! {
        identity_schemas(get_resource_identity_schemas)
            = get_resource_identity_schemas / get_resource_identity_schemas;
        functions(get_functions) = get_functions / get_functions;
        call_function(call_function) = call_function / call_function;
        validate_resource(validate_resource_config) = validate_resource_type_config / validate_resource_config;
        validate_data(validate_data_resource_config) = validate_data_source_config / validate_data_resource_config;
        validate_ephemeral(validate_ephemeral_resource_config)
            = validate_ephemeral_resource_config / validate_ephemeral_resource_config;
        upgrade_state(upgrade_resource_state) = upgrade_resource_state / upgrade_resource_state;
        upgrade_identity(upgrade_resource_identity) = upgrade_resource_identity / upgrade_resource_identity;
        configure(configure_provider) = configure / configure_provider;
        read_resource(read_resource) = read_resource / read_resource;
        plan_change(plan_resource_change) = plan_resource_change / plan_resource_change;
        apply_change(apply_resource_change) = apply_resource_change / apply_resource_change;
        import_state(import_resource_state) = import_resource_state / import_resource_state;
        move_state(move_resource_state) = move_resource_state / move_resource_state;
        read_data(read_data_source) = read_data_source / read_data_source;
        open_ephemeral(open_ephemeral_resource) = open_ephemeral_resource / open_ephemeral_resource;
        renew_ephemeral(renew_ephemeral_resource) = renew_ephemeral_resource / renew_ephemeral_resource;
        close_ephemeral(close_ephemeral_resource) = close_ephemeral_resource / close_ephemeral_resource;
        stop(stop_provider) = stop / stop_provider;
    }
}

/// A provider's schema as received. The cache stores it in this form.
#[derive(Clone, Debug)]
pub(crate) enum SchemaReply {
    V5(tfplugin5::get_provider_schema::Response),
    V6(tfplugin6::get_provider_schema::Response),
}

impl SchemaReply {
    pub(crate) fn protocol(&self) -> Protocol {
        match self {
            SchemaReply::V5(_) => Protocol::V5,
            SchemaReply::V6(_) => Protocol::V6,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            SchemaReply::V5(reply) => reply.encode_to_vec(),
            SchemaReply::V6(reply) => reply.encode_to_vec(),
        }
    }

    pub(crate) fn decode(protocol: Protocol, bytes: &[u8]) -> Result<SchemaReply, prost::DecodeError> {
        Ok(match protocol {
            Protocol::V5 => SchemaReply::V5(tfplugin5::get_provider_schema::Response::decode(bytes)?),
            Protocol::V6 => SchemaReply::V6(tfplugin6::get_provider_schema::Response::decode(bytes)?),
        })
    }

    /// Removes and returns the provider's diagnostics.
    pub(crate) fn take_diagnostics(&mut self) -> Vec<tfplugin6::Diagnostic> {
        match self {
            SchemaReply::V5(reply) => std::mem::take(&mut reply.diagnostics),
            SchemaReply::V6(reply) => std::mem::take(&mut reply.diagnostics),
        }
    }

    /// Converts the schema and the identities to Weft's types.
    pub(crate) fn convert(
        self,
        identities: tfplugin6::get_resource_identity_schemas::Response,
    ) -> Result<ProviderSchema, ConvertError> {
        let mut schema = match self {
            SchemaReply::V5(reply) => convert::tfplugin5::provider_schema(reply)?,
            SchemaReply::V6(reply) => convert::tfplugin6::provider_schema(reply)?,
        };
        schema.identities = convert::identities(identities.identity_schemas)?;
        Ok(schema)
    }
}
