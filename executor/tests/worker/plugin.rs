//! A worker with a real plugin. `LAB_PLUGINS` names the folder that `tests/conformance/providers/build.sh` filled.
//! Without this variable, these tests print that they are skipped.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use weft_executor::{Packages, WorkerOptions};
use weft_expressions::resource_rules::{all_null, proposed_new};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::graph::{Action, Applied, PlannedObject, PriorObject, Ref, StateRecord};
use weft_graph_format::plan_file::ProviderPackage;
use weft_graph_format::schema::{Block, ProviderSchema};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_proto::cluster::settle_result::Verdict;
use weft_providers::call::PlanRequest;
use weft_providers::{InstanceRequest, LaunchSpec, Plugin, PoolOptions, ProviderPool};

use crate::coordinator::{Coordinator, Item, Order, Outcome, granted, plan_of, put};
use crate::draft::{Draft, address, result};

const SOURCE: &str = "weft.test/lab/lab";

struct Lab {
    folder: TempDir,
    plugin: Plugin,
    pool: ProviderPool,
    schema: Arc<ProviderSchema>,
}

struct OnePackage(Plugin);

impl Packages for OnePackage {
    fn find(&self, _: &ProviderPackage) -> Result<Plugin, Diagnostic> {
        Ok(self.0.clone())
    }
}

impl Lab {
    async fn new() -> Option<Lab> {
        let Some(folder) = std::env::var_os("LAB_PLUGINS").map(PathBuf::from) else {
            eprintln!("\n*** SKIPPED: set LAB_PLUGINS to the folder of tests/conformance/providers/build.sh ***\n");
            return None;
        };
        let platform = folder.join(SOURCE).join("1.1.0").read_dir().unwrap().next().unwrap().unwrap().path();
        let original = platform.join("terraform-provider-lab_v1.1.0");
        let folder = tempfile::tempdir().unwrap();
        // A separate program, so that a test can distinguish its processes from others.
        let program = folder.path().join("terraform-provider-lab");
        std::fs::copy(original, &program).unwrap();
        let plugin = Plugin { spec: LaunchSpec::new("lab", program), checksum: Some("h1:lab".into()) };
        let pool = ProviderPool::new(PoolOptions::default());
        let schema = pool.schema(&plugin).await.unwrap();
        Some(Lab { folder, plugin, pool, schema })
    }

    fn options(&self) -> WorkerOptions {
        WorkerOptions::new("w1", "here:1:2:3", Arc::new(OnePackage(self.plugin.clone())))
    }

    fn config(&self) -> Value {
        let store = self.folder.path().join("store").display().to_string();
        with(&self.schema.provider.block, vec![("store", Value::string(store)), ("region", Value::string("eu"))])
    }

    fn thing(&self) -> &Block {
        &self.schema.resources["lab_thing"].block
    }

    fn draft(&self) -> Draft {
        Draft::new(SOURCE.parse().unwrap(), Formula::constant(self.config()))
    }

    /// Plans a change of a `lab_thing` like a planner, and drafts it.
    async fn change(
        &self,
        draft: &Draft,
        text: &str,
        prior: Option<PriorObject>,
        fields: Vec<(&'static str, Value)>,
        adjust: impl FnOnce(&mut PlannedObject),
    ) -> Ref<Applied> {
        let config = with(self.thing(), fields);
        let bare = config.unmark_deep().0;
        let before = prior.as_ref().map_or_else(|| Value::null(self.thing().implied_type()), |p| p.value.clone());
        let wanted = InstanceRequest {
            key: "test".into(),
            plugin: self.plugin.clone(),
            config: Some(self.config()),
            bound: None,
        };
        let lease = self.pool.open(wanted).await.unwrap();
        let request = PlanRequest {
            address: "lab_thing.a".parse().unwrap(),
            type_name: "lab_thing".into(),
            prior_state: before.clone(),
            proposed_new_state: proposed_new(self.thing(), &before, &bare),
            config: bare.clone(),
            prior_private: Vec::new(),
            provider_meta: None,
            prior_identity: None,
        };
        let reply = lease.plan_resource_change(request).await.unwrap();
        assert!(!reply.has_errors(), "{:?}", reply.diagnostics);
        let action = if prior.is_some() { Action::Update } else { Action::Create };
        let mut planned = Draft::planned(action, reply.value.planned_state, config.is_wholly_known());
        planned.private = reply.value.planned_private;
        adjust(&mut planned);
        draft.change(text, prior, config.to_formula(), planned)
    }

    async fn start(&self, draft: Draft) -> Coordinator {
        let schemas = [(SOURCE.parse().unwrap(), (*self.schema).clone())].into();
        Coordinator::start(plan_of(draft.finish(), schemas), self.options()).await
    }

    async fn run(&self, draft: Draft) -> Coordinator {
        let mut run = self.start(draft).await;
        run.run_all().await;
        run
    }

    /// Creates a thing and returns it in the form of the state.
    async fn made(&self, name: &str, more: Vec<(&'static str, Value)>) -> PriorObject {
        let draft = self.draft();
        let fields = [("name", Value::string(name))].into_iter().chain(more).collect();
        self.change(&draft, "lab_thing.made", None, fields, |_| ()).await;
        let run = self.run(draft).await;
        let writes = run.done(run.operation("lab_thing.made")).writes.clone().unwrap();
        let object = put(&writes.objects[0]);
        let ty = self.thing().implied_type();
        PriorObject {
            value: weft_graph_format::codec::json::decode(&object.attributes, &ty).unwrap(),
            private: object.private.clone(),
            tainted: false,
            revision: 1,
            record: StateRecord {
                schema_version: object.schema_version,
                identity: Some(String::from_utf8(object.identity.clone()).unwrap()),
                ..StateRecord::default()
            },
        }
    }

    /// Processes of this lab's program.
    fn processes(&self) -> Vec<u32> {
        let program = &self.plugin.spec.program;
        let all = std::fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse::<u32>().ok());
        all.filter(|pid| std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == *program)).collect()
    }
}

fn with(block: &Block, fields: Vec<(&'static str, Value)>) -> Value {
    let mut all = all_null(block).as_fields().unwrap().to_map();
    for (name, value) in fields {
        assert!(all.insert(name.into(), value).is_some(), "{name}");
    }
    Value::object(all)
}

fn id_of(object: &PriorObject) -> String {
    object.value.as_fields().unwrap().get("id").unwrap().as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_creates_runs_over_a_plugin() {
    let Some(lab) = Lab::new().await else { return };
    let old = lab.made("old", vec![("size", Value::int(3))]).await;
    let doomed = lab.made("doomed", vec![]).await;
    let draft = lab.draft();
    let secret = ("secret", Value::string("hush"));
    let a = lab.change(&draft, "lab_thing.a", None, vec![("name", Value::string("a")), secret], |_| ()).await;
    let name = result(a.id(), &["id"], Type::String);
    let b = lab.change(&draft, "lab_thing.b", None, vec![("name", name.clone())], |_| ()).await;
    let fields = vec![("name", Value::string("old")), ("color", name), ("size", Value::int(3))];
    lab.change(&draft, "lab_thing.old", Some(old), fields, |_| ()).await;
    draft.delete("lab_thing.doomed", None, doomed);
    let data = &lab.schema.data_sources["lab_thing"].block;
    let config = with(data, vec![("name", result(b.id(), &["name"], Type::String))]);
    let planned = Value::unknown(data.implied_type());
    let read = draft.builder.read_data(
        address("data.lab_thing.d"),
        draft.provider,
        config.to_formula(),
        planned,
        StateRecord::default(),
        Vec::new(),
        false,
        draft.shard.clone(),
        None,
    );
    draft.builder.order(b.id(), read.id());
    let upper = Formula::new(
        FormulaOp::ProviderCall {
            provider: SOURCE.parse().unwrap(),
            function: "upper".into(),
            arguments: vec![result(read.id(), &["region"], Type::String).to_formula()],
            expand_final: false,
        },
        Type::String,
        None,
    );
    draft.output("region", Value::unknown(Type::String).with_formula(Some(upper)));
    let run = lab.run(draft).await;
    let a = run.done(run.operation("lab_thing.a")).writes.clone().unwrap();
    let object = put(&a.objects[0]);
    assert_eq!((object.schema_version, object.sensitive.len()), (2, 1));
    assert!(String::from_utf8_lossy(&object.identity).contains(r#""region":"eu""#));
    let updated = run.object(run.operation("lab_thing.old"));
    assert!(updated.contains(r#""revision":2"#) && updated.contains(r#""size":3"#), "{updated}");
    let read = run.done(run.operation("data.lab_thing.d")).writes.clone().unwrap();
    assert!(String::from_utf8_lossy(&put(&read.objects[0]).attributes).contains(r#""size":1"#));
    run.done(run.operation("lab_thing.doomed"));
    assert_eq!(run.output("region"), r#""EU""#);
    assert_eq!(run.intents.len(), 4);
    let running = lab.processes().len();
    run.order(Order::Leave(true)).await;
    tokio::time::timeout(Duration::from_secs(10), async {
        while lab.processes().len() >= running {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("the configured provider ends with its run");
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_provider_are_reported() {
    let Some(lab) = Lab::new().await else { return };
    let old = lab.made("old", vec![]).await;
    let stuck = lab.made("stuck", vec![("fail_on", Value::string("delete"))]).await;
    let draft = lab.draft();
    let failing = |name: &str, on: &str| vec![("name", Value::string(name)), ("fail_on", Value::string(on))];
    lab.change(&draft, "lab_thing.none", None, failing("none", "create"), |_| ()).await;
    lab.change(&draft, "lab_thing.half", None, failing("half", "create-partial"), |_| ()).await;
    lab.change(&draft, "lab_thing.old", Some(old), failing("old", "update"), |_| ()).await;
    draft.delete("lab_thing.stuck", None, stuck);
    let run = lab.run(draft).await;
    let (failed, problems) = run.failed(run.operation("lab_thing.none"));
    assert!(failed.absence_unproven && failed.writes.is_none() && !failed.unopened);
    assert!(problems[0].summary.contains("create failed"), "{problems:?}");
    let (failed, _) = run.failed(run.operation("lab_thing.half"));
    let writes = failed.writes.clone().unwrap();
    assert!(put(&writes.objects[0]).tainted && !failed.absence_unproven);
    let (failed, _) = run.failed(run.operation("lab_thing.old"));
    let writes = failed.writes.clone().unwrap_or_default();
    assert!(writes.objects.iter().all(|write| !put(write).tainted));
    let (failed, _) = run.failed(run.operation("lab_thing.stuck"));
    let writes = failed.writes.clone().unwrap_or_default();
    assert!(writes.objects.iter().all(|write| !put(write).attributes.is_empty()), "the object is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_with_the_planned_identity_is_shown_and_adopted_only_by_the_user() {
    let Some(lab) = Lab::new().await else { return };
    lab.made("other", vec![("color", Value::string("red"))]).await;
    let draft = lab.draft();
    let named = |name: &str, color: &str| vec![("name", Value::string(name)), ("color", Value::string(color))];
    lab.change(&draft, "lab_thing.same", None, named("other", "red"), |_| ()).await;
    lab.change(&draft, "lab_thing.differs", None, named("other", "blue"), |_| ()).await;
    lab.change(&draft, "lab_thing.absent", None, named("nobody", "red"), |_| ()).await;
    let mut run = lab.start(draft).await;
    let same = run.operation("lab_thing.same");
    let found = run.settled(same, None).await;
    let candidate = found.candidate.clone().unwrap();
    assert!(matches!(&found.verdict, Some(Verdict::Unknown(why)) if why.contains("is as planned")), "{found:?}");
    assert_eq!(candidate.attributes[0].attribute, "id");
    let differs = run.operation("lab_thing.differs");
    let found = run.settled(differs, None).await;
    assert!(matches!(&found.verdict, Some(Verdict::Unknown(why)) if why.ends_with("plan in color")), "{found:?}");
    let absent = run.operation("lab_thing.absent");
    let found = run.settled(absent, None).await;
    assert!(found.candidate.is_none() && matches!(found.verdict, Some(Verdict::Unknown(_))), "{found:?}");
    match run.settle(same, Some(&candidate.id)).await {
        Verdict::Applied(done) => {
            let text = String::from_utf8(put(&done.writes.unwrap().objects[0]).attributes.clone()).unwrap();
            assert!(text.contains("red"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_outcome_of_an_attempt_is_found_by_reading() {
    let Some(lab) = Lab::new().await else { return };
    let old = lab.made("old", vec![("color", Value::string("red"))]).await;
    let other = lab.made("other", vec![]).await;
    let id = id_of(&other);
    let draft = lab.draft();
    let named = |name: &str| vec![("name", Value::string(name))];
    lab.change(&draft, "lab_thing.there", None, named("other"), |p| p.lookup = Some(id.clone())).await;
    lab.change(&draft, "lab_thing.absent", None, named("nobody"), |p| p.lookup = Some("{name}-x".into())).await;
    lab.change(&draft, "lab_thing.blind", None, named("blind"), |p| p.lookup = Some("{id}".into())).await;
    let fields = vec![("name", Value::string("old")), ("color", Value::string("blue"))];
    lab.change(&draft, "lab_thing.old", Some(old.clone()), fields.clone(), |_| ()).await;
    draft.delete("lab_thing.gone", None, PriorObject { value: renamed(&old, "no-such-id"), ..old.clone() });
    let mut run = lab.start(draft).await;
    let of = |run: &Coordinator, text: &str| run.operation(text);
    let there = of(&run, "lab_thing.there");
    match run.settle(there, None).await {
        Verdict::Applied(done) => {
            let text = String::from_utf8(put(&done.writes.unwrap().objects[0]).attributes.clone()).unwrap();
            assert!(text.contains(&id), "{text}");
        }
        other => panic!("{other:?}"),
    }
    let absent = of(&run, "lab_thing.absent");
    assert!(matches!(run.settle(absent, None).await, Verdict::NotApplied(not) if not.holder_dead));
    let blind = of(&run, "lab_thing.blind");
    assert!(matches!(run.settle(blind, None).await, Verdict::Unknown(why) if why.contains("id")));
    let update = of(&run, "lab_thing.old");
    assert!(matches!(run.settle(update, None).await, Verdict::NotApplied(_)));
    let gone = of(&run, "lab_thing.gone");
    assert!(matches!(run.settle(gone, None).await, Verdict::Applied(_)));
    // Another attempt does the update. The attempt in doubt is found to have taken effect.
    let draft = lab.draft();
    lab.change(&draft, "lab_thing.old", Some(old), fields, |_| ()).await;
    lab.run(draft).await;
    match run.settle(update, None).await {
        Verdict::Applied(done) => assert!(!done.writes.unwrap().objects.is_empty()),
        other => panic!("{other:?}"),
    }
    // The next attempt reads first: nothing remains to be done for the created object, nor for the deleted object.
    (run.attempt, run.read_first) = (2, true);
    run.run_all().await;
    run.done(there);
    run.done(gone);
    run.done(update);
    let mut called = run.intents.clone();
    called.sort();
    let mut wanted = vec![absent, blind];
    wanted.sort();
    // The object that cannot be looked up fails before its call.
    wanted.retain(|operation| *operation != blind);
    assert_eq!(called, wanted);
    assert_eq!(run.failed(blind).1[0].summary, "Object cannot be read");
}

fn renamed(object: &PriorObject, id: &str) -> Value {
    let mut fields = object.value.as_fields().unwrap().to_map();
    fields.insert("id".into(), Value::string(id));
    Value::object(fields)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_dies_leaves_a_doubt() {
    let Some(lab) = Lab::new().await else { return };
    let draft = lab.draft();
    let slow = vec![("name", Value::string("slow")), ("delay_ms", Value::int(30_000))];
    lab.change(&draft, "lab_thing.slow", None, slow, |_| ()).await;
    lab.change(&draft, "lab_thing.next", None, vec![("name", Value::string("next"))], |_| ()).await;
    let before = lab.processes();
    let mut run = lab.start(draft).await;
    let (slow, next) = (run.operation("lab_thing.slow"), run.operation("lab_thing.next"));
    run.begin(slow).await;
    granted(&mut run).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    for process in lab.processes().into_iter().filter(|p| !before.contains(p)) {
        std::process::Command::new("kill").args(["-9", &process.to_string()]).status().unwrap();
    }
    let Item::Result(found) = run.next().await else { panic!("no result") };
    match found.outcome {
        Some(Outcome::InDoubt(doubt)) => assert!(doubt.provider_dead, "{}", doubt.reason),
        other => panic!("{other:?}"),
    }
    run.order(Order::Acknowledged(run.name(slow))).await;
    // Other operations continue with a new process.
    run.begin(next).await;
    while !run.outcomes.contains_key(&next) {
        run.step().await;
    }
    run.done(next);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_create_leaves_a_doubt() {
    let Some(lab) = Lab::new().await else { return };
    let draft = lab.draft();
    let slow = vec![("name", Value::string("slow")), ("delay_ms", Value::int(30_000))];
    lab.change(&draft, "lab_thing.slow", None, slow, |_| ()).await;
    let mut run = lab.start(draft).await;
    let slow = run.operation("lab_thing.slow");
    run.begin(slow).await;
    granted(&mut run).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    run.order(Order::Stop(true)).await;
    let Item::Result(found) = run.next().await else { panic!("no result") };
    assert!(matches!(found.outcome, Some(Outcome::InDoubt(_))), "{:?}", found.outcome);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_create_finishes_in_a_drained_run() {
    let Some(lab) = Lab::new().await else { return };
    let draft = lab.draft();
    let slow = vec![("name", Value::string("slow")), ("delay_ms", Value::int(900))];
    lab.change(&draft, "lab_thing.slow", None, slow, |_| ()).await;
    let mut run = lab.start(draft).await;
    let slow = run.operation("lab_thing.slow");
    run.begin(slow).await;
    granted(&mut run).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    run.order(Order::Drain(true)).await;
    let Item::Result(found) = run.next().await else { panic!("no result") };
    assert!(matches!(found.outcome, Some(Outcome::Done(_))), "{:?}", found.outcome);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_provider_configuration_is_reported() {
    let Some(lab) = Lab::new().await else { return };
    let mut fields = lab.config().as_fields().unwrap().to_map();
    fields.insert("fail_configure".into(), Value::string("Out of order"));
    let draft = Draft::new(SOURCE.parse().unwrap(), Formula::constant(Value::object(fields)));
    for i in 0..3 {
        let name = vec![("name", Value::string(format!("n{i}")))];
        lab.change(&draft, &format!("lab_thing.a[{i}]"), None, name, |_| ()).await;
    }
    let mut run = lab.run(draft).await;
    for outcome in run.outcomes.keys() {
        let (failed, problems) = run.failed(*outcome);
        assert_eq!(problems[0].summary, "Out of order");
        assert!(failed.unopened, "another worker may be able to");
    }
    assert_eq!((run.outcomes.len(), run.intents.len()), (3, 0));
    // The search for evidence about a doubt needs the provider, too.
    let first = run.operation("lab_thing.a[0]");
    let settled = run.settled(first, Some("thing-1")).await;
    assert!(matches!(&settled.verdict, Some(Verdict::Unknown(why)) if why.starts_with("Out of order")), "{settled:?}");
    let problems: Vec<Diagnostic> = postcard::from_bytes(&settled.unopened).unwrap();
    assert_eq!(problems[0].summary, "Out of order");
}
