//! Evaluates the text of one expression and returns its value as data. `weft console -eval-json` prints this.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use serde_json::{Map as JsonMap, Value as Json};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::Parameter;
use weft_graph_format::source::Position;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_syntax::{StepKind, Traversal, Tree};

use crate::call_context::CallContext;
use crate::call_error::FunctionError;
use crate::evaluate;
use crate::function_table::FunctionTable;
use crate::functions;
use crate::problems;
use crate::scope::{ProviderFunction, ResolvedReference, Scope};
use crate::type_text::type_text;

/// The file name of the text in diagnostics.
pub const INPUT_NAME: &str = "<console-input>";

/// The outcome of one expression.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsoleResult {
    /// The JSON text of the value without its marks. `None` on error, and if the value has no JSON form.
    pub json: Option<String>,
    /// The type as `type()` prints it. `None` on error.
    pub ty: Option<String>,
    /// The sensitive parts, in the shape of a plan's `after_sensitive`. `None` if no part is sensitive.
    pub sensitive: Option<Json>,
    /// The errors. Only the first error is printed.
    pub errors: Vec<Diagnostic>,
}

impl ConsoleResult {
    /// The JSON object that is printed: `{json, type, sensitive, error}`.
    pub fn to_json(&self) -> Json {
        let text = |t: &Option<String>| t.clone().map_or(Json::Null, Json::String);
        let error = self.errors.first().map_or(Json::Null, |problem| {
            let mut fields = JsonMap::new();
            fields.insert("summary".to_owned(), Json::String(problem.summary.clone()));
            fields.insert("detail".to_owned(), Json::String(problem.detail.clone()));
            Json::Object(fields)
        });
        let mut fields = JsonMap::new();
        fields.insert("json".to_owned(), text(&self.json));
        fields.insert("type".to_owned(), text(&self.ty));
        fields.insert("sensitive".to_owned(), self.sensitive.clone().unwrap_or(Json::Null));
        fields.insert("error".to_owned(), error);
        Json::Object(fields)
    }
}

/// Parses and evaluates `text` in `scope`.
pub fn evaluate_text(text: &str, scope: &dyn Scope) -> ConsoleResult {
    let (expression, problems) = weft_syntax::parse_expression(INPUT_NAME, Arc::from(text), Position::START);
    let failed = |mut problems: Vec<Diagnostic>| {
        problems.retain(Diagnostic::is_error);
        ConsoleResult { json: None, ty: None, sensitive: None, errors: problems }
    };
    if problems.iter().any(Diagnostic::is_error) {
        return failed(problems);
    }
    let problems = evaluate::check_references(&expression, scope);
    if problems.iter().any(Diagnostic::is_error) {
        return failed(problems);
    }
    let (value, problems) = evaluate::evaluate(&expression, scope);
    if problems.iter().any(Diagnostic::is_error) {
        return failed(problems);
    }
    let sensitive = match sensitive_parts(&value) {
        Json::Bool(false) => None,
        parts => Some(parts),
    };
    let (bare, _) = value.unmark_deep();
    ConsoleResult { json: json_text(&bare, scope), ty: Some(type_text(&bare)), sensitive, errors: Vec::new() }
}

fn json_text(value: &Value, scope: &dyn Scope) -> Option<String> {
    let function = functions::lookup("jsonencode")?;
    let text = (function.call)(&scope.context(), std::slice::from_ref(value), &Type::String).ok()?;
    text.as_str().map(str::to_owned)
}

/// The sensitive parts of a value. `true` if the whole value is sensitive, `false` if no part is. Otherwise a list or
/// object that contains the sensitive parts of each part; objects omit parts that have none.
pub fn sensitive_parts(value: &Value) -> Json {
    let (marks, kind) = value.open();
    if marks.is_sensitive() {
        return Json::Bool(true);
    }
    if !value.deep().marked {
        return Json::Bool(false);
    }
    match kind {
        Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => {
            let parts: Vec<Json> = s.items().iter().map(sensitive_parts).collect();
            let none = parts.iter().all(|p| *p == Json::Bool(false));
            if none { Json::Bool(false) } else { Json::Array(parts) }
        }
        Kind::Map(f) | Kind::Object(f) => {
            let parts: JsonMap<String, Json> = f
                .iter()
                .map(|(name, part)| (name.to_string(), sensitive_parts(part)))
                .filter(|(_, part)| *part != Json::Bool(false))
                .collect();
            if parts.is_empty() { Json::Bool(false) } else { Json::Object(parts) }
        }
        _ => Json::Bool(false),
    }
}

/// The scope of an empty root module: only `path` and `terraform` are defined.
#[derive(Debug, Default)]
pub struct BareScope {
    occurrences: AtomicU32,
    parameters: AtomicU32,
}

impl BareScope {
    /// Creates a scope with its own counters.
    pub fn new() -> BareScope {
        BareScope::default()
    }

    fn current_directory(&self) -> Result<Value, Diagnostic> {
        let found = self.context().files.current_directory();
        found
            .map(|path| Value::string(path.to_string_lossy()))
            .map_err(|error| problems::references::no_current_directory(&error))
    }
}

fn attribute_of(traversal: &Traversal) -> &str {
    match traversal.steps.first().map(|step| &step.kind) {
        Some(StepKind::Attribute(name)) => name,
        _ => "",
    }
}

/// The error for a reference to a name that does not exist without a configuration.
fn nothing_there(root: &str, name: &str, traversal: &Traversal) -> Diagnostic {
    match root {
        "path" => problems::references::path_attribute(name),
        "terraform" | "tofu" => problems::references::terraform_attribute(root, name),
        "each" if matches!(name, "key" | "value") => problems::references::each_out_of_scope(),
        "each" => problems::references::each_attribute(name),
        "count" if name == "index" => problems::references::count_out_of_scope(),
        "count" => problems::references::count_attribute(name),
        "self" => problems::references::self_out_of_scope(),
        "local" => problems::references::undeclared_local(name),
        "var" => problems::references::undeclared_variable(name),
        "module" => problems::references::undeclared_module(name),
        root => no_resource(root, traversal),
    }
}

/// The error for a reference to a resource, which does not exist without a configuration.
fn no_resource(root: &str, traversal: &Traversal) -> Diagnostic {
    let attributes = traversal.steps.iter().map_while(|step| match &step.kind {
        StepKind::Attribute(name) => Some(name.as_str()),
        StepKind::Index(_) | StepKind::LegacyIndex(_) => None,
    });
    let names: Vec<&str> = std::iter::once(root).chain(attributes).collect();
    let (mode, object, names) = match names.as_slice() {
        ["resource", rest @ ..] => ("managed", "resource", rest),
        ["data", rest @ ..] => ("data", "data", rest),
        ["ephemeral", rest @ ..] => ("ephemeral", "ephemeral", rest),
        all => ("managed", "", all),
    };
    match names {
        [ty, name, ..] => problems::references::undeclared_resource(mode, ty, name),
        _ if !object.is_empty() => problems::references::incomplete_resource(object),
        _ => problems::references::nameless_resource(),
    }
}

impl Scope for BareScope {
    fn resolve(&self, tree: &Tree, traversal: &Traversal) -> Result<ResolvedReference, Vec<Diagnostic>> {
        let name = attribute_of(traversal);
        let value = match (traversal.root.text.as_str(), name) {
            ("path", "module" | "root") => Ok(Value::string(".")),
            ("path", "cwd") => self.current_directory(),
            ("terraform" | "tofu", "workspace") => Ok(Value::string("default")),
            (root, name) => Err(nothing_there(root, name, traversal)),
        };
        value.map(|value| ResolvedReference { value, consumed: 1 }).map_err(|problem| {
            let end = traversal.steps.last().map_or(traversal.root.span.end, |step| step.span.end);
            vec![problem.at(tree.range(weft_syntax::Span::new(traversal.root.span.start, end)))]
        })
    }

    fn context(&self) -> CallContext<'_> {
        CallContext::new(&self.occurrences, &self.parameters)
    }

    fn new_parameter(&self) -> Parameter {
        Parameter(self.parameters.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
    }

    fn provider_function(&self, name: &str) -> Result<ProviderFunction, Diagnostic> {
        Err(problems::calls::no_provider(name))
    }

    fn call_provider_function(&self, _: &ProviderFunction, _: &[Value]) -> Result<Value, FunctionError> {
        Err(problems::calls::no_providers())
    }

    fn functions(&self) -> Option<&'static FunctionTable> {
        Some(functions::built_in())
    }
}
