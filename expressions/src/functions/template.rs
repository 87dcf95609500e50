//! Templates from files and strings.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula;
use weft_graph_format::source::Position;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_syntax::{Traversal, Tree};

use super::arguments::text;
use super::files::FileContent;
use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};
use crate::evaluate::{check_references, evaluate};
use crate::function_table::FunctionTable;
use crate::problems::{calls, limits, references};
use crate::scope::{ProviderFunction, ResolvedReference, Scope};
use crate::stack;

pub(super) fn functions() -> Vec<Function> {
    let variables = || Parameter::new("vars", Type::Dynamic, "The variables of the template.").marked();
    vec![
        Function::new("templatefile", "The rendered template of a file.", Symbolic::Inlined)
            .parameter(Parameter::new("path", Type::String, "The name of the file.").marked())
            .parameter(variables())
            .calls(templatefile),
        Function::new("templatestring", "The rendered template.", Symbolic::Inlined)
            .parameter(Parameter::new("data", Type::String, "The template.").marked())
            .parameter(variables())
            .calls(templatestring),
    ]
}

/// The maximum nesting of templates that are evaluated by `templatefile` and `templatestring`.
const MAX_TEMPLATE_DEPTH: u32 = 1024;

/// The name that messages use for a template from a string.
const STRING_NAME: &str = "<templatestring argument>";

fn names(value: &Value) -> Result<BTreeMap<SmolStr, Value>, FunctionError> {
    let Some(fields) = value.as_fields() else {
        return Err(problems::text::variables_not_a_map());
    };
    let mut names = BTreeMap::new();
    for (name, value) in fields {
        if !weft_syntax::is_identifier(name) {
            return Err(problems::text::invalid_variable_name(name));
        }
        names.insert(name.clone(), value.clone());
    }
    Ok(names)
}

fn rendered(
    context: &CallContext<'_>,
    name: &str,
    text: &str,
    variables: &BTreeMap<SmolStr, Value>,
) -> Result<Value, FunctionError> {
    stack::guarded(|| evaluate_template(context, name, text, variables)).map_err(|problems| {
        let first = problems.into_iter().find(Diagnostic::is_error);
        let Some(first) = first else { return problems::text::cannot_render() };
        let detail = first.detail.trim_end_matches('.').to_owned();
        if first.code == references::UNKNOWN_NAME {
            return FunctionError::argument(1, detail);
        }
        let place = first
            .subject
            .as_ref()
            .map_or_else(String::new, |range| format!("{}:{},{}: ", range.file, range.start.line, range.start.column));
        FunctionError::new(format!("{place}{}; {detail}", first.summary))
    })
}

fn templatefile(context: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let variables = names(&arguments[1].unmark().0)?;
    let content = FileContent::read(context, arguments)?;
    let template = content.text()?;
    let template = template.strip_prefix('\u{feff}').unwrap_or(template);
    let name = if arguments[0].marks().is_empty() { content.name.as_str() } else { "(sensitive value)" };
    // Variable names are normalized, so the names in the template must be normalized too.
    let template = Value::string(template);
    let result = rendered(context, name, template.as_str().unwrap_or_default(), &variables)?;
    // As in OpenTofu, the marks of all variables count, even if the template does not use them.
    Ok(result.mark(arguments[0].marks()).mark(&arguments[1].unmark_deep().1))
}

fn templatestring(context: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    if !arguments[1].marks().is_empty() {
        // OpenTofu fails here too, but with a less helpful message.
        return Err(problems::text::marked_variables());
    }
    let variables = names(&arguments[1])?;
    let result = rendered(context, STRING_NAME, text(arguments, 0)?, &variables)?;
    Ok(result.mark(arguments[0].marks()))
}

/// Parses `text` as a template and evaluates it with these variables, for `templatefile` and `templatestring`. `name`
/// identifies the text in messages. A template that is a single interpolation returns the interpolated value.
pub fn evaluate_template(
    context: &CallContext<'_>,
    name: &str,
    text: &str,
    variables: &BTreeMap<SmolStr, Value>,
) -> Result<Value, Vec<Diagnostic>> {
    if context.template_depth >= MAX_TEMPLATE_DEPTH {
        return Err(vec![limits::templates_too_deep(MAX_TEMPLATE_DEPTH)]);
    }
    let (expression, problems) = weft_syntax::parse_template(name, Arc::from(text), Position::START);
    if problems.iter().any(Diagnostic::is_error) {
        return Err(problems);
    }
    let scope = TemplateScope::new(context, variables);
    let problems = check_references(&expression, &scope);
    if !problems.is_empty() {
        return Err(problems);
    }
    let (value, problems) = evaluate(&expression, &scope);
    if problems.iter().any(Diagnostic::is_error) { Err(problems) } else { Ok(value) }
}

/// The scope of a template that a function evaluates: its variables and the built-in functions.
struct TemplateScope<'a> {
    context: CallContext<'a>,
    variables: &'a BTreeMap<SmolStr, Value>,
    parameters: &'a AtomicU32,
}

impl<'a> TemplateScope<'a> {
    /// Creates a scope with these variables.
    fn new(context: &CallContext<'a>, variables: &'a BTreeMap<SmolStr, Value>) -> TemplateScope<'a> {
        let deeper = CallContext { template_depth: context.template_depth.saturating_add(1), ..*context };
        TemplateScope { context: deeper, variables, parameters: context.parameters }
    }
}

impl Scope for TemplateScope<'_> {
    fn resolve(&self, tree: &Tree, traversal: &Traversal) -> Result<ResolvedReference, Vec<Diagnostic>> {
        match self.variables.get(&traversal.root.text) {
            Some(value) => Ok(ResolvedReference { value: value.clone(), consumed: 0 }),
            None => {
                let problem = references::no_such_variable(&traversal.root.text, &place(tree, traversal));
                Err(vec![problem.at(tree.range(traversal.root.span))])
            }
        }
    }

    fn context(&self) -> CallContext<'_> {
        self.context
    }

    fn new_parameter(&self) -> formula::Parameter {
        formula::Parameter(self.parameters.fetch_add(1, Ordering::Relaxed))
    }

    fn provider_function(&self, name: &str) -> Result<ProviderFunction, Diagnostic> {
        Err(calls::provider_function_in_template(name))
    }

    fn call_provider_function(&self, _: &ProviderFunction, _: &[Value]) -> Result<Value, FunctionError> {
        Err(calls::not_callable_in_template())
    }

    fn functions(&self) -> Option<&'static FunctionTable> {
        Some(super::built_in())
    }
}

fn place(tree: &Tree, traversal: &Traversal) -> String {
    let range = tree.range(traversal.root.span);
    format!("{}:{},{}-{}", range.file, range.start.line, range.start.column, range.end.column)
}
