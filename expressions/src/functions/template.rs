//! Templates from files and strings.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::arguments::text;
use super::files::FileContent;
use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};
use crate::evaluate::{UNKNOWN_NAME, evaluate_template};
use crate::stack;

pub(super) fn functions() -> Vec<Function> {
    let variables = || Parameter::new("vars", Type::Dynamic, "What the template calls by name.").marked();
    vec![
        Function::new("templatefile", "The template in a file, with its names replaced.", Symbolic::Inlined)
            .parameter(Parameter::new("path", Type::String, "The name of the file.").marked())
            .parameter(variables())
            .calls(templatefile),
        Function::new("templatestring", "A template, with its names replaced.", Symbolic::Inlined)
            .parameter(Parameter::new("data", Type::String, "The template.").marked())
            .parameter(variables())
            .calls(templatestring),
    ]
}

/// The name of a template from a string in messages.
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
        if first.code == UNKNOWN_NAME {
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
    let (variables, variable_marks) = arguments[1].unmark();
    let variables = names(&variables)?;
    let content = FileContent::read(context, arguments)?;
    let template = content.text()?;
    let template = template.strip_prefix('\u{feff}').unwrap_or(template);
    let name = if arguments[0].marks().is_empty() { content.name.as_str() } else { "(sensitive value)" };
    // Names in the file are compared with variable names, which are normalized.
    let template = Value::string(template);
    let result = rendered(context, name, template.as_str().unwrap_or_default(), &variables)?;
    Ok(result.mark(arguments[0].marks()).mark(&variable_marks))
}

fn templatestring(context: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    if !arguments[1].marks().is_empty() {
        // OpenTofu fails here too, with a less helpful message.
        return Err(problems::text::marked_variables());
    }
    let variables = names(&arguments[1])?;
    let result = rendered(context, STRING_NAME, text(arguments, 0)?, &variables)?;
    Ok(result.mark(arguments[0].marks()))
}
