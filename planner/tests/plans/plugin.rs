//! `test`, a provider for tests. Its server runs inside the test, so the test decides which objects really exist.
//!
//! | type | behavior |
//! |---|---|
//! | `test_thing` | `kind` requires replacement, `size` has a default, `secret` is sensitive, `password` write-only |
//! | `test_other` | like `test_thing`. Objects of `test_thing` can be moved to it |
//! | `data.test_look` | `answer` is derived from `name` |
//! | `ephemeral.test_token` | `token` is derived from `name` |
//!
//! Some values of `name` cause problems: see the constants.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;
use tonic::{Request, Response, Status};
use weft_graph_format::codec::{json, msgpack, type_json};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_proto::tfplugin6::attribute_path::step::Selector;
use weft_proto::tfplugin6::provider_server::{Provider, ProviderServer};
use weft_proto::tfplugin6::schema::{Attribute, Block};
use weft_proto::tfplugin6::*;
use weft_providers::{LaunchSpec, Plugin};

/// A name that the provider refuses when it plans, validates, reads or opens.
pub const REFUSED: &str = "refused";
/// A name that the provider accepts with a warning.
pub const DOUBTED: &str = "doubted";
/// A name for which the provider plans another value, which no provider may do.
pub const CHANGED: &str = "changed";
/// A name of an object that the provider refuses to delete.
pub const KEPT: &str = "kept";
/// The schema version of the provider's resources.
pub const VERSION: u64 = 1;

/// The real objects by id, as JSON. `None` if the object no longer exists. All other objects are as the state has them.
pub type World = Arc<Mutex<BTreeMap<String, Option<String>>>>;

/// The use of an attribute.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Computed,
    Optional,
    /// Optional, with a default from the provider.
    Defaulted,
    Required,
    Sensitive,
    WriteOnly,
    /// Optional and deprecated.
    Deprecated,
}

type Attributes = Vec<(&'static str, Type, Use)>;

fn thing() -> Attributes {
    vec![
        ("id", Type::String, Use::Computed),
        ("kind", Type::String, Use::Optional),
        ("name", Type::String, Use::Optional),
        ("old", Type::String, Use::Deprecated),
        ("password", Type::String, Use::WriteOnly),
        ("secret", Type::String, Use::Sensitive),
        ("size", Type::Number, Use::Defaulted),
        ("tags", Type::map(Type::String), Use::Optional),
    ]
}

fn look() -> Attributes {
    vec![("answer", Type::String, Use::Computed), ("name", Type::String, Use::Required)]
}

fn token() -> Attributes {
    vec![("name", Type::String, Use::Optional), ("token", Type::String, Use::Computed)]
}

fn ty(attributes: Attributes) -> Type {
    Type::object(attributes.into_iter().map(|(name, ty, _)| (name, ty)))
}

/// The names of the attributes of a `test_thing`.
pub fn names() -> Vec<&'static str> {
    thing().into_iter().map(|(name, ..)| name).collect()
}

fn schema(version: u64, attributes: Attributes) -> Schema {
    let attribute = |(name, ty, kind): (&str, Type, Use)| Attribute {
        name: name.into(),
        r#type: type_json::encode(&ty).into_bytes(),
        required: kind == Use::Required,
        optional: !matches!(kind, Use::Required | Use::Computed),
        computed: matches!(kind, Use::Computed | Use::Defaulted),
        sensitive: kind == Use::Sensitive,
        write_only: kind == Use::WriteOnly,
        deprecated: kind == Use::Deprecated,
        ..Attribute::default()
    };
    let attributes = attributes.into_iter().map(attribute).collect();
    Schema { version: version as i64, block: Some(Block { attributes, ..Block::default() }) }
}

fn decode(value: Option<DynamicValue>, ty: &Type) -> Value {
    let bytes = value.map(|value| value.msgpack).unwrap_or_default();
    msgpack::decode(&bytes, ty).expect("a value of the type")
}

fn encode(value: &Value, ty: &Type) -> Option<DynamicValue> {
    let msgpack = msgpack::encode(value, ty).expect("a value of the type");
    Some(DynamicValue { msgpack, json: Vec::new() })
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.as_fields()?.get(name)?.as_str()
}

/// The value with one attribute replaced.
fn with(value: &Value, name: &str, new: Value) -> Value {
    let fields = value.as_fields().expect("an object").iter();
    Value::object(fields.map(|(own, old)| (own.clone(), if own == name { new.clone() } else { old.clone() })))
}

fn at(name: &str) -> AttributePath {
    let step = attribute_path::Step { selector: Some(Selector::AttributeName(name.into())) };
    AttributePath { steps: vec![step] }
}

/// The diagnostics for an object with this name.
fn said(value: &Value) -> Vec<Diagnostic> {
    let say = |severity: diagnostic::Severity, summary: &str| {
        let (summary, detail) = (summary.to_owned(), String::from("The name says so."));
        vec![Diagnostic { severity: severity.into(), summary, detail, attribute: Some(at("name")) }]
    };
    match text(value, "name") {
        Some(REFUSED) => say(diagnostic::Severity::Error, "Refused by the provider"),
        Some(DOUBTED) => say(diagnostic::Severity::Warning, "Doubted by the provider"),
        _ => Vec::new(),
    }
}

struct Server(World);

impl Server {
    fn get_provider_schema(&self, _: get_provider_schema::Request) -> get_provider_schema::Response {
        let parameter = function::Parameter {
            name: "text".into(),
            r#type: type_json::encode(&Type::String).into_bytes(),
            ..function::Parameter::default()
        };
        let shout = Function {
            parameters: vec![parameter],
            r#return: Some(function::Return { r#type: type_json::encode(&Type::String).into_bytes() }),
            ..Function::default()
        };
        get_provider_schema::Response {
            provider: Some(schema(0, vec![("region", Type::String, Use::Optional)])),
            provider_meta: Some(schema(0, vec![("note", Type::String, Use::Required)])),
            resource_schemas: ["test_thing", "test_other"].map(|name| (name.into(), schema(VERSION, thing()))).into(),
            data_source_schemas: [("test_look".into(), schema(0, look()))].into(),
            ephemeral_resource_schemas: [("test_token".into(), schema(0, token()))].into(),
            functions: [("shout".into(), shout)].into(),
            server_capabilities: Some(ServerCapabilities {
                plan_destroy: true,
                move_resource_state: true,
                ..ServerCapabilities::default()
            }),
            ..get_provider_schema::Response::default()
        }
    }

    fn configure_provider(&self, request: configure_provider::Request) -> configure_provider::Response {
        let config = decode(request.config, &ty(vec![("region", Type::String, Use::Optional)]));
        let region = text(&config, "region").map_or(Value::null(Type::String), Value::string);
        configure_provider::Response { diagnostics: said(&Value::object([("name", region)])) }
    }

    fn validate_resource_config(
        &self,
        request: validate_resource_config::Request,
    ) -> validate_resource_config::Response {
        let diagnostics = match decode(request.config, &ty(thing())) {
            config if text(&config, "kind") == Some(REFUSED) => said(&with(&config, "name", Value::string(REFUSED))),
            _ => Vec::new(),
        };
        validate_resource_config::Response { diagnostics }
    }

    fn upgrade_resource_state(&self, request: upgrade_resource_state::Request) -> upgrade_resource_state::Response {
        let stored = request.raw_state.expect("a stored object").json;
        let found = json::decode(&stored, &ty(thing())).expect("an object of the type");
        // The first version had no names.
        let found = if request.version == 0 { with(&found, "name", Value::string("upgraded")) } else { found };
        upgrade_resource_state::Response { upgraded_state: encode(&found, &ty(thing())), diagnostics: Vec::new() }
    }

    fn read_resource(&self, request: read_resource::Request) -> read_resource::Response {
        let ty = ty(thing());
        let known = decode(request.current_state, &ty);
        let found = match self.0.lock().get(text(&known, "id").unwrap_or_default()) {
            None => known,
            Some(None) => Value::null(ty.clone()),
            Some(Some(real)) => json::decode(real.as_bytes(), &ty).expect("an object of the type"),
        };
        read_resource::Response {
            new_state: encode(&found, &ty),
            diagnostics: if text(&found, "kind") == Some("unreadable") {
                said(&with(&found, "name", Value::string(REFUSED)))
            } else {
                Vec::new()
            },
            private: request.private,
            ..read_resource::Response::default()
        }
    }

    fn plan_resource_change(&self, request: plan_resource_change::Request) -> plan_resource_change::Response {
        let ty = ty(thing());
        let (prior, config) = (decode(request.prior_state, &ty), decode(request.config, &ty));
        let mut planned = decode(request.proposed_new_state, &ty);
        let mut response = plan_resource_change::Response {
            planned_private: request.prior_private,
            ..plan_resource_change::Response::default()
        };
        if planned.is_null() {
            if text(&prior, "name") == Some(KEPT) {
                response.diagnostics = said(&with(&prior, "name", Value::string(REFUSED)));
            }
        } else {
            let field = |value: &Value, name: &str| value.as_fields().and_then(|fields| fields.get(name).cloned());
            if prior.is_null() {
                planned = with(&planned, "id", Value::unknown(Type::String));
                if field(&config, "size").is_some_and(|size| size.is_null()) {
                    planned = with(&planned, "size", Value::unknown(Type::Number));
                }
            } else if field(&prior, "kind") != field(&planned, "kind") {
                response.requires_replace = vec![at("kind")];
            }
            if text(&planned, "name") == Some(CHANGED) {
                planned = with(&planned, "name", Value::string("another name"));
            }
            response.diagnostics = said(&planned);
            planned = with(&planned, "password", Value::null(Type::String));
        }
        response.planned_state = encode(&planned, &ty);
        response
    }

    fn import_resource_state(&self, request: import_resource_state::Request) -> import_resource_state::Response {
        let ty = ty(thing());
        let real = self.0.lock().get(&request.id).cloned().flatten();
        let found = real.map(|real| import_resource_state::ImportedResource {
            type_name: request.type_name,
            state: encode(&json::decode(real.as_bytes(), &ty).expect("an object of the type"), &ty),
            ..import_resource_state::ImportedResource::default()
        });
        import_resource_state::Response {
            imported_resources: found.into_iter().collect(),
            ..import_resource_state::Response::default()
        }
    }

    fn move_resource_state(&self, request: move_resource_state::Request) -> move_resource_state::Response {
        let stored = request.source_state.expect("a stored object").json;
        let found = json::decode(&stored, &ty(thing())).expect("an object of the type");
        let name = text(&found, "name").map(str::to_owned);
        let diagnostics = if name.as_deref() == Some(REFUSED) { said(&found) } else { Vec::new() };
        move_resource_state::Response {
            target_state: encode(&found, &ty(thing())),
            diagnostics,
            ..move_resource_state::Response::default()
        }
    }

    fn read_data_source(&self, request: read_data_source::Request) -> read_data_source::Response {
        let config = decode(request.config, &ty(look()));
        let answer = format!("answer to {}", text(&config, "name").unwrap_or_default());
        read_data_source::Response {
            state: encode(&with(&config, "answer", Value::string(answer)), &ty(look())),
            diagnostics: said(&config),
            ..read_data_source::Response::default()
        }
    }

    fn open_ephemeral_resource(&self, request: open_ephemeral_resource::Request) -> open_ephemeral_resource::Response {
        let config = decode(request.config, &ty(token()));
        let made = format!("token of {}", text(&config, "name").unwrap_or_default());
        open_ephemeral_resource::Response {
            result: encode(&with(&config, "token", Value::string(made)), &ty(token())),
            diagnostics: said(&config),
            ..open_ephemeral_resource::Response::default()
        }
    }

    fn call_function(&self, request: call_function::Request) -> call_function::Response {
        let argument = request.arguments.into_iter().next();
        let heard = decode(argument, &Type::String);
        let answer = heard.as_str().unwrap_or_default().to_uppercase();
        call_function::Response { result: encode(&Value::string(answer), &Type::String), error: None }
    }
}

/// Implements the service: the methods above, methods with empty responses, and methods that fail.
macro_rules! serve {
    (above: $($above:ident)*; empty: $($empty:ident)*; none: $($none:ident)*) => {
        #[tonic::async_trait]
        impl Provider for Server {
            $(async fn $above(&self, request: Request<$above::Request>) -> Result<Response<$above::Response>, Status> {
                Ok(Response::new(Server::$above(self, request.into_inner())))
            })*
            $(async fn $empty(&self, _: Request<$empty::Request>) -> Result<Response<$empty::Response>, Status> {
                Ok(Response::new(Default::default()))
            })*
            $(async fn $none(&self, _: Request<$none::Request>) -> Result<Response<$none::Response>, Status> {
                Err(Status::unimplemented("not in this provider"))
            })*
        }
    };
}

serve! {
    above: get_provider_schema configure_provider validate_resource_config upgrade_resource_state read_resource
        plan_resource_change import_resource_state move_resource_state read_data_source open_ephemeral_resource
        call_function;
    empty: validate_provider_config validate_data_resource_config validate_ephemeral_resource_config
        close_ephemeral_resource stop_provider;
    none: get_metadata get_resource_identity_schemas get_functions upgrade_resource_identity apply_resource_change
        generate_resource_config renew_ephemeral_resource
}

/// Starts the server of a provider. The server ends with the runtime of the test.
pub async fn start(world: World) -> Plugin {
    let made = rcgen::generate_simple_self_signed([String::from("localhost")]).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let certificate = made.cert.der().clone();
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .expect("a usable certificate");
    config.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (sender, connections) = tokio::sync::mpsc::channel::<std::io::Result<tokio::io::DuplexStream>>(1);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, sender) = (acceptor.clone(), sender.clone());
            tokio::spawn(async move {
                let Ok(mut outer) = acceptor.accept(stream).await else { return };
                let (mut inner, served) = tokio::io::duplex(1 << 16);
                if sender.send(Ok(served)).await.is_ok() {
                    // The copy ends with an error when the client disconnects.
                    let _ = tokio::io::copy_bidirectional(&mut outer, &mut inner).await;
                }
            });
        }
    });
    let connections = tokio_stream::wrappers::ReceiverStream::new(connections);
    let service = ProviderServer::new(Server(world));
    tokio::spawn(tonic::transport::Server::builder().add_service(service).serve_with_incoming(connections));
    let certificate = base64::engine::general_purpose::STANDARD_NO_PAD.encode(certificate.as_ref());
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans/plugin.sh");
    let mut spec = LaunchSpec::new("test", program);
    spec.environment.push(("WEFT_TEST_HANDSHAKE".into(), format!("1|6|tcp|{address}|grpc|{certificate}").into()));
    Plugin { spec, checksum: None }
}
