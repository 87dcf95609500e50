//! The test harness: turns files into problems and evaluated instances, as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use weft_evaluator::config::{CompiledModule, StaticInputs, link_problems, load_tree_with};
use weft_evaluator::given_variables::{GivenVariable, GivenVariables};
use weft_evaluator::glue::{
    Brief, DesiredInstance, Expansion, Failed, Glue, ImportBy, Managed, OpenCheck, Protection, Provision, RootOutput,
    ValueName,
};
use weft_evaluator::purpose::{Planning, Purpose};
use weft_evaluator::selection::{SelectedAddress, Selection};
use weft_evaluator::{Environment, evaluate_configuration};
use weft_expressions::functions::FunctionError;
use weft_graph_format::address::{AbsResource, ModuleInstance, ProviderInstance, ProviderSource, ResourceInstance};
use weft_graph_format::codec::json;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::origin::Origin;
use weft_graph_format::plan_file::CheckResult;
use weft_graph_format::schema::ProviderSchema;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;

use crate::provider;

/// A configuration to evaluate.
pub struct Script {
    files: Vec<(String, String)>,
    given: Vec<(String, Value)>,
    selection: Selection,
    details: bool,
}

impl Script {
    /// Creates a configuration with this `main.tf`.
    pub fn of(main: &str) -> Script {
        let files = vec![("main.tf".into(), main.into())];
        Script { files, given: Vec::new(), selection: Selection::All, details: false }
    }

    /// Adds another file.
    pub fn file(mut self, path: &str, text: &str) -> Script {
        self.files.push((path.into(), text.into()));
        self
    }

    /// Adds a given variable.
    pub fn given(mut self, name: &str, value: impl Into<Given>) -> Script {
        self.given.push((name.into(), value.into().0));
        self
    }

    /// Adds `-target` options.
    pub fn target(mut self, addresses: &[&str]) -> Script {
        self.selection = Selection::Only(selected(addresses));
        self
    }

    /// Adds `-exclude` options.
    pub fn exclude(mut self, addresses: &[&str]) -> Script {
        self.selection = Selection::AllBut(selected(addresses));
        self
    }

    /// Includes the details of diagnostics. Most tests leave them out, because their texts may change.
    pub fn with_details(mut self) -> Script {
        self.details = true;
        self
    }

    fn given_variables(&self) -> GivenVariables {
        let given = |value: &Value| GivenVariable { value: value.clone(), range: None, source: "the test".into() };
        self.given.iter().map(|(name, value)| (name.as_str().into(), given(value))).collect()
    }

    /// The compiled modules, and the problems of loading and linking them.
    pub fn loaded(&self) -> (Arc<CompiledModule>, Vec<Diagnostic>) {
        let dir = tempfile::tempdir().expect("a directory");
        for (path, text) in &self.files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let given = self.given_variables();
        let values = move |_: &CompiledModule| given.clone().into();
        let inputs = StaticInputs { given: &values, workspace: "default".into(), encryption: None };
        let (root, _, mut problems) = load_tree_with(dir.path(), &BTreeMap::new(), &inputs);
        if problems.is_empty() {
            problems = link_problems(&root);
        }
        (root, problems)
    }

    /// The problems of loading and linking the files.
    pub fn load_problems(&self) -> String {
        self.text(self.loaded().1)
    }

    /// The problems that `weft validate` finds.
    pub async fn problems(&self) -> String {
        let (root, mut problems) = self.loaded();
        if !has_errors(&problems) {
            problems.extend(self.evaluated(root, Purpose::Validate).await.problems);
        }
        self.text(problems)
    }

    /// The problems of an evaluation for a plan, and what was evaluated. The configuration must load without errors.
    pub async fn planned(&self) -> String {
        let (root, problems) = self.loaded();
        if has_errors(&problems) {
            return self.text(problems);
        }
        let said = self.evaluated(root, Purpose::Plan(Planning::Normal)).await;
        let mut evaluated = said.evaluated;
        evaluated.sort();
        self.text(said.problems) + &evaluated.concat()
    }

    async fn evaluated(&self, root: Arc<CompiledModule>, purpose: Purpose) -> Said {
        let brief = Brief { selection: self.selection.clone(), ..Brief::new(purpose) };
        let recorder = Arc::new(Recorder { brief, said: Mutex::default() });
        let given = if purpose != Purpose::Validate { self.given_variables() } else { GivenVariables::new() };
        let environment = Environment::new(std::path::PathBuf::from("."));
        let outcome = evaluate_configuration(root, recorder.clone(), environment, given).await;
        let said = std::mem::take(&mut *recorder.said.lock());
        assert_eq!(outcome.is_err(), has_errors(&said.problems), "{:?}", said.problems);
        said
    }

    /// One line for each problem: severity, position, summary, and the object with the problem.
    fn text(&self, mut problems: Vec<Diagnostic>) -> String {
        problems.sort_by(|a, b| (&a.subject, &a.summary).cmp(&(&b.subject, &b.summary)));
        problems.dedup();
        let mut text = String::new();
        for problem in problems {
            let severity = if problem.is_error() { "error" } else { "warning" };
            let place = match &problem.subject {
                Some(at) => format!(" {}:{}", at.file, at.start.line),
                None => String::new(),
            };
            let about = problem.address.as_ref().map(|address| format!(" ({address})")).unwrap_or_default();
            let _ = writeln!(text, "{severity}{place} {}{about}", problem.summary);
            if self.details {
                let _ = writeln!(text, "  {}", problem.detail);
            }
        }
        text
    }
}

/// A given value: a string or any other value.
pub struct Given(Value);

impl From<&str> for Given {
    fn from(text: &str) -> Given {
        Given(Value::string(text))
    }
}

impl From<Value> for Given {
    fn from(value: Value) -> Given {
        Given(value)
    }
}

fn selected(addresses: &[&str]) -> Vec<SelectedAddress> {
    addresses.iter().map(|text| SelectedAddress::parse(text).expect("an address")).collect()
}

/// The output of an evaluation.
#[derive(Default)]
struct Said {
    problems: Vec<Diagnostic>,
    /// Lines for instances, providers, conditions, outputs.
    evaluated: Vec<String>,
}

/// A planner that records the calls of the evaluation.
struct Recorder {
    brief: Brief,
    said: Mutex<Said>,
}

impl Recorder {
    fn note(&self, line: String) {
        self.said.lock().evaluated.push(format!("{line}\n"));
    }

    fn note_desired(&self, desired: &DesiredInstance) {
        let mut line = format!("{} {}", desired.address, said(&desired.config));
        let owner = desired.provider.to_string().replace(HASHICORP, " test");
        if owner != "provider test" {
            let _ = write!(line, ", {owner}");
        }
        if !desired.dependencies.is_empty() {
            let _ = write!(line, ", needs {}", desired.dependencies.join(" "));
        }
        if desired.create_first {
            line.push_str(", create first");
        }
        if let Some(wish) = &desired.import {
            let by = match &wish.by {
                ImportBy::Id(id) => id.to_string(),
                ImportBy::Identity(identity) => said(identity),
            };
            let _ = write!(line, ", import {by}");
        }
        for trigger in &desired.triggers {
            let key = trigger.key.as_ref().map(ToString::to_string).unwrap_or_default();
            let _ = write!(line, ", triggered by {}{key}{}", trigger.resource, trigger.path);
        }
        self.note(line);
    }
}

const HASHICORP: &str = "[\"registry.opentofu.org/hashicorp/test\"]";

#[async_trait]
impl Glue for Recorder {
    fn brief(&self) -> Brief {
        self.brief.clone()
    }

    async fn provider_schema(&self, source: &ProviderSource) -> Result<Arc<ProviderSchema>, Diagnostic> {
        provider::provider_schema(source).ok_or_else(|| Diagnostic::error("No plugin", source.to_string()))
    }

    async fn provider_instance(
        &self,
        instance: &ProviderInstance,
        config: &Value,
        _: &SourceRange,
    ) -> Result<(), Failed> {
        let name = instance.to_string().replace(HASHICORP, " test");
        if said(config) != "{}" {
            self.note(format!("{name} {}", said(config)));
        }
        Ok(())
    }

    async fn managed(&self, desired: DesiredInstance) -> Result<Managed, Failed> {
        self.note_desired(&desired);
        let created = desired.block.is_provisioned;
        Ok(Managed { value: provider::planned(&desired.config, &desired.schema), created })
    }

    fn provision(&self, address: &ResourceInstance, provisions: Vec<Provision>) -> Option<Origin> {
        for one in provisions {
            self.note(format!("provision {address} {} {}", one.kind, said(&one.config)));
        }
        None
    }

    async fn data(&self, desired: DesiredInstance) -> Result<Value, Failed> {
        self.note_desired(&desired);
        Ok(provider::made(desired.address.resource.mode, &desired.config))
    }

    async fn ephemeral(&self, desired: DesiredInstance) -> Result<Value, Failed> {
        self.note_desired(&desired);
        Ok(provider::made(desired.address.resource.mode, &desired.config))
    }

    fn expanded(&self, resource: &AbsResource, _: &Expansion, protection: Option<Protection>) {
        if let Some(protection) = protection {
            self.note(format!("protection of {resource}: {}", said(&protection.value)));
        }
    }

    fn module_expanded(&self, _: &ModuleInstance, _: &str, _: &Expansion) {}

    fn named(&self, _: &ValueName, value: Value) -> Value {
        value
    }

    fn open_check(&self, check: OpenCheck) -> Option<Origin> {
        self.note(format!("open condition of {}:{} {}", check.range.file, check.range.start.line, check.address));
        None
    }

    fn checked(&self, result: CheckResult) {
        let messages: Vec<String> = result.messages.iter().map(|message| format!(" {message:?}")).collect();
        self.note(format!("checked {}: {}{}", result.address, result.status.word(), messages.concat()));
    }

    fn root_output(&self, output: RootOutput) {
        let marked = if output.sensitive { " (declared sensitive)" } else { "" };
        self.note(format!("output {} = {}{marked}", output.name, said(&output.value)));
    }

    async fn provider_function(
        &self,
        _: &ProviderSource,
        _: Option<&ProviderInstance>,
        _: &str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        let heard = arguments.first().and_then(Value::as_str).unwrap_or_default();
        if heard.is_empty() {
            return Err(FunctionError { argument: Some(0), message: "nothing to shout".into() });
        }
        Ok(Value::string(heard.to_uppercase()))
    }

    fn report(&self, diagnostic: Diagnostic) {
        self.said.lock().problems.push(diagnostic);
    }
}

/// A value as text: `?` is unknown. Null attributes and empty blocks are left out.
fn said(value: &Value) -> String {
    let mut text = String::new();
    if value.marks().is_sensitive() {
        text.push_str("sensitive ");
    }
    if value.marks().is_ephemeral() {
        text.push_str("ephemeral ");
    }
    if value.is_null() {
        text.push_str("null");
    } else if !value.is_known() {
        text.push('?');
    } else if let Some(fields) = value.as_fields() {
        let is_empty = |value: &Value| value.is_null() || value.as_items().is_some_and(<[Value]>::is_empty);
        let fields = fields.iter().filter(|(_, value)| !is_empty(value));
        let fields: Vec<String> = fields.map(|(name, value)| format!("{name} = {}", said(value))).collect();
        let _ = write!(text, "{{{}}}", fields.join(", "));
    } else if let Some(items) = value.as_items() {
        let _ = write!(text, "[{}]", items.iter().map(said).collect::<Vec<_>>().join(", "));
    } else {
        let plain = value.unmark_deep().0;
        text.push_str(&json::encode(&plain, &plain.ty()).unwrap_or_else(|error| error.to_string()));
    }
    text
}
