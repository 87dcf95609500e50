//! The provider service: the calls of the protocol, implemented with the sibling modules.

use std::sync::Arc;

use parking_lot::RwLock;
use tokio::sync::watch;
use tonic::{Request, Response, Status};
use weft_proto::tfplugin6::diagnostic::Severity;
use weft_proto::tfplugin6::provider_server::Provider;
use weft_proto::tfplugin6::{
    Deferred, Diagnostic, DynamicValue, ServerCapabilities, apply_resource_change, call_function,
    close_ephemeral_resource, configure_provider, deferred as reasons, generate_resource_config, get_functions,
    get_metadata, get_provider_schema, get_resource_identity_schemas, import_resource_state, move_resource_state,
    open_ephemeral_resource, plan_resource_change, read_data_source, read_resource, renew_ephemeral_resource,
    stop_provider, upgrade_resource_identity, upgrade_resource_state, validate_data_resource_config,
    validate_ephemeral_resource_config, validate_provider_config, validate_resource_config,
};

use super::catalog::{META, PROVIDER, REGION_ATTRIBUTES, REGION_DATA, RESOURCES, Resource};
use super::check::{check, check_resource};
use super::plan::{plan_create, plan_update, upgrade};
use super::problem::{At, Problem, attribute_path};
use super::schema::{read, resource_schema, schema, write};
use super::setup::Setup;
use super::value::{Attributes, Value};
use crate::cloud::fault::Twist;

/// The variable with the call that the provider defers: `read`, `plan`, `import` or `data`.
const DEFER: &str = "SIMCLOUD_DEFER";

type Answer<T> = Result<Response<T>, Status>;

/// The provider. It holds only its configuration, because everything else is in the cloud.
#[derive(Debug)]
pub struct CloudProvider {
    setup: RwLock<Option<Arc<Setup>>>,
    stop: watch::Sender<bool>,
}

impl Default for CloudProvider {
    fn default() -> CloudProvider {
        CloudProvider::new()
    }
}

impl CloudProvider {
    /// A provider that is not configured yet.
    pub fn new() -> CloudProvider {
        CloudProvider { setup: RwLock::new(None), stop: watch::channel(false).0 }
    }

    fn setup(&self) -> Result<Arc<Setup>, Problem> {
        let detail = "The engine must call ConfigureProvider first.";
        self.setup.read().clone().ok_or_else(|| Problem::new("Provider not configured", detail))
    }

    async fn read(&self, request: &read_resource::Request) -> Result<DynamicValue, Problem> {
        let resource = resource_named(&request.type_name)?;
        let setup = self.setup()?;
        let state = some(read(request.current_state.as_ref(), resource.attributes)?, "current state")?;
        let region = setup.region_of(&state)?;
        Ok(write(setup.backend.read(resource, &region, &state).await?.as_ref()))
    }

    fn plan(&self, request: &plan_resource_change::Request) -> Result<plan_resource_change::Response, Problem> {
        let resource = resource_named(&request.type_name)?;
        let setup = self.setup()?;
        let prior = read(request.prior_state.as_ref(), resource.attributes)?;
        let Some(proposed) = read(request.proposed_new_state.as_ref(), resource.attributes)? else {
            return Ok(plan_resource_change::Response { planned_state: Some(write(None)), ..Default::default() });
        };
        let config = some(read(request.config.as_ref(), resource.attributes)?, "configuration")?;
        let planned = match &prior {
            None => plan_create(resource, &setup.outlook(), &config, &request.prior_private),
            Some(prior) => plan_update(resource, prior, proposed, &config),
        };
        let path = |name: &&str| attribute_path(&[At::Attribute((*name).to_owned())]);
        Ok(plan_resource_change::Response {
            planned_state: Some(write(Some(&planned.state))),
            requires_replace: planned.replace.iter().map(path).collect(),
            planned_private: planned.private,
            ..Default::default()
        })
    }

    /// Applies a change. Returns the object after the change, and the problem if there is one. After a failed update or
    /// delete, the object is the prior object. Returns `Ok(None)` if the cloud requests an empty response.
    async fn apply(
        &self,
        request: &apply_resource_change::Request,
    ) -> Result<Option<(Option<Attributes>, Option<Problem>)>, Problem> {
        let resource = resource_named(&request.type_name)?;
        let setup = self.setup()?;
        let prior = read(request.prior_state.as_ref(), resource.attributes)?;
        let planned = read(request.planned_state.as_ref(), resource.attributes)?;
        Ok(Some(match (prior, planned) {
            (None, None) => (None, None),
            (None, Some(planned)) => {
                let made = match setup.region_of(&planned) {
                    Ok(region) => setup.backend.create(resource, &region, &planned).await,
                    Err(problem) => Err(problem),
                };
                match made {
                    Ok((_, Some(Twist::Empty))) => return Ok(None),
                    Ok((made, Some(Twist::Partial))) => {
                        (Some(made), Some(Problem::new("Created, and not ready", "The cloud asked for this error.")))
                    }
                    Ok((made, None)) => (Some(made), None),
                    Err(problem) => (None, Some(problem)),
                }
            }
            (Some(prior), Some(planned)) => {
                let changed = match setup.region_of(&prior) {
                    Ok(region) => setup.backend.update(resource, &region, &prior, &planned).await,
                    Err(problem) => Err(problem),
                };
                changed.map_or_else(|problem| (Some(prior), Some(problem)), |after| (Some(after), None))
            }
            (Some(prior), None) => {
                let deleted = match setup.region_of(&prior) {
                    Ok(region) => setup.backend.delete(resource, &region, &prior).await,
                    Err(problem) => Err(problem),
                };
                deleted.map_or_else(|problem| (Some(prior), Some(problem)), |()| (None, None))
            }
        }))
    }

    async fn import(&self, request: &import_resource_state::Request) -> Result<DynamicValue, Problem> {
        let resource = resource_named(&request.type_name)?;
        let setup = self.setup()?;
        let region = setup.own_region()?;
        Ok(write(Some(&setup.backend.import(resource, &region, &request.id).await?)))
    }

    async fn data(&self, request: &read_data_source::Request) -> Result<DynamicValue, Problem> {
        data_named(&request.type_name)?;
        let config = some(read(request.config.as_ref(), REGION_ATTRIBUTES)?, "configuration")?;
        let name = config.get("name").and_then(Value::as_text);
        let name = name.ok_or_else(|| Problem::new("Invalid name", "The region's name is not known.").at("name"))?;
        Ok(write(Some(&self.setup()?.backend.region(name).await?)))
    }
}

fn resource_named(name: &str) -> Result<&'static Resource, Problem> {
    let detail = format!("This provider has no resource type {name:?}.");
    Resource::named(name).ok_or_else(|| Problem::new("Unknown resource type", detail))
}

fn data_named(name: &str) -> Result<(), Problem> {
    let detail = format!("This provider has no data source {name:?}.");
    if name == REGION_DATA { Ok(()) } else { Err(Problem::new("Unknown data source", detail)) }
}

fn some(object: Option<Attributes>, what: &str) -> Result<Attributes, Problem> {
    object.ok_or_else(|| Problem::new("Missing value", format!("The engine sent no {what}.")))
}

fn capabilities() -> Option<ServerCapabilities> {
    Some(ServerCapabilities { get_provider_schema_optional: true, ..Default::default() })
}

/// A deferral of calls of this kind, if the environment requests it. Tests use deferrals with engines that do not allow
/// them.
fn deferred(call: &str) -> Option<Deferred> {
    let wanted = std::env::var(DEFER).is_ok_and(|named| named == call);
    wanted.then_some(Deferred { reason: reasons::Reason::ProviderConfigUnknown as i32 })
}

/// A warning for a call with `provider_meta`, which quotes the text that the module announces.
fn announced(meta: Option<&DynamicValue>, call: &str) -> Vec<Diagnostic> {
    let meta = read(meta, META).ok().flatten().unwrap_or_default();
    let name = meta.get("announce").and_then(Value::as_text);
    let warning = |name: &str| Diagnostic {
        severity: Severity::Warning as i32,
        summary: format!("{call} for {name}"),
        ..Default::default()
    };
    name.map(warning).into_iter().collect()
}

fn absent<T>(what: &str) -> Answer<T> {
    Err(Status::unimplemented(format!("this provider has no {what}")))
}

#[tonic::async_trait]
impl Provider for CloudProvider {
    async fn get_metadata(&self, _: Request<get_metadata::Request>) -> Answer<get_metadata::Response> {
        let resource = |resource: &Resource| get_metadata::ResourceMetadata { type_name: resource.name.to_owned() };
        Ok(Response::new(get_metadata::Response {
            server_capabilities: capabilities(),
            resources: RESOURCES.iter().map(resource).collect(),
            data_sources: vec![get_metadata::DataSourceMetadata { type_name: REGION_DATA.to_owned() }],
            ..Default::default()
        }))
    }

    async fn get_provider_schema(
        &self,
        _: Request<get_provider_schema::Request>,
    ) -> Answer<get_provider_schema::Response> {
        let resource = |resource: &Resource| (resource.name.to_owned(), resource_schema(resource));
        let region = schema(0, REGION_ATTRIBUTES, "A region of the cloud.".to_owned());
        Ok(Response::new(get_provider_schema::Response {
            provider: Some(schema(0, PROVIDER, "A simulated cloud.".to_owned())),
            provider_meta: Some(schema(0, META, "What a module says of itself.".to_owned())),
            resource_schemas: RESOURCES.iter().map(resource).collect(),
            data_source_schemas: [(REGION_DATA.to_owned(), region)].into_iter().collect(),
            server_capabilities: capabilities(),
            ..Default::default()
        }))
    }

    async fn get_resource_identity_schemas(
        &self,
        _: Request<get_resource_identity_schemas::Request>,
    ) -> Answer<get_resource_identity_schemas::Response> {
        Ok(Response::new(Default::default()))
    }

    async fn get_functions(&self, _: Request<get_functions::Request>) -> Answer<get_functions::Response> {
        Ok(Response::new(Default::default()))
    }

    async fn call_function(&self, _: Request<call_function::Request>) -> Answer<call_function::Response> {
        absent("functions")
    }

    async fn validate_provider_config(
        &self,
        request: Request<validate_provider_config::Request>,
    ) -> Answer<validate_provider_config::Response> {
        let problems = match read(request.get_ref().config.as_ref(), PROVIDER) {
            Ok(config) => check(PROVIDER, &config.unwrap_or_default()),
            Err(problem) => vec![problem],
        };
        let diagnostics = problems.iter().map(Problem::to_diagnostic).collect();
        Ok(Response::new(validate_provider_config::Response { diagnostics }))
    }

    async fn validate_resource_config(
        &self,
        request: Request<validate_resource_config::Request>,
    ) -> Answer<validate_resource_config::Response> {
        let request = request.get_ref();
        let problems = resource_named(&request.type_name).and_then(|resource| {
            let config = some(read(request.config.as_ref(), resource.attributes)?, "configuration")?;
            Ok(check_resource(resource, &config))
        });
        let problems = problems.unwrap_or_else(|problem| vec![problem]);
        let diagnostics = problems.iter().map(Problem::to_diagnostic).collect();
        Ok(Response::new(validate_resource_config::Response { diagnostics }))
    }

    async fn validate_data_resource_config(
        &self,
        request: Request<validate_data_resource_config::Request>,
    ) -> Answer<validate_data_resource_config::Response> {
        let request = request.get_ref();
        let problems = data_named(&request.type_name).and_then(|()| {
            let config = some(read(request.config.as_ref(), REGION_ATTRIBUTES)?, "configuration")?;
            Ok(check(REGION_ATTRIBUTES, &config))
        });
        let problems = problems.unwrap_or_else(|problem| vec![problem]);
        let diagnostics = problems.iter().map(Problem::to_diagnostic).collect();
        Ok(Response::new(validate_data_resource_config::Response { diagnostics }))
    }

    async fn validate_ephemeral_resource_config(
        &self,
        _: Request<validate_ephemeral_resource_config::Request>,
    ) -> Answer<validate_ephemeral_resource_config::Response> {
        absent("ephemeral resources")
    }

    async fn upgrade_resource_state(
        &self,
        request: Request<upgrade_resource_state::Request>,
    ) -> Answer<upgrade_resource_state::Response> {
        let request = request.get_ref();
        let upgraded = resource_named(&request.type_name).and_then(|resource| {
            let raw = request.raw_state.as_ref().map(|raw| raw.json.as_slice()).unwrap_or_default();
            upgrade(resource, request.version, raw)
        });
        Ok(Response::new(match upgraded {
            Ok(object) => {
                upgrade_resource_state::Response { upgraded_state: Some(write(Some(&object))), diagnostics: Vec::new() }
            }
            Err(problem) => {
                upgrade_resource_state::Response { upgraded_state: None, diagnostics: vec![problem.to_diagnostic()] }
            }
        }))
    }

    async fn upgrade_resource_identity(
        &self,
        _: Request<upgrade_resource_identity::Request>,
    ) -> Answer<upgrade_resource_identity::Response> {
        absent("resource identities")
    }

    async fn configure_provider(
        &self,
        request: Request<configure_provider::Request>,
    ) -> Answer<configure_provider::Response> {
        let setup = read(request.get_ref().config.as_ref(), PROVIDER).and_then(|config| {
            let environment = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
            Setup::of(&config.unwrap_or_default(), environment, self.stop.subscribe())
        });
        let diagnostics = match setup {
            Ok(setup) => {
                *self.setup.write() = Some(Arc::new(setup));
                Vec::new()
            }
            Err(problem) => vec![problem.to_diagnostic()],
        };
        Ok(Response::new(configure_provider::Response { diagnostics }))
    }

    async fn read_resource(&self, request: Request<read_resource::Request>) -> Answer<read_resource::Response> {
        let request = request.into_inner();
        let outcome = self.read(&request).await;
        let diagnostics = announced(request.provider_meta.as_ref(), "read");
        let (private, deferred) = (request.private, deferred("read"));
        Ok(Response::new(match outcome {
            Ok(state) => {
                read_resource::Response { new_state: Some(state), private, diagnostics, deferred, ..Default::default() }
            }
            Err(problem) => read_resource::Response {
                new_state: request.current_state,
                private,
                diagnostics: vec![problem.to_diagnostic()],
                ..Default::default()
            },
        }))
    }

    async fn plan_resource_change(
        &self,
        request: Request<plan_resource_change::Request>,
    ) -> Answer<plan_resource_change::Response> {
        let planned = self.plan(request.get_ref());
        let mut response = planned.unwrap_or_else(|problem| plan_resource_change::Response {
            diagnostics: vec![problem.to_diagnostic()],
            ..Default::default()
        });
        response.diagnostics.extend(announced(request.get_ref().provider_meta.as_ref(), "plan"));
        response.deferred = deferred("plan");
        Ok(Response::new(response))
    }

    async fn apply_resource_change(
        &self,
        request: Request<apply_resource_change::Request>,
    ) -> Answer<apply_resource_change::Response> {
        let request = request.into_inner();
        let said = announced(request.provider_meta.as_ref(), "apply");
        let (state, problem) = match self.apply(&request).await {
            Ok(Some((object, problem))) => (Some(write(object.as_ref())), problem),
            Ok(None) => return Ok(Response::new(apply_resource_change::Response::default())),
            // The values could not be decoded, so the object has not changed.
            Err(problem) => (request.prior_state, Some(problem)),
        };
        Ok(Response::new(apply_resource_change::Response {
            new_state: state,
            diagnostics: problem.iter().map(Problem::to_diagnostic).chain(said).collect(),
            ..Default::default()
        }))
    }

    async fn import_resource_state(
        &self,
        request: Request<import_resource_state::Request>,
    ) -> Answer<import_resource_state::Response> {
        let request = request.into_inner();
        Ok(Response::new(match self.import(&request).await {
            Ok(state) => import_resource_state::Response {
                imported_resources: vec![import_resource_state::ImportedResource {
                    type_name: request.type_name,
                    state: Some(state),
                    ..Default::default()
                }],
                deferred: deferred("import"),
                ..Default::default()
            },
            Err(problem) => {
                import_resource_state::Response { diagnostics: vec![problem.to_diagnostic()], ..Default::default() }
            }
        }))
    }

    async fn move_resource_state(
        &self,
        _: Request<move_resource_state::Request>,
    ) -> Answer<move_resource_state::Response> {
        absent("moves between resource types")
    }

    async fn generate_resource_config(
        &self,
        _: Request<generate_resource_config::Request>,
    ) -> Answer<generate_resource_config::Response> {
        absent("generation of configurations")
    }

    async fn read_data_source(
        &self,
        request: Request<read_data_source::Request>,
    ) -> Answer<read_data_source::Response> {
        Ok(Response::new(match self.data(request.get_ref()).await {
            Ok(state) => read_data_source::Response {
                state: Some(state),
                diagnostics: announced(request.get_ref().provider_meta.as_ref(), "data"),
                deferred: deferred("data"),
            },
            Err(problem) => {
                read_data_source::Response { diagnostics: vec![problem.to_diagnostic()], ..Default::default() }
            }
        }))
    }

    async fn open_ephemeral_resource(
        &self,
        _: Request<open_ephemeral_resource::Request>,
    ) -> Answer<open_ephemeral_resource::Response> {
        absent("ephemeral resources")
    }

    async fn renew_ephemeral_resource(
        &self,
        _: Request<renew_ephemeral_resource::Request>,
    ) -> Answer<renew_ephemeral_resource::Response> {
        absent("ephemeral resources")
    }

    async fn close_ephemeral_resource(
        &self,
        _: Request<close_ephemeral_resource::Request>,
    ) -> Answer<close_ephemeral_resource::Response> {
        absent("ephemeral resources")
    }

    async fn stop_provider(&self, _: Request<stop_provider::Request>) -> Answer<stop_provider::Response> {
        self.stop.send_replace(true);
        Ok(Response::new(Default::default()))
    }
}
