//! Static values: values that are needed before planning, such as module sources, `for_each` of providers, backend
//! settings, and `const` variables. Their expressions can use only variables, locals, built-in functions, paths and the
//! name of the workspace.
//!
//! Static values are evaluated on demand while the tree is loaded, callers first. Each named value is evaluated once.

mod problems;
mod scope;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use smol_str::SmolStr;
use weft_expressions::constant::evaluate_constant;
use weft_expressions::convert::{convert, convert_with_defaults};
use weft_expressions::evaluate::evaluate;
use weft_graph_format::address::Module;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::marks::Marks;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_syntax::Expression;

use self::scope::StaticScope;
use super::{CompiledModule, Local, ModuleCall, Variable};
use crate::given_variables::GivenVariables;
use crate::reference::{Reference, Referent, references_of};

/// The inputs of static values, apart from the configuration.
pub struct StaticInputs<'a> {
    /// Returns the values of the root module's variables. Called once, after the blocks of the root module are read.
    pub given: &'a dyn Fn(&CompiledModule) -> StaticGiven,
    /// The workspace.
    pub workspace: SmolStr,
    /// The encryption settings from the environment.
    pub encryption: Option<String>,
}

/// Given values of the root module's variables.
#[derive(Debug, Default)]
pub struct StaticGiven {
    /// The values.
    pub values: GivenVariables,
    /// Problems of values that cannot be read, by the name of the variable.
    pub broken: BTreeMap<SmolStr, Vec<Diagnostic>>,
}

impl From<GivenVariables> for StaticGiven {
    fn from(values: GivenVariables) -> StaticGiven {
        StaticGiven { values, broken: BTreeMap::new() }
    }
}

/// The name of a value: its module, and its name there.
type StaticName = (Module, Referent);

/// The argument or value that needs a static value, with its range, for messages.
pub(super) struct Needing {
    pub(super) text: String,
    pub(super) range: SourceRange,
    /// The experiment that would allow a value that is known only later.
    pub(super) experiment: Option<&'static str>,
}

impl Needing {
    /// Creates an argument that needs a static value regardless of experiments.
    pub(super) fn new(text: String, range: SourceRange) -> Needing {
        Needing { text, range, experiment: None }
    }
}

/// The declarations of a module that static values can use.
struct Frame {
    variables: BTreeMap<SmolStr, Arc<Variable>>,
    locals: BTreeMap<SmolStr, Arc<Local>>,
    dir: String,
    call: Option<Arc<ModuleCall>>,
}

/// The static values of a tree of modules.
pub(super) struct StaticValues {
    frames: BTreeMap<Module, Frame>,
    given: StaticGiven,
    workspace: SmolStr,
    root_dir: PathBuf,
    cwd: PathBuf,
    values: BTreeMap<StaticName, Result<Value, NoValue>>,
    /// Values that depend on themselves.
    circular: BTreeSet<StaticName>,
    occurrences: AtomicU32,
    parameters: AtomicU32,
}

/// The reason why a name has no value. The cause has been reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoValue {
    /// A value that the name depends on is missing. The problem is also reported for each user of the name.
    NotComputed,
    /// The value does not fit the declaration of the name. Nothing is reported for the users of the name.
    Unsuitable,
}

enum Visit {
    Enter(StaticName),
    Leave(StaticName),
}

/// The definition of a named value.
struct Definition {
    /// The module in which the expression is evaluated.
    home: Module,
    expression: Expression,
    needing: Needing,
}

impl StaticValues {
    pub(super) fn new(root_dir: &Path, workspace: &SmolStr) -> StaticValues {
        StaticValues {
            frames: BTreeMap::new(),
            given: StaticGiven::default(),
            circular: BTreeSet::new(),
            workspace: workspace.clone(),
            root_dir: root_dir.to_owned(),
            cwd: std::env::current_dir().unwrap_or_else(|_| root_dir.to_owned()),
            values: BTreeMap::new(),
            occurrences: AtomicU32::new(0),
            parameters: AtomicU32::new(0),
        }
    }

    /// Sets the values of the root module's variables.
    pub(super) fn give(&mut self, given: StaticGiven) {
        self.given = given;
    }

    /// Adds a module. Its caller must have been added before.
    pub(super) fn enter(&mut self, module: &CompiledModule, call: Option<Arc<ModuleCall>>) {
        let frame =
            Frame { variables: module.variables.clone(), locals: module.locals.clone(), dir: module.dir.clone(), call };
        self.frames.insert(module.path.clone(), frame);
    }

    /// Evaluates an expression of a module. Returns `None` and reports the problem if the expression cannot be
    /// evaluated.
    pub(super) fn evaluate(
        &mut self,
        module: &Module,
        expression: &Expression,
        needing: &Needing,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Value> {
        self.prepare(module, expression, diagnostics);
        self.finish(module, expression, needing, diagnostics)
    }

    /// Like `evaluate`, but returns the value even if the expression itself has errors. The second part of the result
    /// says whether the expression has errors.
    pub(super) fn attempt(
        &mut self,
        module: &Module,
        expression: &Expression,
        needing: &Needing,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<(Value, bool)> {
        self.prepare(module, expression, diagnostics);
        self.attempted(module, expression, needing, diagnostics)
    }

    /// Evaluates a variable of a module. If the evaluation is not possible before planning, reports why.
    pub(super) fn variable(
        &mut self,
        module: &Module,
        name: &SmolStr,
        needing: &Needing,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let what = format!("var.{name}");
        let name = (module.clone(), Referent::Variable(name.clone()));
        self.walk(vec![Visit::Enter(name.clone())], diagnostics);
        self.needed(&name, &what, needing, diagnostics);
    }

    /// The value of a name that was visited. If the name has no value, reports why.
    fn needed(
        &self,
        name: &StaticName,
        what: &str,
        needing: &Needing,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Value> {
        match self.value(name, diagnostics) {
            Err(NoValue::NotComputed) if self.circular.contains(name) && !self.values.contains_key(name) => {
                let at = self.definition(name).map_or_else(|| needing.range.clone(), |found| found.needing.range);
                diagnostics.push(problems::circular(what, at));
                None
            }
            Ok(value) => Some(value),
            Err(NoValue::Unsuitable) => None,
            Err(NoValue::NotComputed) => {
                diagnostics.push(problems::not_computed(needing, what));
                None
            }
        }
    }

    /// Evaluates all named values that an expression uses.
    fn prepare(&mut self, module: &Module, expression: &Expression, diagnostics: &mut Vec<Diagnostic>) {
        let start = names_in(module, expression).map(Visit::Enter).collect();
        self.walk(start, diagnostics);
    }

    fn walk(&mut self, mut pending: Vec<Visit>, diagnostics: &mut Vec<Diagnostic>) {
        let mut entered: BTreeSet<StaticName> = BTreeSet::new();
        while let Some(visit) = pending.pop() {
            match visit {
                Visit::Enter(name) => {
                    if self.values.contains_key(&name) {
                        continue;
                    }
                    let Some(definition) = self.definition(&name) else { continue };
                    if !entered.insert(name.clone()) {
                        self.circular.insert(name);
                        continue;
                    }
                    pending.push(Visit::Leave(name));
                    pending.extend(names_in(&definition.home, &definition.expression).map(Visit::Enter));
                }
                Visit::Leave(name) => {
                    let Some(definition) = self.definition(&name) else { continue };
                    let Definition { home, expression, needing } = definition;
                    let value = match self.finish(&home, &expression, &needing, diagnostics) {
                        Some(value) => self.converted(&name, value, diagnostics),
                        None => Err(NoValue::NotComputed),
                    };
                    self.values.insert(name, value);
                }
            }
        }
    }

    /// The definition of a name. `None` for undeclared names, and for values that do not come from an expression.
    fn definition(&self, (path, subject): &StaticName) -> Option<Definition> {
        let frame = self.frames.get(path)?;
        let text = |rest: String| if path.is_root() { rest } else { format!("{path}:{rest}") };
        match subject {
            Referent::Local(name) => {
                let local = frame.locals.get(name)?;
                let needing = Needing::new(text(format!("local.{name}")), local.range.clone());
                Some(Definition { home: path.clone(), expression: local.value.clone(), needing })
            }
            Referent::Variable(name) => {
                let variable = frame.variables.get(name)?;
                let needing = |expression: &Expression| Needing::new(text(format!("var.{name}")), expression.range());
                let argument = frame.call.as_ref().and_then(|call| call.arguments.get(name));
                match (argument, path.parent(), &variable.default) {
                    (Some((value, _)), Some(parent), _) => {
                        Some(Definition { home: parent, expression: value.clone(), needing: needing(value) })
                    }
                    (_, None, _) if self.given.values.contains_key(name) || self.given.broken.contains_key(name) => {
                        None
                    }
                    (_, _, Some(default)) => {
                        let needing = needing(default);
                        Some(Definition { home: path.clone(), expression: default.clone(), needing })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The value of a name. If the name is a variable, the value is converted to its declaration.
    fn converted(
        &self,
        (path, subject): &StaticName,
        value: Value,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Value, NoValue> {
        let Referent::Variable(name) = subject else { return Ok(value) };
        let variable = self.frames.get(path).and_then(|frame| frame.variables.get(name));
        let variable = variable.ok_or(NoValue::NotComputed)?;
        self.suitable(variable, &value, diagnostics)
    }

    /// Converts a value to the declaration of a variable. If the variable is not nullable, its default replaces null.
    fn suitable(
        &self,
        variable: &Variable,
        value: &Value,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Value, NoValue> {
        let failed = |diagnostics: &mut Vec<Diagnostic>, problem| {
            diagnostics.push(problem);
            NoValue::Unsuitable
        };
        let converted = convert_variable(variable, value).map_err(|problem| failed(diagnostics, problem))?;
        if !converted.is_null() || variable.nullable {
            return Ok(converted);
        }
        if let Some(default) = &variable.default {
            let (default, problems) = evaluate_constant(default);
            if !has_errors(&problems) {
                return convert_variable(variable, &default).map_err(|problem| failed(diagnostics, problem));
            }
        }
        diagnostics.push(problems::null_variable(variable));
        Err(NoValue::NotComputed)
    }

    /// The value of a name that was visited.
    fn value(&self, name: &StaticName, diagnostics: &mut Vec<Diagnostic>) -> Result<Value, NoValue> {
        if let Some(found) = self.values.get(name) {
            return found.clone();
        }
        let (path, Referent::Variable(variable)) = name else { return Err(NoValue::NotComputed) };
        let frame = self.frames.get(path).ok_or(NoValue::NotComputed)?;
        let variable = frame.variables.get(variable).ok_or(NoValue::NotComputed)?;
        if let Some(problems) = self.given.broken.get(&variable.name).filter(|_| path.is_root()) {
            diagnostics.extend(problems.iter().cloned());
            return Err(NoValue::NotComputed);
        }
        let Some(given) = self.given.values.get(&variable.name).filter(|_| path.is_root()) else {
            if let Some(call) = &frame.call {
                diagnostics.push(problems::argument_not_given(&variable.name, call.missing.clone()));
            } else {
                diagnostics.push(problems::variable_not_given(variable));
            }
            return Err(NoValue::NotComputed);
        };
        self.suitable(variable, &given.value, diagnostics)
    }

    /// Evaluates an expression. All its names must have been visited.
    fn finish(
        &self,
        module: &Module,
        expression: &Expression,
        needing: &Needing,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Value> {
        let (value, failed) = self.attempted(module, expression, needing, diagnostics)?;
        (!failed).then_some(value)
    }

    fn attempted(
        &self,
        module: &Module,
        expression: &Expression,
        needing: &Needing,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<(Value, bool)> {
        let frame = self.frames.get(module)?;
        let mut problems = Vec::new();
        let references = references_of(expression, &mut problems);
        let (mut values, mut complete) = (BTreeMap::new(), true);
        for reference in references {
            match self.static_value(module, frame, &reference, needing, &mut problems) {
                Some(value) => drop(values.insert(reference.subject, value)),
                // The cause may have been reported for another expression.
                None => complete = false,
            }
        }
        if !complete || has_errors(&problems) {
            diagnostics.extend(problems);
            return None;
        }
        let scope = StaticScope { values, statics: self };
        let (value, found) = evaluate(expression, &scope);
        let failed = has_errors(&found);
        diagnostics.extend(found);
        Some((value, failed))
    }

    fn static_value(
        &self,
        module: &Module,
        frame: &Frame,
        reference: &Reference,
        needing: &Needing,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Value> {
        let at = || reference.range.clone();
        let (what, declared) = match &reference.subject {
            Referent::Local(name) => (format!("local.{name}"), frame.locals.contains_key(name)),
            Referent::Variable(name) => (format!("var.{name}"), frame.variables.contains_key(name)),
            Referent::Path(name) => {
                return match name.as_str() {
                    "module" => Some(Value::string(&frame.dir)),
                    "root" => Some(Value::string(".")),
                    "cwd" => Some(Value::string(self.cwd.to_string_lossy())),
                    _ => {
                        problems.push(problems::no_path_attribute(name, at()));
                        None
                    }
                };
            }
            Referent::Terraform(_, name) if name == "workspace" => return Some(Value::string(&self.workspace)),
            Referent::Terraform(root, name) => {
                problems.push(match name.as_str() {
                    "applying" => problems::applying(root, at()),
                    _ => problems::no_terraform_attribute(root, name, at()),
                });
                return None;
            }
            Referent::Module(name, Some(_)) => {
                problems.push(problems::module_output(needing, name, at()));
                return None;
            }
            Referent::ProviderFunction(name, _) => {
                problems.push(problems::provider_function(needing, name, at()));
                return None;
            }
            other => {
                problems.push(problems::dynamic(needing, &described(other), at()));
                return None;
            }
        };
        if !declared {
            problems.push(match reference.subject {
                Referent::Local(_) => problems::undefined_local(&what, at()),
                _ => problems::undefined_variable(&what, at()),
            });
            return None;
        }
        if let Referent::Variable(name) = &reference.subject
            && frame.variables.get(name).is_some_and(|variable| variable.constant == Some(false))
        {
            problems.push(problems::not_constant(needing, &what, at()));
            return None;
        }
        self.needed(&(module.clone(), reference.subject.clone()), &what, needing, problems)
    }
}

fn described(subject: &Referent) -> String {
    match subject {
        Referent::Resource(resource) => resource.to_string(),
        Referent::Module(name, _) => format!("module.{name}"),
        Referent::EachKey | Referent::EachValue => String::from("each"),
        Referent::CountIndex => String::from("count.index"),
        Referent::SelfObject => String::from("self"),
        Referent::Terraform(root, name) => format!("{root}.{name}"),
        Referent::Variable(name) => format!("var.{name}"),
        Referent::Local(name) => format!("local.{name}"),
        Referent::Path(name) => format!("path.{name}"),
        Referent::ProviderFunction(name, _) => format!("provider::{name}"),
    }
}

/// The variables and locals in an expression.
fn names_in(module: &Module, expression: &Expression) -> impl Iterator<Item = StaticName> {
    let references = references_of(expression, &mut Vec::new());
    let module = module.clone();
    references
        .into_iter()
        .filter(|reference| matches!(reference.subject, Referent::Variable(_) | Referent::Local(_)))
        .map(move |reference| (module.clone(), reference.subject))
}

/// Converts a value to the declaration of a variable.
fn convert_variable(variable: &Variable, value: &Value) -> Result<Value, Diagnostic> {
    let mut marks = Marks::NONE;
    if variable.sensitive {
        marks = marks.union(&Marks::SENSITIVE);
    }
    if variable.ephemeral {
        marks = marks.union(&Marks::EPHEMERAL);
    }
    match convert_with_defaults(value, &variable.ty, &variable.defaults) {
        Ok(value) => Ok(value.mark(&marks)),
        Err(problem) => Err(problems::unsuitable_variable(variable, &problem.with_path())),
    }
}

/// The string value of an argument such as `source`. If the value is not a suitable string, reports why.
pub(super) fn static_text(
    value: &Value,
    what: &str,
    at: &SourceRange,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<SmolStr> {
    let problem = if value.contains_sensitive() {
        problems::sensitive_text(what, at)
    } else if value.deep().ephemeral {
        problems::ephemeral_text(what, at)
    } else {
        match convert(value, &Type::String).ok().as_ref().and_then(Value::as_str) {
            Some(text) => return Some(SmolStr::new(text)),
            None => problems::no_text(what, at),
        }
    };
    diagnostics.push(problem);
    None
}
