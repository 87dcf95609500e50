//! The test harness: makes a plan from a configuration and a state, and converts the plan to text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use weft_evaluator::Environment;
use weft_evaluator::config::{link_problems, load_tree};
use weft_evaluator::given_variables::{GivenVariable, GivenVariables};
use weft_evaluator::selection::{SelectedAddress, Selection};
use weft_graph_format::address::{DeposedKey, ProviderSource, ResourceInstance};
use weft_graph_format::changes::{Importing, ResourceChange};
use weft_graph_format::codec::json;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::{disassemble, verify};
use weft_graph_format::stored::PathStep;
use weft_graph_format::value::Value;
use weft_planner::planning::PlanInputs;
use weft_planner::{PlanKind, PlanOptions, PlanOutcome, Planned, ProgressSender, ProviderSet, plan};
use weft_providers::{PoolOptions, ProviderPool};
use weft_state::{
    InstanceObject, InstanceRecord, OutputRecord, RawJson, Revision, Snapshot, StoredInstance, StoredOutput,
    StoredProvider,
};

use crate::plugin::{self, World};

/// The provider of the types `test_...`.
const TEST: &str = "provider[\"registry.opentofu.org/hashicorp/test\"]";
/// The built-in provider.
const BUILTIN: &str = "provider[\"terraform.io/builtin/terraform\"]";

/// A plan to make.
pub struct Case {
    files: Vec<(String, String)>,
    snapshot: Snapshot,
    given: GivenVariables,
    options: PlanOptions,
    world: World,
}

/// A stored instance.
#[derive(Clone)]
pub struct Object {
    record: InstanceRecord,
}

/// An object of the test provider in the state. Attributes that are not given are null.
pub fn object(address: &str, attributes: &str) -> Object {
    let object = Object::new(address, InstanceObject::new(plugin::VERSION, RawJson::new(whole(attributes))));
    object.sensitive(&[PathStep::Attribute("secret".to_owned())])
}

/// An object of `terraform_data` in the state, with all its attributes.
pub fn builtin(address: &str, attributes: &str) -> Object {
    Object::new(address, InstanceObject::new(0, RawJson::new(attributes)))
}

/// An object of the test provider in the state, with only an id.
pub fn bare(address: &str, id: &str) -> Object {
    builtin(address, &format!(r#"{{"id":"{id}","input":null,"output":null,"triggers_replace":null}}"#))
}

/// The JSON object with all attributes of a `test_thing`.
fn whole(attributes: &str) -> String {
    let mut found: serde_json::Value = serde_json::from_str(attributes).expect("JSON");
    let fields = found.as_object_mut().expect("an object");
    for name in plugin::names() {
        fields.entry(name).or_insert(serde_json::Value::Null);
    }
    found.to_string()
}

impl Object {
    fn new(address: &str, object: InstanceObject) -> Object {
        let address: ResourceInstance = address.parse().expect("an address");
        let is_builtin = address.resource.type_name.starts_with("terraform_");
        let provider = StoredProvider::read(if is_builtin { BUILTIN } else { TEST });
        let mut record = InstanceRecord::new(address, provider);
        record.current = Some(object);
        Object { record }
    }

    fn with(mut self, change: impl FnMut(&mut InstanceObject)) -> Object {
        self.record.current.iter_mut().for_each(change);
        self
    }

    /// Adds stored dependencies.
    pub fn needs(self, names: &[&str]) -> Object {
        self.with(|object| object.dependencies = names.iter().map(ToString::to_string).collect())
    }

    /// Marks the object as tainted.
    pub fn tainted(self) -> Object {
        self.with(|object| object.tainted = true)
    }

    /// Marks the object as recorded create-first.
    pub fn create_first(self) -> Object {
        self.with(|object| object.create_before_destroy = true)
    }

    /// Marks the object as recorded not to be destroyed.
    pub fn skip_destroy(self) -> Object {
        self.with(|object| object.skip_destroy = true)
    }

    /// Adds a stored sensitive path. A step is the name of an attribute, or the JSON of an index.
    pub fn sensitive(self, steps: &[PathStep]) -> Object {
        self.with(|object| object.sensitive_paths.push(steps.to_vec()))
    }

    /// Sets another schema version.
    pub fn version(self, version: u64) -> Object {
        self.with(|object| object.schema_version = version)
    }

    /// Sets another provider configuration.
    pub fn provider(mut self, provider: &str) -> Object {
        self.record.provider = StoredProvider::read(provider);
        self
    }

    /// Adds a deposed object.
    pub fn deposed(mut self, key: &str, attributes: &str) -> Object {
        let object = InstanceObject::new(plugin::VERSION, RawJson::new(whole(attributes)));
        self.record.deposed.insert(DeposedKey(key.into()), object);
        self
    }

    /// Removes the current object.
    pub fn without_current(mut self) -> Object {
        self.record.current = None;
        self
    }
}

impl Case {
    /// A plan of a root module with this text.
    pub fn of(main: &str) -> Case {
        Case {
            files: vec![("main.tf".into(), main.into())],
            snapshot: Snapshot::default(),
            given: GivenVariables::new(),
            options: PlanOptions {
                kind: PlanKind::Normal,
                refresh: true,
                selection: Selection::All,
                replace: Vec::new(),
                timestamp: String::from("2026-01-01T00:00:00Z"),
            },
            world: World::default(),
        }
    }

    /// Adds another file.
    pub fn file(mut self, path: &str, text: &str) -> Case {
        self.files.push((path.into(), text.into()));
        self
    }

    /// Adds an object in the state.
    pub fn stored(mut self, object: Object) -> Case {
        let stored = StoredInstance { record: object.record, revision: Revision(1) };
        self.snapshot.instances.insert(stored.record.address.clone(), stored);
        self
    }

    /// Adds an output in the state: its value and its type as JSON.
    pub fn stored_output(mut self, name: &str, value: &str, value_type: &str, sensitive: bool) -> Case {
        let (value, value_type) = (RawJson::new(value), RawJson::new(value_type));
        let record = OutputRecord { value, value_type, sensitive, deprecated: None };
        self.snapshot.outputs.insert(name.into(), StoredOutput { record, revision: Revision(1) });
        self
    }

    /// Adds a real object of the test provider that differs from the state.
    pub fn real(self, id: &str, attributes: &str) -> Case {
        self.world.lock().insert(id.into(), Some(whole(attributes)));
        self
    }

    /// Removes the real object with this id.
    pub fn gone(self, id: &str) -> Case {
        self.world.lock().insert(id.into(), None);
        self
    }

    /// Sets the kind of the plan.
    pub fn kind(mut self, kind: PlanKind) -> Case {
        self.options.kind = kind;
        self
    }

    /// Makes the plan a destroy plan.
    pub fn destroy(self) -> Case {
        self.kind(PlanKind::Destroy)
    }

    /// Disables the reading of real objects.
    pub fn without_refresh(mut self) -> Case {
        self.options.refresh = false;
        self
    }

    /// Adds `-target` options.
    pub fn target(mut self, addresses: &[&str]) -> Case {
        self.options.selection = Selection::Only(selected(addresses));
        self
    }

    /// Adds `-exclude` options.
    pub fn exclude(mut self, addresses: &[&str]) -> Case {
        self.options.selection = Selection::AllBut(selected(addresses));
        self
    }

    /// Adds a `-replace` option.
    pub fn replace(mut self, address: &str) -> Case {
        self.options.replace.push(address.parse().expect("an address"));
        self
    }

    /// Adds a given variable.
    pub fn given(mut self, name: &str, value: Value) -> Case {
        let given = GivenVariable { value, range: None, source: String::from("the test") };
        self.given.insert(name.into(), given);
        self
    }

    /// Makes the plan. Problems of loading are returned as problems of the plan.
    pub async fn plan(self) -> PlanOutcome {
        let dir = tempfile::tempdir().expect("a directory");
        for (path, text) in &self.files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let (root, _, mut problems) = load_tree(dir.path(), &BTreeMap::new());
        if problems.is_empty() {
            problems = link_problems(&root);
        }
        if !problems.is_empty() {
            return PlanOutcome { diagnostics: problems, ..PlanOutcome::default() };
        }
        let uses = |text: &(String, String)| text.1.contains("test_") || text.1.contains("provider::test");
        let used =
            self.files.iter().any(uses) || self.snapshot.instances.values().any(|i| i.record.provider.text() == TEST);
        let plugin = if used { Some(plugin::start(self.world).await) } else { None };
        let found =
            Arc::new(move |source: &ProviderSource| match plugin.clone().filter(|_| source.type_name == "test") {
                Some(plugin) => Ok(plugin),
                None => Err(Diagnostic::error("No plugin", format!("{source} is not installed in this test."))),
            });
        plan(PlanInputs {
            root,
            environment: Environment::new(dir.path().to_path_buf()),
            given: self.given,
            snapshot: Arc::new(self.snapshot),
            providers: Arc::new(ProviderSet::new(found, ProviderPool::new(PoolOptions::default()), 4)),
            options: self.options,
            progress: ProgressSender::none(),
        })
        .await
    }

    /// Makes the plan, which must have no diagnostics.
    pub async fn planned(self) -> Planned {
        let outcome = self.plan().await;
        assert_eq!(outcome.diagnostics, Vec::<Diagnostic>::new());
        let planned = outcome.planned.expect("a plan");
        assert_eq!(verify(&planned.graph), Vec::new());
        planned
    }

    /// The problems of the plan, then its changes.
    pub async fn shown(self) -> String {
        let outcome = self.plan().await;
        let mut text = problems(&outcome.diagnostics);
        if let Some(planned) = &outcome.planned {
            assert_eq!(verify(&planned.graph), Vec::new());
            text.push_str(&changes(planned));
        }
        text
    }

    /// Only the problems of the plan.
    pub async fn problems(self) -> String {
        problems(&self.plan().await.diagnostics)
    }

    /// The disassembled graph of a plan without errors. Providers have short names, and null attributes are omitted.
    pub async fn graph(self) -> String {
        let outcome = self.plan().await;
        assert!(!outcome.has_errors(), "{}", problems(&outcome.diagnostics));
        let graph = outcome.planned.expect("a plan").graph;
        assert_eq!(verify(&graph), Vec::new());
        let lines = disassemble(&graph).replace(TEST, "test").replace(BUILTIN, "terraform");
        lines.lines().map(|line| format!("{}\n", without_nulls(line))).collect()
    }
}

/// The line without attributes that are null, and without the types of null objects.
fn without_nulls(line: &str) -> String {
    const NULL_OBJECT: &str = "null:object({";
    let mut text = String::new();
    let whole = line.split_once(NULL_OBJECT).and_then(|(head, rest)| Some((head, rest.split_once("})")?.1)));
    let line = &whole.map_or_else(|| line.to_owned(), |(head, rest)| format!("{head}null{rest}"));
    for piece in line.split(", ") {
        let piece = match piece.find(" null:") {
            None => piece.to_owned(),
            Some(at) => {
                let (name, value) = piece.split_at(at);
                let head = name.rfind('{').map_or("", |brace| &name[..=brace]);
                let tail = value.find('}').map_or("", |brace| &value[brace..]);
                format!("{head}{tail}")
            }
        };
        let joins = text.is_empty() || text.ends_with('{') || piece.is_empty() || piece.starts_with('}');
        text.push_str(if joins { "" } else { ", " });
        text.push_str(&piece);
    }
    text
}

fn selected(addresses: &[&str]) -> Vec<SelectedAddress> {
    addresses.iter().map(|text| SelectedAddress::parse(text).expect("an address")).collect()
}

/// One line for each diagnostic: severity, source range, summary, and the address of its object. Details are omitted,
/// so that they can change freely.
pub fn problems(found: &[Diagnostic]) -> String {
    let mut text = String::new();
    for problem in found {
        let severity = if problem.is_error() { "error" } else { "warning" };
        let place = match &problem.subject {
            Some(at) => format!(" {}:{}", at.file, at.start.line),
            None => String::new(),
        };
        let about = problem.address.as_ref().map(|address| format!(" ({address})")).unwrap_or_default();
        let _ = writeln!(text, "{severity}{place} {}{about}", problem.summary);
    }
    text
}

/// The changes as text: drift, resources, outputs.
pub fn changes(planned: &Planned) -> String {
    let mut text = String::new();
    for drift in &planned.changes.drift {
        text.push_str("drift: ");
        change(&mut text, drift);
    }
    for resource in &planned.changes.resources {
        change(&mut text, resource);
    }
    for (name, output) in &planned.changes.outputs {
        let _ = writeln!(
            text,
            "{} output {name}: {} -> {}",
            output.action.word(),
            said(&output.before),
            said(&output.after)
        );
    }
    text
}

fn change(text: &mut String, change: &ResourceChange) {
    let _ = write!(text, "{} {}", change.action.words().join("+"), change.address);
    if let Some(key) = &change.deposed {
        let _ = write!(text, " (deposed {})", key.0);
    }
    if let Some(reason) = change.reason.word() {
        let _ = write!(text, ", {reason}");
    }
    if let Some(previous) = &change.previous_address {
        let _ = write!(text, ", moved from {previous}");
    }
    match change.importing.as_deref() {
        Some(Importing::Id(id)) => drop(write!(text, ", import {id}")),
        Some(Importing::Identity(identity)) => drop(write!(text, ", import {}", said(identity))),
        None => {}
    }
    text.push('\n');
    let fields = |value: &Value| value.as_fields().map(weft_graph_format::value::Entries::to_map).unwrap_or_default();
    let (before, after) = (fields(&change.before), fields(&change.after));
    let is_replaced = |name: &str| {
        let path = weft_graph_format::path::Path::ROOT.attribute(name);
        change.replace_paths.contains(&path)
    };
    for (name, new) in &after {
        let old = before.get(name).map_or_else(|| "null".into(), said);
        let new = said(new);
        if old != new {
            let forces = if is_replaced(name) { " # forces replacement" } else { "" };
            let _ = writeln!(text, "  {name}: {old} -> {new}{forces}");
        }
    }
}

/// A value as text: `?` is unknown.
pub fn said(value: &Value) -> String {
    if value.marks().is_sensitive() {
        return format!("sensitive {}", said(&value.unmark().0));
    }
    if value.is_null() {
        return "null".into();
    }
    if !value.is_known() {
        return "?".into();
    }
    if let Some(fields) = value.as_fields() {
        let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name} = {}", said(value))).collect();
        return format!("{{{}}}", fields.join(", "));
    }
    if let Some(items) = value.as_items() {
        return format!("[{}]", items.iter().map(said).collect::<Vec<_>>().join(", "));
    }
    json::encode(&value.unmark_deep().0, &value.ty()).unwrap_or_else(|error| error.to_string())
}
