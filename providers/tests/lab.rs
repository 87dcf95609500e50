//! Sessions with the real test plugins `lab` (protocol 6) and `oldlab` (protocol 5).
//!
//! `LAB_PLUGINS` names the folder that `tests/conformance/providers/build.sh` filled. Without this variable, these
//! tests print that they were skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weft_graph_format::address::ResourceInstance;
use weft_graph_format::path::{Path as ValuePath, ValueStep};
use weft_graph_format::schema::{Block, Nesting};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Transform, Value};
use weft_providers::call::{
    ApplyRequest, CallError, CallKind, Deadlines, ImportTarget, ObjectState, PlanRequest, RawState, ReadRequest,
};
use weft_providers::handshake::Protocol;
use weft_providers::pool::{InstanceRequest, Plugin, PoolOptions, ProviderOpenError, ProviderPool, SharedBound};
use weft_providers::{LaunchError, LaunchSpec, ProviderDiagnostic, ProviderSession, SchemaCache, SessionOptions};

fn plugins() -> Option<PathBuf> {
    let folder = std::env::var_os("LAB_PLUGINS").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("\n*** SKIPPED: set LAB_PLUGINS to the folder of tests/conformance/providers/build.sh ***\n");
    }
    folder
}

fn program(folder: &Path, name: &str) -> PathBuf {
    let versions = folder.join("weft.test/lab").join(name).join("1.0.0");
    let platform = std::fs::read_dir(&versions).unwrap().next().unwrap().unwrap().path();
    platform.join(format!("terraform-provider-{name}_v1.0.0"))
}

/// A plugin with its own store.
struct Lab {
    session: ProviderSession,
    store: tempfile::TempDir,
}

async fn start(name: &str, options: SessionOptions) -> Option<Lab> {
    let folder = plugins()?;
    let store = tempfile::tempdir().unwrap();
    let session = ProviderSession::launch(&spec(&folder, name, store.path()), options).await.unwrap();
    Some(Lab { session, store })
}

fn spec(folder: &Path, name: &str, store: &Path) -> LaunchSpec {
    let mut spec = LaunchSpec::new(name, program(folder, name));
    spec.environment.push(("LAB_STORE".into(), store.into()));
    spec
}

/// The decoded form of an empty block, with some attributes set.
fn object(block: &Block, set: &[(&str, Value)]) -> Value {
    let mut fields = BTreeMap::new();
    for (name, attribute) in &block.attributes {
        fields.insert(name.clone(), Value::null(attribute.ty.clone()));
    }
    for (name, nested) in &block.blocks {
        let element = nested.block.implied_type();
        let empty = match nested.nesting {
            Nesting::List => Value::list(element, Vec::new()),
            Nesting::Set => Value::set(element, Vec::new()),
            Nesting::Map => Value::map(element, BTreeMap::new()),
            Nesting::Single => Value::null(element),
            Nesting::Group => object(&nested.block, &[]),
        };
        fields.insert(name.clone(), empty);
    }
    for (name, value) in set {
        assert!(fields.insert((*name).into(), value.clone()).is_some(), "{name}");
    }
    Value::object(fields)
}

/// The value with some attributes replaced.
fn with(value: &Value, set: &[(&str, Value)]) -> Value {
    value.transform(&mut |path, _| match path.0.as_slice() {
        [ValueStep::Attribute(name)] => match set.iter().find(|(n, _)| n == name) {
            Some((_, value)) => Transform::Replace(value.clone()),
            None => Transform::Descend,
        },
        _ => Transform::Descend,
    })
}

fn attribute(value: &Value, name: &str) -> Value {
    value.step(&ValueStep::Attribute(name.into())).unwrap()
}

async fn configure(session: &ProviderSession, set: &[(&str, Value)]) {
    let schema = session.schema().await.unwrap();
    let diagnostics = session.configure(&object(&schema.provider.block, set)).await.unwrap();
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
}

fn address(type_name: &str) -> ResourceInstance {
    format!("{type_name}.a").parse().unwrap()
}

fn plan_request(type_name: &str, prior: Value, proposed: Value, config: Value) -> PlanRequest {
    PlanRequest {
        address: address(type_name),
        type_name: type_name.into(),
        prior_state: prior,
        proposed_new_state: proposed,
        config,
        prior_private: Vec::new(),
        provider_meta: None,
        prior_identity: None,
    }
}

/// Plans and applies. Returns the object and the provider's diagnostics.
async fn attempt(session: &ProviderSession, request: PlanRequest) -> (ObjectState, Vec<ProviderDiagnostic>) {
    let planned = session.plan_resource_change(request.clone()).await.unwrap();
    assert!(planned.diagnostics.is_empty(), "{:?}", planned.diagnostics);
    let applied = session
        .apply_resource_change(ApplyRequest {
            address: request.address,
            type_name: request.type_name,
            prior_state: request.prior_state,
            planned_state: planned.value.planned_state,
            config: request.config,
            planned_private: planned.value.planned_private,
            provider_meta: None,
            planned_identity: planned.value.planned_identity,
        })
        .await
        .unwrap();
    (applied.value.object, applied.diagnostics)
}

/// Plans and applies; panics at any diagnostic.
async fn change(session: &ProviderSession, request: PlanRequest) -> ObjectState {
    let (object, diagnostics) = attempt(session, request).await;
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    object
}

/// The configuration of a new thing, and its proposal.
async fn creation(session: &ProviderSession, set: &[(&str, Value)]) -> (Value, PlanRequest) {
    let schema = session.schema().await.unwrap();
    let block = &schema.resources["lab_thing"].block;
    let config = object(block, set);
    let unknown = |name: &str| Value::unknown(block.attributes[name].ty.clone());
    let computed: Vec<_> =
        ["id", "zone", "region", "revision", "endpoint"].into_iter().map(|name| (name, unknown(name))).collect();
    let proposed = with(&config, &computed);
    let prior = Value::null(block.implied_type());
    (config.clone(), plan_request("lab_thing", prior, proposed, config))
}

async fn create_thing(session: &ProviderSession, set: &[(&str, Value)]) -> (Value, ObjectState) {
    let (config, request) = creation(session, set).await;
    let planned = session.plan_resource_change(request.clone()).await.unwrap();
    assert!(!attribute(&planned.value.planned_state, "id").is_known());
    (config, change(session, request).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_is_created_updated_and_deleted_over_protocol_6() {
    let Some(lab) = start("lab", SessionOptions::default()).await else { return };
    let session = &lab.session;
    assert_eq!(session.protocol(), Protocol::V6);
    let schema = session.schema().await.unwrap();
    let thing = &schema.resources["lab_thing"];
    assert_eq!(thing.version, 2);
    assert!(thing.block.attributes["secret"].sensitive);
    assert!(thing.block.attributes["secret_wo"].write_only);
    assert!(thing.block.attributes["replicas"].nested.is_some());
    assert_eq!(thing.block.blocks["rule"].nesting, Nesting::Set);
    assert!(schema.identities.contains_key("lab_thing"));
    assert!(schema.functions.contains_key("upper"));

    let region = Value::string("eu");
    let provider_config = object(&schema.provider.block, &[("region", region.clone())]);
    assert!(session.validate_provider_config(&provider_config).await.unwrap().is_empty());
    configure(session, &[("region", region)]).await;

    // The diagnostic of validation has a path.
    let bad = object(&thing.block, &[("name", Value::string("a")), ("fail_on", Value::string("never"))]);
    let complaints = session.validate_resource_config("lab_thing", &bad).await.unwrap();
    assert_eq!(complaints.len(), 1);
    assert!(complaints[0].is_error());
    assert_eq!(complaints[0].path, ValuePath::ROOT.attribute("fail_on"));

    let (config, created) = create_thing(session, &[("name", Value::string("a")), ("size", Value::int(3))]).await;
    assert_eq!(attribute(&created.state, "region"), Value::string("eu"));
    assert_eq!(attribute(&created.state, "size"), Value::int(3));
    assert!(created.state.is_wholly_known());
    assert!(created.identity.is_some());

    // Update.
    let bigger = with(&config, &[("size", Value::int(4))]);
    let proposed = with(&created.state, &[("size", Value::int(4))]);
    let mut request = plan_request("lab_thing", created.state.clone(), proposed, bigger.clone());
    request.prior_private = created.private.clone();
    request.prior_identity = created.identity.clone();
    let updated = change(session, request).await;
    assert_eq!(attribute(&updated.state, "revision"), Value::int(2));

    // A changed name needs a new object.
    let renamed = with(&updated.state, &[("name", Value::string("b"))]);
    let request =
        plan_request("lab_thing", updated.state.clone(), renamed, with(&bigger, &[("name", Value::string("b"))]));
    let planned = session.plan_resource_change(request).await.unwrap();
    assert_eq!(planned.value.requires_replace, vec![ValuePath::ROOT.attribute("name")]);

    // Read, upgrade of what an old version stored, import.
    let read = |state: &ObjectState| {
        session.read_resource(ReadRequest {
            address: address("lab_thing"),
            type_name: "lab_thing".into(),
            current_state: state.state.clone(),
            private: state.private.clone(),
            provider_meta: None,
            identity: state.identity.clone(),
        })
    };
    assert_eq!(read(&updated).await.unwrap().value.state, updated.state);
    let old = br#"{"id":"lab-0","title":"old","size":"5"}"#.to_vec();
    let upgraded = session.upgrade_resource_state("lab_thing", 0, RawState::Json(old)).await.unwrap();
    assert_eq!(attribute(&upgraded.value, "name"), Value::string("old"));
    assert_eq!(attribute(&upgraded.value, "size"), Value::int(5));
    let id = attribute(&updated.state, "id");
    let target = ImportTarget::Id(id.as_str().unwrap().to_owned());
    let imported = session.import_resource_state("lab_thing", target).await.unwrap();
    assert_eq!(imported.value.len(), 1);
    assert_eq!(attribute(&imported.value[0].object.state, "id"), id);

    // Data source.
    let data = &schema.data_sources["lab_thing"];
    let wanted = object(&data.block, &[("name", Value::string("a"))]);
    let found = session.read_data_source("lab_thing", &wanted, None).await.unwrap();
    assert_eq!(attribute(&found.value, "id"), id);

    // Delete. After that, the object does not exist.
    let ty = thing.block.implied_type();
    let mut request =
        plan_request("lab_thing", updated.state.clone(), Value::null(ty.clone()), Value::null(ty.clone()));
    request.prior_identity = updated.identity.clone();
    assert!(schema.plan_destroy);
    assert!(change(session, request).await.state.is_null());
    assert!(read(&updated).await.unwrap().value.state.is_null());
    let ledger = std::fs::read_to_string(lab.store.path().join("ledger.jsonl")).unwrap();
    assert_eq!(ledger.lines().count(), 3, "{ledger}");

    session.close().await;
    assert!(!session.is_alive());
    assert_eq!(session.stop().await, Err(CallError::Closed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stop_ends_a_running_call_early() {
    const LONG: Duration = Duration::from_secs(60);
    let Some(lab) = start("lab", SessionOptions::default()).await else { return };
    configure(&lab.session, &[]).await;
    let delay = Value::int(i64::try_from(LONG.as_millis()).unwrap());
    let (_, request) = creation(&lab.session, &[("name", Value::string("slow")), ("delay_ms", delay)]).await;
    let session = lab.session.clone();
    let begun = std::time::Instant::now();
    let slow = tokio::spawn(async move { attempt(&session, request).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!slow.is_finished());
    assert_eq!(lab.session.stop().await, Ok(None));
    let (object, diagnostics) = slow.await.unwrap();
    assert!(begun.elapsed() < LONG / 2, "{:?}", begun.elapsed());
    assert!(object.state.is_null());
    assert!(diagnostics.iter().any(ProviderDiagnostic::is_error), "{diagnostics:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_are_called_and_ephemeral_objects_opened() {
    let Some(lab) = start("lab", SessionOptions::default()).await else { return };
    let session = &lab.session;
    assert_eq!(session.call_function("upper", &[Value::string("é")]).await.unwrap(), Ok(Value::string("É")));
    let numbers = [Value::int(1), Value::int(2), Value::int(3)];
    assert_eq!(session.call_function("sum", &numbers).await.unwrap(), Ok(Value::int(6)));
    let failure = session.call_function("fail", &[Value::string("no")]).await.unwrap().unwrap_err();
    assert_eq!(failure.argument, Some(0));
    assert!(failure.text.contains("no"), "{failure:?}");
    assert_eq!(
        session.call_function("maybe", &[Value::null(Type::String)]).await.unwrap(),
        Ok(Value::string("nothing"))
    );
    assert!(matches!(session.call_function("upper", &[]).await, Err(CallError::Unencodable { .. })));
    assert!(matches!(session.call_function("none", &[]).await, Err(CallError::UnknownType { .. })));
    assert!(session.get_functions().await.unwrap().value.contains_key("describe"));

    configure(session, &[]).await;
    let schema = session.schema().await.unwrap();
    let block = &schema.ephemeral["lab_token"].block;
    let config = object(block, &[("name", Value::string("t")), ("renew_ms", Value::int(60_000))]);
    assert!(session.validate_ephemeral_config("lab_token", &config).await.unwrap().is_empty());
    let opened = session.open_ephemeral("lab_token", &config).await.unwrap();
    assert_eq!(attribute(&opened.value.result, "token"), Value::string("token-t"));
    assert!(opened.value.renew_at.is_some());
    let renewed = session.renew_ephemeral("lab_token", opened.value.private.clone()).await.unwrap();
    assert!(renewed.diagnostics.is_empty());
    let private = renewed.value.private.or(opened.value.private);
    assert!(session.close_ephemeral("lab_token", private).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn protocol_5_has_the_legacy_type_system() {
    let Some(lab) = start("oldlab", SessionOptions::default()).await else { return };
    let session = &lab.session;
    assert_eq!(session.protocol(), Protocol::V5);
    let schema = session.schema().await.unwrap();
    let block = &schema.resources["oldlab_box"].block;
    configure(session, &[]).await;
    let config = object(block, &[("name", Value::string("b"))]);
    assert!(session.validate_resource_config("oldlab_box", &config).await.unwrap().is_empty());
    let ty = block.implied_type();
    let unknowns = ["id", "kind", "status", "generation"];
    let unknowns: Vec<_> =
        unknowns.into_iter().map(|name| (name, Value::unknown(block.attributes[name].ty.clone()))).collect();
    let request = plan_request("oldlab_box", Value::null(ty.clone()), with(&config, &unknowns), config);
    assert!(session.plan_resource_change(request.clone()).await.unwrap().value.legacy_type_system);
    let created = change(session, request).await;
    assert_eq!(attribute(&created.state, "kind"), Value::string("plain"));
    let mut flat = BTreeMap::new();
    flat.insert("id".to_owned(), "lab-1".to_owned());
    flat.insert("title".to_owned(), "old".to_owned());
    flat.insert("size".to_owned(), "2".to_owned());
    let upgraded = session.upgrade_resource_state("oldlab_box", 0, RawState::Flatmap(flat)).await.unwrap();
    assert_eq!(attribute(&upgraded.value, "name"), Value::string("old"));
    // Plugins of the legacy SDK are asked for a plan of a destroy only if they request this. So there is no such plan
    // here: the planned value is null, and the private data is the prior private data.
    let deletion = ApplyRequest {
        address: address("oldlab_box"),
        type_name: "oldlab_box".into(),
        prior_state: created.state.clone(),
        planned_state: Value::null(ty.clone()),
        config: Value::null(ty),
        planned_private: created.private.clone(),
        provider_meta: None,
        planned_identity: None,
    };
    let gone = session.apply_resource_change(deletion).await.unwrap();
    assert!(gone.diagnostics.is_empty() && gone.value.object.state.is_null());
    session.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_errors_of_the_provider_are_replies() {
    let deadlines = Deadlines::default().with(CallKind::Apply, Duration::from_millis(700));
    let Some(lab) = start("lab", SessionOptions { deadlines, schema_cache: None }).await else { return };
    let session = &lab.session;
    configure(session, &[]).await;
    let schema = session.schema().await.unwrap();
    let ty = schema.resources["lab_thing"].block.implied_type();
    let (_, created) =
        create_thing(session, &[("name", Value::string("a")), ("fail_on", Value::string("delete"))]).await;
    let deletion = |state: Value| ApplyRequest {
        address: address("lab_thing"),
        type_name: "lab_thing".into(),
        prior_state: state,
        planned_state: Value::null(ty.clone()),
        config: Value::null(ty.clone()),
        planned_private: created.private.clone(),
        provider_meta: None,
        planned_identity: created.identity.clone(),
    };
    // The provider's own error: a reply with the object that still exists.
    let refused = session.apply_resource_change(deletion(created.state.clone())).await.unwrap();
    assert!(refused.has_errors());
    assert_eq!(refused.diagnostics[0].summary, "lab_thing delete failed");
    assert!(!refused.value.object.state.is_null());
    // The request is not sent at all.
    let wrong = session.apply_resource_change(deletion(Value::string("no object"))).await.unwrap_err();
    assert!(matches!(wrong, CallError::Unencodable { argument: "prior_state", .. }) && wrong.was_not_sent());
    // The reply does not arrive in time.
    let slow = with(&created.state, &[("fail_on", Value::null(Type::String)), ("delay_ms", Value::int(5_000))]);
    let late = session.apply_resource_change(deletion(slow.clone())).await.unwrap_err();
    assert!(matches!(late, CallError::Deadline { .. }) && !late.was_not_sent(), "{late:?}");
    // The process dies during the call.
    let dying = tokio::spawn({
        let (session, request) = (session.clone(), deletion(slow.clone()));
        async move { session.apply_resource_change(request).await }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    let pid = rustix::process::Pid::from_raw(session.pid().try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let crashed = dying.await.unwrap().unwrap_err();
    assert!(matches!(crashed, CallError::Crashed { .. }) && !crashed.was_not_sent(), "{crashed:?}");
    // The process is dead before the next call.
    let dead = session.apply_resource_change(deletion(slow)).await.unwrap_err();
    assert!(matches!(dead, CallError::NotRunning { .. }) && dead.was_not_sent(), "{dead:?}");
    assert!(!session.is_alive());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_not_a_plugin_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let launch = |program: PathBuf| async move {
        let mut spec = LaunchSpec::new("it", program);
        spec.start_deadline = Duration::from_millis(500);
        ProviderSession::launch(&spec, SessionOptions::default()).await.err().unwrap()
    };
    let missing = launch(folder.path().join("missing")).await;
    assert!(matches!(missing, LaunchError::Spawn { .. }), "{missing}");
    let ended = launch(script("ended", "#!/bin/sh\necho broken >&2\nexit 3\n")).await;
    assert!(matches!(&ended, LaunchError::Ended { stderr, .. } if stderr == "broken"), "{ended}");
    let chatty = launch(script("chatty", "#!/bin/sh\necho hello\nsleep 5\n")).await;
    assert!(matches!(chatty, LaunchError::Handshake(_)), "{chatty}");
    let silent = launch(script("silent", "#!/bin/sh\nexec sleep 5\n")).await;
    assert!(matches!(silent, LaunchError::Silent { .. }), "{silent}");
    let plain = launch(script("plain", "#!/bin/sh\necho '1|6|unix|/nowhere|grpc|'\nexec sleep 5\n")).await;
    assert!(matches!(plain, LaunchError::TlsRefused), "{plain}");
    let deaf = launch(script("deaf", "#!/bin/sh\necho '1|6|unix|/nowhere|grpc|AAAA'\nexec sleep 5\n")).await;
    assert!(matches!(deaf, LaunchError::Connect(..)), "{deaf}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_of_instances_shares_its_bound() {
    let Some(folder) = plugins() else { return };
    let store = tempfile::tempdir().unwrap();
    let plugin = Plugin { spec: spec(&folder, "lab", store.path()), checksum: None };
    let pool = ProviderPool::new(PoolOptions { max_open: 8, ..PoolOptions::default() });
    let wanted = |key: &str, group: Option<&str>| InstanceRequest {
        key: key.into(),
        plugin: plugin.clone(),
        config: None,
        bound: group.map(|group| SharedBound { group: group.to_owned(), most: 1 }),
    };
    let a = pool.open(wanted("a", Some("one"))).await.unwrap();
    let second = tokio::spawn({
        let (pool, wanted) = (pool.clone(), wanted("b", Some("one")));
        async move { pool.open(wanted).await.map(|lease| lease.pid()) }
    });
    // Other groups and instances without a group have room.
    let other = pool.open(wanted("c", Some("two"))).await.unwrap();
    let free = pool.open(wanted("d", None)).await.unwrap();
    assert_eq!(pool.open(wanted("a", Some("one"))).await.unwrap().pid(), a.pid(), "the same instance is shared");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!second.is_finished());
    let idle = free.pid();
    drop(free);
    let pid = a.pid();
    drop(a);
    second.await.unwrap().unwrap();
    assert!(!running(pid), "the idle instance of the group was closed");
    assert!(running(other.pid()) && running(idle), "no other instance was");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_keeps_its_limit_and_restarts_dead_plugins() {
    let Some(folder) = plugins() else { return };
    let store = tempfile::tempdir().unwrap();
    let plugin = Plugin { spec: spec(&folder, "lab", store.path()), checksum: Some("h1:lab".into()) };
    let data = tempfile::tempdir().unwrap();
    let schema_cache = Arc::new(SchemaCache::on_disk(data.path()));
    let pool = ProviderPool::new(PoolOptions { max_open: 2, schema_cache, ..PoolOptions::default() });
    let schema = pool.schema(&plugin).await.unwrap();
    let config = |set: &[(&str, Value)]| Some(object(&schema.provider.block, set));
    let wanted = |key: &str| InstanceRequest {
        key: key.into(),
        plugin: plugin.clone(),
        config: config(&[("region", Value::string(key))]),
        bound: None,
    };
    let a = pool.open(wanted("a")).await.unwrap();
    let again = pool.open(wanted("a")).await.unwrap();
    assert_eq!(a.pid(), again.pid());
    // The process that served the schema is closed to make room.
    let b = pool.open(wanted("b")).await.unwrap();
    assert_eq!(pool.open_count(), 2);
    let third = tokio::spawn({
        let (pool, wanted) = (pool.clone(), wanted("c"));
        async move { pool.open(wanted).await.map(|lease| lease.pid()) }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!third.is_finished());
    let pid = a.pid();
    drop(a);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!third.is_finished(), "the other lease still holds it");
    drop(again);
    third.await.unwrap().unwrap();
    assert!(!running(pid));
    // A dead process is replaced, and the new process is configured.
    let pid = b.pid();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    while b.is_alive() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(b);
    let b = pool.open(wanted("b")).await.unwrap();
    assert_ne!(b.pid(), pid);
    let block = &schema.data_sources["lab_region"].block;
    let region = b.read_data_source("lab_region", &object(block, &[]), None).await.unwrap();
    assert_eq!(attribute(&region.value, "name"), Value::string("b"));
    // A refused configuration.
    let refused = InstanceRequest { config: config(&[("fail_configure", Value::string("no entry"))]), ..wanted("bad") };
    match pool.open(refused).await {
        Err(ProviderOpenError::Configure(diagnostics)) => assert_eq!(diagnostics[0].summary, "no entry"),
        other => panic!("{:?}", other.err()),
    }
    // The schema of another process comes from disk.
    assert!(SchemaCache::on_disk(data.path()).get("h1:lab").is_some());
    let pid = b.pid();
    pool.close_all().await;
    assert!(!running(pid));
    assert!(matches!(pool.open(wanted("a")).await, Err(ProviderOpenError::Closed)));
}

fn running(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}
