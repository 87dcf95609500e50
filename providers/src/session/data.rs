//! Calls for data sources, ephemeral resources and functions.

use std::time::SystemTime;

use weft_graph_format::value::Value;
use weft_proto::tfplugin6 as messages;

use super::exchange::{capabilities, decode, undecodable, with_deferral};
use super::{ProviderSession, TypeOf};
use crate::call::{CallError, CallKind, FunctionFailure, Functions, OpenedEphemeral, RenewedEphemeral, Reply};
use crate::convert;
use crate::diagnostic::ProviderDiagnostic;
use crate::wire_value;

impl ProviderSession {
    /// Validates a configuration of a data source. Unknown values are allowed.
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

    /// Validates a configuration of an ephemeral resource. Unknown values are allowed.
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

    /// Renews an ephemeral object, so that it stays open.
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

    /// The functions of this process. Some providers have more functions after they are configured.
    pub async fn get_functions(&self) -> Result<Reply<Functions>, CallError> {
        const METHOD: &str = "GetFunctions";
        let call = self.inner.wire.functions(messages::get_functions::Request {});
        let reply = self.call(CallKind::Schema, METHOD, call).await?;
        Ok(Reply {
            value: convert::functions(reply.functions).map_err(|e| undecodable(METHOD, e))?,
            diagnostics: convert::diagnostics(reply.diagnostics),
        })
    }

    /// Calls a function of the schema. The inner error comes from the function itself.
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
                .map(|(value, parameter)| wire_value::encode(value, &parameter.ty))
                .collect::<Result<_, _>>()
                .map_err(|error| unencodable(error.to_string()))?,
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
}

fn time(method: &'static str, stamp: Option<prost_types::Timestamp>) -> Result<Option<SystemTime>, CallError> {
    stamp.map(|s| SystemTime::try_from(s).map_err(|e| undecodable(method, e))).transpose()
}
