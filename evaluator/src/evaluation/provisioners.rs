//! Provisioners: their validation, and their preparation for apply, where they run.

use std::sync::Arc;

use weft_expressions::scope::Scope;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::schema::Block;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;

use super::connections::effective;
use super::module_node::ModuleNode;
use super::provisioner_schemas::{connection_schema, provisioner_schema};
use super::repetition_data::RepetitionData;
use super::schema_traversal::unknown_parts;
use crate::config::{BodySource, CompiledModule, Provisioner, ResourceBlock};
use crate::decode::decode;
use crate::evaluation::problems::blocks as problems;
use crate::glue::{Failed, Provision};
use crate::reference::{Reference, Referent};

/// The built-in provisioners.
const KINDS: [&str; 3] = [LOCAL_EXEC, "remote-exec", "file"];
/// The provisioner without a connection.
const LOCAL_EXEC: &str = "local-exec";

/// Reports provisioners of resources that would need a plugin, in all modules. Plugins are not supported.
pub fn unknown_provisioners(root: &Arc<CompiledModule>) -> Vec<Diagnostic> {
    let modules = root.all();
    let resources = modules.iter().flat_map(|module| module.resources.values());
    unknown_kinds(resources.flat_map(|block| &block.provisioners))
}

/// Reports provisioners that would need a plugin.
pub(super) fn unknown_kinds<'a>(all: impl Iterator<Item = &'a Provisioner>) -> Vec<Diagnostic> {
    let unknown = all.filter(|found| !KINDS.contains(&found.kind.as_str()));
    unknown.map(|found| problems::unknown_provisioner(found, &KINDS)).collect()
}

/// A provisioner with its arguments. Problems of the arguments are reported when the provisioner runs, because nothing
/// else uses the arguments.
///
/// For a provisioner that connects to another machine, `config` in the result is an object with the arguments of the
/// provisioner and the arguments of the connection. Without a `connection` block, the arguments of the connection are
/// null. `base` is the connection of the resource.
pub(super) fn made_ready(provisioner: &Provisioner, base: Option<&BodySource>, scope: &dyn Scope) -> Option<Provision> {
    let schema = provisioner_schema(&provisioner.kind)?;
    let arguments = computed(&provisioner.body, &schema, scope, &[]);
    let config = match provisioner.kind.as_str() {
        LOCAL_EXEC => arguments,
        _ => {
            let schema = connection_schema();
            let connection = match effective(base, provisioner.connection.as_ref()) {
                Some((body, is_pair)) => {
                    let ignored = if is_pair { unknown_parts(&body, &schema) } else { Vec::new() };
                    computed(&body, &schema, scope, &ignored)
                }
                None => Value::null(schema.implied_type()),
            };
            Value::object([("arguments", arguments), ("connection", connection)])
        }
    };
    Some(Provision {
        kind: provisioner.kind.clone(),
        continues: provisioner.continues,
        config,
        range: provisioner.range.clone(),
    })
}

/// The value of a body. The first error outside of the `ignored` source ranges becomes a formula that fails.
fn computed(body: &BodySource, schema: &Block, scope: &dyn Scope, ignored: &[SourceRange]) -> Value {
    let is_ignored =
        |problem: &Diagnostic| problem.subject.as_ref().is_some_and(|at| ignored.iter().any(|range| range.holds(at)));
    let (value, problems) = decode(body, schema, scope);
    match problems.into_iter().find(|problem| problem.is_error() && !is_ignored(problem)) {
        None => value,
        Some(problem) => {
            let ty = schema.implied_type();
            let failure = Formula::new(FormulaOp::Failure(Box::new(problem)), ty.clone(), None);
            Value::unknown(ty).with_formula(Some(failure)).add_origin(value.deep_origin().as_ref())
        }
    }
}

impl ModuleNode {
    /// The provisioners that run after a create. `repeated` contains the value of `self`. `whole` is the value of the
    /// resource. It is `None` if the resource has several instances: a provisioner of one of them cannot refer to all.
    pub(crate) async fn provisions(
        self: &Arc<Self>,
        block: &ResourceBlock,
        whole: Option<Value>,
        repeated: &RepetitionData,
    ) -> Result<Vec<Provision>, Failed> {
        let mut found = Vec::new();
        let own = Referent::Resource(block.resource.clone());
        for provisioner in block.provisioners.iter().filter(|provisioner| !provisioner.on_destroy) {
            let base = block.connection.as_ref().filter(|_| provisioner.kind != LOCAL_EXEC);
            let of_base = base.into_iter().flat_map(|connection| &connection.references);
            let (to_own, references): (Vec<Reference>, Vec<Reference>) =
                provisioner.references.iter().chain(of_base).cloned().partition(|reference| reference.subject == own);
            if let (Some(circle), None) = (to_own.first(), &whole) {
                if self.evaluation.purpose().checks_references() {
                    continue;
                }
                let problem = super::problems::resources::provisioner_refers_to_itself(&block.resource, &circle.range);
                return self.fail(problem);
            }
            let mut scope = self.scope(&references, repeated).await?;
            if let Some(whole) = whole.as_ref().filter(|_| !to_own.is_empty()) {
                scope.insert(own.clone(), whole.clone());
            }
            found.extend(made_ready(provisioner, base.map(|connection| &connection.body), &scope));
        }
        Ok(found)
    }

    /// Validates the provisioners and connections of a resource. `repeated` contains the value of `self`, which is
    /// unknown.
    pub(crate) async fn validate_provisioners(
        self: &Arc<Self>,
        block: &ResourceBlock,
        repeated: &RepetitionData,
    ) -> Result<(), Failed> {
        let mut failed = self.validate_connections(block, repeated).await.is_err();
        for provisioner in &block.provisioners {
            failed |= self.validate_provisioner(block, provisioner, repeated).await.is_err();
        }
        if failed { Err(Failed) } else { Ok(()) }
    }

    async fn validate_provisioner(
        self: &Arc<Self>,
        block: &ResourceBlock,
        provisioner: &Provisioner,
        repeated: &RepetitionData,
    ) -> Result<(), Failed> {
        let Some(schema) = provisioner_schema(&provisioner.kind) else { return Err(Failed) };
        let references = &provisioner.references;
        let mut failed = false;
        let arguments = match self.decoded(block, (&provisioner.body, &schema), references, repeated).await {
            Ok(value) => value,
            Err(Some(value)) => {
                failed = true;
                value
            }
            Err(None) => return Err(Failed),
        };
        if let Some(problem) = unsound(&provisioner.kind, &arguments) {
            self.evaluation.glue.report(problem);
            failed = true;
        }
        if failed { Err(Failed) } else { Ok(()) }
    }

    /// Decodes a body in a block by its schema. `Err(None)` means that the references of the body have problems.
    pub(super) async fn decoded(
        self: &Arc<Self>,
        block: &ResourceBlock,
        (body, schema): (&BodySource, &Block),
        references: &[Reference],
        repeated: &RepetitionData,
    ) -> Result<Value, Option<Value>> {
        let scope = self.scope_in_block(block, references, repeated).await.map_err(|Failed| None)?;
        let (value, problems) = decode(body, schema, &scope);
        let failed = problems.iter().any(Diagnostic::is_error);
        problems.into_iter().for_each(|problem| self.evaluation.glue.report(problem));
        if failed { Err(Some(value)) } else { Ok(value) }
    }
}

/// The problem that a built-in provisioner finds in its arguments, without a source range.
fn unsound(kind: &str, arguments: &Value) -> Option<Diagnostic> {
    let fields = arguments.as_fields()?;
    let given = |name: &str| fields.get(name).is_some_and(|value| !value.is_null());
    let empty = |name: &str| fields.get(name).is_none_or(|value| value.is_null() || value.as_str() == Some(""));
    match kind {
        "local-exec" if empty("command") => Some(problems::no_command()),
        "remote-exec" => match ["inline", "script", "scripts"].into_iter().filter(|name| given(name)).count() {
            1 => None,
            0 => Some(problems::no_script()),
            _ => Some(problems::several_scripts()),
        },
        "file" if empty("destination") => Some(problems::no_destination()),
        "file" if given("source") && given("content") => Some(problems::two_sources()),
        "file" if !given("source") && !given("content") => Some(problems::no_source()),
        _ => None,
    }
}
