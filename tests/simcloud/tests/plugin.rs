//! The plugin from the view of a host: a process, the handshake, mutual TLS, and protocol 6, with a real server.

#[path = "plugin/connection.rs"]
mod connection;

use std::collections::BTreeMap;
use std::time::Duration;

use connection::{connect, host_identity, launch};
use hyper::Method;
use serde_json::{Value as Json, json};
use tokio::process::{Child, Command};
use tonic::transport::Channel;
use weft_proto::health::HealthCheckRequest;
use weft_proto::health::health_client::HealthClient;
use weft_proto::plugin::Empty;
use weft_proto::plugin::grpc_controller_client::GrpcControllerClient;
use weft_proto::tfplugin6::attribute_path::step::Selector;
use weft_proto::tfplugin6::provider_client::ProviderClient;
use weft_proto::tfplugin6::{
    AttributePath, Diagnostic, DynamicValue, RawState, apply_resource_change, configure_provider, get_provider_schema,
    import_resource_state, plan_resource_change, read_data_source, read_resource, stop_provider,
    upgrade_resource_state, validate_resource_config,
};
use weft_simcloud::client::Client;
use weft_simcloud::cloud::config::Config;
use weft_simcloud::cloud::server::Server;
use weft_simcloud::plugin::catalog::{LOOKUP, Resource};
use weft_simcloud::plugin::launch::COOKIE;
use weft_simcloud::plugin::msgpack::{decode, encode};
use weft_simcloud::plugin::value::{Attributes, Value};

/// A plugin process and a connection to it.
struct Plugin {
    child: Child,
    channel: Channel,
    provider: ProviderClient<Channel>,
    cloud: Client,
}

impl Plugin {
    async fn start(config: Json) -> Plugin {
        let config: Config = serde_json::from_str(&config.to_string()).unwrap();
        let server = Server::start(config, "127.0.0.1:0".parse().unwrap(), None).await.unwrap();
        let cloud = Client::new(server.url()).unwrap();
        tokio::spawn(server.run());
        let (pem, own, key) = host_identity();
        let (child, parts) = launch(&pem).await;
        assert_eq!((parts.len(), parts[0].as_str(), parts[1].as_str(), parts[2].as_str()), (6, "1", "6", "unix"));
        let channel = connect(&parts, own, key).await.unwrap();
        Plugin { child, provider: ProviderClient::new(channel.clone()), channel, cloud }
    }

    /// Starts a plugin and configures it for a region.
    async fn ready(config: Json, settings: &[(&str, Value)]) -> Plugin {
        let mut plugin = Plugin::start(config).await;
        let mut provider = vec![("url", text(plugin.cloud.url())), ("region", text("us-east"))];
        provider.extend(settings.iter().cloned());
        let diagnostics = plugin.configure(&provider).await;
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        plugin
    }

    async fn configure(&mut self, settings: &[(&str, Value)]) -> Vec<Diagnostic> {
        let request = configure_provider::Request { config: Some(wire(settings)), ..Default::default() };
        self.provider.configure_provider(request).await.unwrap().into_inner().diagnostics
    }

    async fn plan(&mut self, kind: &str, prior: Option<&Attributes>, config: &[(&str, Value)]) -> Plan {
        self.plan_after(kind, prior, config, Vec::new()).await
    }

    async fn plan_after(
        &mut self,
        kind: &str,
        prior: Option<&Attributes>,
        config: &[(&str, Value)],
        prior_private: Vec<u8>,
    ) -> Plan {
        // The proposed object, as an engine computes it: the configuration, with prior values for attributes that the
        // configuration does not set and that the provider may set.
        let mut proposed = whole(kind, config);
        for attribute in Resource::named(kind).unwrap().attributes {
            let computed = matches!(
                attribute.mode,
                weft_simcloud::plugin::catalog::Mode::Computed | weft_simcloud::plugin::catalog::Mode::OptionalComputed
            );
            if let Some(prior) = prior
                && computed
                && proposed[attribute.name] == Value::Null
            {
                proposed.insert(attribute.name.to_owned(), prior[attribute.name].clone());
            }
        }
        let request = plan_resource_change::Request {
            type_name: kind.to_owned(),
            prior_state: Some(wire_of(prior)),
            proposed_new_state: Some(wire_of(Some(&proposed))),
            config: Some(wire_of(Some(&whole(kind, config)))),
            prior_private,
            ..Default::default()
        };
        let reply = self.provider.plan_resource_change(request).await.unwrap().into_inner();
        assert!(reply.diagnostics.is_empty(), "{:?}", reply.diagnostics);
        let state = object(reply.planned_state.as_ref()).unwrap();
        Plan { state, replace: reply.requires_replace.iter().map(path).collect(), private: reply.planned_private }
    }

    async fn apply(
        &mut self,
        kind: &str,
        prior: Option<&Attributes>,
        planned: Option<&Attributes>,
    ) -> (Option<Attributes>, Vec<Diagnostic>) {
        let request = apply_resource_change::Request {
            type_name: kind.to_owned(),
            prior_state: Some(wire_of(prior)),
            planned_state: Some(wire_of(planned)),
            ..Default::default()
        };
        let reply = self.provider.apply_resource_change(request).await.unwrap().into_inner();
        (object(reply.new_state.as_ref()), reply.diagnostics)
    }

    /// Plans and applies a create. The result must agree with the plan.
    async fn create(&mut self, kind: &str, config: &[(&str, Value)]) -> Attributes {
        let planned = self.plan(kind, None, config).await.state;
        let (made, diagnostics) = self.apply(kind, None, Some(&planned)).await;
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let made = made.unwrap();
        for (name, value) in &planned {
            assert!(*value == Value::Unknown || *value == made[name], "{name}: {value:?} {:?}", made[name]);
        }
        assert!(made.values().all(Value::is_known));
        made
    }

    async fn read(&mut self, kind: &str, state: &Attributes) -> (Option<Attributes>, Vec<Diagnostic>) {
        let request = read_resource::Request {
            type_name: kind.to_owned(),
            current_state: Some(wire_of(Some(state))),
            ..Default::default()
        };
        let reply = self.provider.read_resource(request).await.unwrap().into_inner();
        (object(reply.new_state.as_ref()), reply.diagnostics)
    }

    async fn import(&mut self, kind: &str, id: &str) -> Result<Attributes, Diagnostic> {
        let request =
            import_resource_state::Request { type_name: kind.to_owned(), id: id.to_owned(), ..Default::default() };
        let reply = self.provider.import_resource_state(request).await.unwrap().into_inner();
        match reply.diagnostics.into_iter().next() {
            Some(diagnostic) => Err(diagnostic),
            None => Ok(object(reply.imported_resources[0].state.as_ref()).unwrap()),
        }
    }

    async fn ledger(&self) -> Vec<Json> {
        let answer = self.cloud.send(Method::GET, "/ledger", None).await.unwrap();
        let text = String::from_utf8(answer.body.to_vec()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

struct Plan {
    state: Attributes,
    replace: Vec<String>,
    private: Vec<u8>,
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn texts(elements: &[&str]) -> Value {
    Value::List(elements.iter().map(|element| text(element)).collect())
}

fn attributes(pairs: &[(&str, Value)]) -> Attributes {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn wire(pairs: &[(&str, Value)]) -> DynamicValue {
    wire_of(Some(&attributes(pairs)))
}

fn wire_of(object: Option<&Attributes>) -> DynamicValue {
    let value = object.map_or(Value::Null, |object| Value::Map(object.clone()));
    DynamicValue { msgpack: encode(&value), json: Vec::new() }
}

fn object(value: Option<&DynamicValue>) -> Option<Attributes> {
    match decode(&value?.msgpack).unwrap() {
        Value::Map(object) => Some(object),
        Value::Null => None,
        other => panic!("{other:?}"),
    }
}

/// A configuration with all its attributes, as engines send it.
fn whole(kind: &str, config: &[(&str, Value)]) -> Attributes {
    let names = Resource::named(kind).unwrap().attributes.iter().map(|attribute| attribute.name);
    let mut object: Attributes = names.map(|name| (name.to_owned(), Value::Null)).collect();
    object.extend(attributes(config));
    object
}

fn path(path: &AttributePath) -> String {
    let step = |selector: &Selector| match selector {
        Selector::AttributeName(name) => name.clone(),
        Selector::ElementKeyString(key) => format!("[{key:?}]"),
        Selector::ElementKeyInt(index) => format!("[{index}]"),
    };
    path.steps.iter().filter_map(|each| each.selector.as_ref().map(step)).collect()
}

fn network(cidr: &str) -> Vec<(&'static str, Value)> {
    vec![("name", text("main")), ("cidr", text(cidr))]
}

#[tokio::test]
async fn objects_are_created_updated_and_deleted_through_the_plugin() {
    let mut plugin = Plugin::ready(json!({}), &[]).await;
    let net = plugin.create("cloud_network", &network("10.0.0.0/16")).await;
    let subnet_config = [("name", text("s")), ("network_id", net["id"].clone()), ("cidr", text("10.0.1.0/24"))];
    let subnet = plugin.create("cloud_subnet", &subnet_config).await;
    let tags = Value::Map(BTreeMap::from([("role".to_owned(), text("web"))]));
    let mut machine = vec![
        ("name", text("web-1")),
        ("subnet_id", subnet["id"].clone()),
        ("size", text("small")),
        ("image", text("base-1")),
        ("password", text("secret")),
        ("tags", tags),
    ];
    let instance = plugin.create("cloud_instance", &machine).await;
    assert_eq!(instance["address"], text("10.0.1.4"));
    assert_eq!(instance["password"], text("secret"));
    let record_config = [("name", text("web")), ("type", text("A")), ("values", texts(&["10.0.1.4"]))];
    let record = plugin.create("cloud_dns_record", &record_config).await;
    assert_eq!((&record["ttl"], &record["fqdn"]), (&Value::Number(300.0), &text("web.us-east.sim.test")));

    assert_eq!(plugin.read("cloud_instance", &instance).await.0.as_ref(), Some(&instance));
    let same = plugin.plan("cloud_instance", Some(&instance), &machine).await;
    assert_eq!((same.state, same.replace.len()), (instance.clone(), 0));

    machine[2].1 = text("large");
    machine.pop();
    let grow = plugin.plan("cloud_instance", Some(&instance), &machine).await;
    assert!(grow.replace.is_empty());
    let (grown, diagnostics) = plugin.apply("cloud_instance", Some(&instance), Some(&grow.state)).await;
    assert_eq!((grown.as_ref(), diagnostics.len()), (Some(&grow.state), 0));
    machine[3].1 = Value::Unknown;
    assert_eq!(plugin.plan("cloud_instance", grown.as_ref(), &machine).await.replace, ["image"]);

    let imported = plugin.import("cloud_subnet", subnet["id"].as_text().unwrap()).await.unwrap();
    assert_eq!(imported, subnet);
    let lost = plugin.import("cloud_subnet", "us-west/sub-1").await.unwrap_err();
    assert_eq!(lost.summary, "Cannot import non-existent remote object");

    let (kept, diagnostics) = plugin.apply("cloud_subnet", Some(&subnet), None).await;
    assert_eq!(kept.as_ref(), Some(&subnet), "an object that is still there is not dropped");
    assert!(diagnostics[0].detail.contains("409"), "{diagnostics:?}");
    let all = [
        ("cloud_dns_record", &record),
        ("cloud_instance", &instance),
        ("cloud_subnet", &subnet),
        ("cloud_network", &net),
    ];
    for (kind, object) in all {
        for _ in 0..2 {
            assert_eq!(plugin.apply(kind, Some(object), None).await, (None, Vec::new()));
        }
        assert_eq!(plugin.read(kind, object).await, (None, Vec::new()));
    }
    assert_eq!(plugin.ledger().await.len(), 9);
}

#[tokio::test]
async fn a_create_is_found_by_its_token() {
    let mut plugin = Plugin::ready(json!({}), &[]).await;
    let config = network("10.0.0.0/16");
    let first = plugin.plan("cloud_network", None, &config).await;
    let again = plugin.plan_after("cloud_network", None, &config, first.private.clone()).await;
    assert_eq!(first.state, again.state, "the plan at apply keeps the token of the reviewed plan");
    let other = plugin.plan("cloud_network", None, &config).await;
    assert_ne!(first.state["client_token"], other.state["client_token"]);

    let token = first.state["client_token"].as_text().unwrap().to_owned();
    let lookup = LOOKUP.split('"').nth(1).unwrap().replace("{region}", "us-east").replace("{client_token}", &token);
    let absent = plugin.import("cloud_network", &lookup).await.unwrap_err();
    assert_eq!(absent.summary, "Cannot import non-existent remote object");
    let one = plugin.apply("cloud_network", None, Some(&first.state)).await.0.unwrap();
    assert_eq!(plugin.import("cloud_network", &lookup).await.unwrap(), one);
    let two = plugin.apply("cloud_network", None, Some(&first.state)).await.0.unwrap();
    assert_eq!(one, two);
    let ledger = plugin.ledger().await;
    assert_eq!(ledger.iter().map(|line| &line["outcome"]).collect::<Vec<_>>(), ["done", "duplicate-token"]);
    let senseless = plugin.import("cloud_dns_record", "token:us-east:x").await.unwrap_err();
    assert_eq!(senseless.summary, "Invalid import id");

    let schema = plugin.provider.get_provider_schema(get_provider_schema::Request {}).await.unwrap().into_inner();
    let says_so = |name: &str| schema.resource_schemas[name].block.as_ref().unwrap().description.contains(LOOKUP);
    assert!(says_so("cloud_network") && says_so("cloud_subnet") && says_so("cloud_instance"));
    assert!(!says_so("cloud_dns_record"));
}

#[tokio::test]
async fn lost_requests_are_repeated_only_if_that_is_safe() {
    let faults = json!([
        {"type": "network", "op": "create", "nth": [1], "what": "cut", "when": "after"},
        {"type": "network", "op": "read", "nth": [1], "what": "error", "status": 503},
        {"type": "network", "op": "read", "nth": [3], "what": "error", "status": 500},
        {"type": "dns_record", "op": "create", "nth": [1], "what": "cut", "when": "after"},
    ]);
    let rate = json!({"us-east": {"rate": {"per_second": 100, "burst": 4}}});
    let mut plugin = Plugin::ready(json!({"faults": faults, "regions": rate}), &[]).await;
    let net = plugin.create("cloud_network", &network("10.0.0.0/16")).await;
    assert_eq!(plugin.read("cloud_network", &net).await, (Some(net.clone()), Vec::new()));
    let (state, diagnostics) = plugin.read("cloud_network", &net).await;
    assert_eq!((state.as_ref(), diagnostics[0].summary.as_str()), (Some(&net), "Cannot read cloud_network"));

    let config = [("name", text("r")), ("type", text("TXT")), ("values", texts(&["x"]))];
    let planned = plugin.plan("cloud_dns_record", None, &config).await.state;
    let (made, diagnostics) = plugin.apply("cloud_dns_record", None, Some(&planned)).await;
    assert_eq!(made, None);
    assert!(diagnostics[0].summary.starts_with("Outcome of"), "{diagnostics:?}");

    let reads = (0..30).map(|_| {
        let mut provider = plugin.provider.clone();
        let request = read_resource::Request {
            type_name: "cloud_network".to_owned(),
            current_state: Some(wire_of(Some(&net))),
            ..Default::default()
        };
        async move { provider.read_resource(request).await.unwrap().into_inner() }
    });
    for reply in futures::future::join_all(reads).await {
        assert!(reply.diagnostics.is_empty(), "{:?}", reply.diagnostics);
    }
    let outcomes: Vec<_> = plugin.ledger().await.iter().map(|line| line["outcome"].clone()).collect();
    assert_eq!(outcomes, ["done", "duplicate-token", "done"]);
}

#[tokio::test]
async fn stopping_ends_waiting_calls() {
    let faults = json!([{"op": "read", "what": "hang"}]);
    let mut plugin = Plugin::ready(json!({"faults": faults}), &[]).await;
    let net = plugin.create("cloud_network", &network("10.0.0.0/16")).await;
    let mut stopper = plugin.provider.clone();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stopper.stop_provider(stop_provider::Request {}).await.unwrap().into_inner().error
    };
    let ((state, diagnostics), error) = tokio::join!(plugin.read("cloud_network", &net), stop);
    assert_eq!((state.as_ref(), error.as_str()), (Some(&net), ""));
    assert!(diagnostics[0].detail.contains("stopped"), "{diagnostics:?}");
}

#[tokio::test]
async fn configurations_are_validated_with_paths() {
    let mut plugin = Plugin::start(json!({})).await;
    let mut check = async |kind: &str, config: &[(&str, Value)]| {
        let request = validate_resource_config::Request {
            type_name: kind.to_owned(),
            config: Some(wire_of(Some(&whole(kind, config)))),
            ..Default::default()
        };
        let reply = plugin.provider.validate_resource_config(request).await.unwrap().into_inner();
        reply.diagnostics.iter().map(|each| path(each.attribute.as_ref().unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(check("cloud_network", &[("name", text("")), ("cidr", text("10.0.0.1/8"))]).await, ["name", "cidr"]);
    assert_eq!(check("cloud_network", &[("name", Value::Unknown), ("cidr", Value::Unknown)]).await.len(), 0);
    let record = [
        ("name", text("r")),
        ("type", text("A")),
        ("values", Value::List(vec![text("10.0.0.1"), Value::Unknown, text("ten"), Value::Null])),
        ("ttl", Value::Number(0.5)),
    ];
    assert_eq!(check("cloud_dns_record", &record).await, ["values[3]", "ttl", "values[2]"]);

    let nowhere = plugin.configure(&[("url", text("ftp://x"))]).await;
    assert_eq!(path(nowhere[0].attribute.as_ref().unwrap()), "url");
    let unplanned = plugin.provider.plan_resource_change(plan_resource_change::Request {
        type_name: "cloud_network".to_owned(),
        ..Default::default()
    });
    assert_eq!(unplanned.await.unwrap().into_inner().diagnostics[0].summary, "Provider not configured");
}

#[tokio::test]
async fn stored_objects_are_upgraded_and_regions_read() {
    let mut plugin = Plugin::ready(json!({}), &[]).await;
    let json = br#"{"name": "old", "flavor": "medium", "id": "ins-1", "region": "us-west"}"#.to_vec();
    let request = upgrade_resource_state::Request {
        type_name: "cloud_instance".to_owned(),
        version: 0,
        raw_state: Some(RawState { json, ..Default::default() }),
    };
    let reply = plugin.provider.upgrade_resource_state(request).await.unwrap().into_inner();
    assert_eq!(object(reply.upgraded_state.as_ref()).unwrap()["size"], text("medium"));

    let mut region = async |name: &str| {
        let config = wire(&[("name", text(name)), ("zones", Value::Null), ("endpoint", Value::Null)]);
        let request = read_data_source::Request {
            type_name: "cloud_region".to_owned(),
            config: Some(config),
            ..Default::default()
        };
        plugin.provider.read_data_source(request).await.unwrap().into_inner()
    };
    let found = object(region("us-west").await.state.as_ref()).unwrap();
    assert_eq!(found["zones"], texts(&["us-west-a", "us-west-b", "us-west-c"]));
    assert_eq!(region("mars").await.diagnostics[0].summary, "No such region");
}

#[tokio::test]
async fn an_offline_plugin_needs_no_cloud() {
    let mut plugin = Plugin::ready(json!({}), &[("offline", Value::Bool(true))]).await;
    let net = plugin.create("cloud_network", &network("10.0.0.0/16")).await;
    assert_eq!(plugin.read("cloud_network", &net).await.0.as_ref(), Some(&net));
    let token = format!("token:us-east:{}", net["client_token"].as_text().unwrap());
    let absent = plugin.import("cloud_network", &token).await.unwrap_err();
    assert_eq!(absent.summary, "Cannot import non-existent remote object");
    assert_eq!(plugin.apply("cloud_network", Some(&net), None).await, (None, Vec::new()));
    assert!(plugin.ledger().await.is_empty());
}

#[tokio::test]
async fn a_client_with_another_certificate_is_refused() {
    let (pem, _, _) = host_identity();
    let (_, other, key) = host_identity();
    let (_child, parts) = launch(&pem).await;
    let outcome = match connect(&parts, other, key).await {
        // With TLS 1.3, the client learns of a refusal only at its first read.
        Ok(channel) => {
            let request = HealthCheckRequest { service: "plugin".to_owned() };
            HealthClient::new(channel).check(request).await.map(drop).map_err(|status| status.to_string())
        }
        Err(error) => Err(error),
    };
    assert!(outcome.is_err());

    let mut bare = Command::new(env!("CARGO_BIN_EXE_terraform-provider-cloud"));
    let output = bare.env_remove(COOKIE.0).output().await.unwrap();
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("provider plugin"));
}

#[tokio::test]
async fn the_plugin_is_healthy_and_ends_when_asked() {
    let mut plugin = Plugin::start(json!({})).await;
    let request = HealthCheckRequest { service: "plugin".to_owned() };
    let health = HealthClient::new(plugin.channel.clone()).check(request).await.unwrap().into_inner();
    assert_eq!(health.status, 1);
    GrpcControllerClient::new(plugin.channel.clone()).shutdown(Empty {}).await.unwrap();
    let status = tokio::time::timeout(Duration::from_secs(5), plugin.child.wait()).await.unwrap().unwrap();
    assert!(status.success());
}
