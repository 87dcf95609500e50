//! Operations that call no provider: values, outputs, conditions, and changes of the state only.

use weft_expressions::convert::convert;
use weft_expressions::error_message::{MessageFault, message_text};
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::codec::{json, type_json};
use weft_graph_format::diagnostic::{Diagnostic, FAILED_CONDITION, HIDDEN_MESSAGE, Severity};
use weft_graph_format::formula::FormulaOp;
use weft_graph_format::graph::{CheckKind, Operation};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Transform, Value};

use crate::context::TaskContext;
use crate::outcome::Done;
use crate::problems::{self, not_here};
use crate::resource::marked;
use crate::subject::{DiagnosticSubject, Problems};
use weft_graph_format::stored::{OutputRecord, OutputWrite, RawJson, is_provider_memory};
use weft_protocol::{ObjectChange, ObjectWrite, TaskWrites};

/// Computes a value.
pub(crate) async fn evaluate(context: &TaskContext) -> Result<Done, Problems> {
    let Some(Operation::Evaluate { name, formula }) = context.shard.operation(context.id()) else {
        return Err(vec![not_here(context.id())]);
    };
    let value = context.shard.evaluate(&context.host, *formula, name).await?;
    Ok(context.done(Some(&value), TaskWrites::default(), Vec::new()))
}

/// Computes and stores an output of the root module.
pub(crate) async fn output(context: &TaskContext) -> Result<Done, Problems> {
    let Some(Operation::Output { name, formula, ty, sensitive, planned, deprecated }) =
        context.shard.operation(context.id())
    else {
        return Err(vec![not_here(context.id())]);
    };
    let write =
        |record| TaskWrites { objects: Vec::new(), outputs: vec![OutputWrite { name: name.to_string(), record }] };
    let Some(formula) = formula else { return Ok(context.done(None, write(None), Vec::new())) };
    let address = format!("output.{name}");
    let subject = DiagnosticSubject { address: &address, config: context.shard.formula(*formula) };
    let value = context.shard.evaluate(&context.host, *formula, &address).await?;
    let value = if *ty == Type::Dynamic {
        value
    } else {
        let failed =
            |error: weft_expressions::convert::ConvertError| vec![problems::unsuitable_output(&subject, &error)];
        convert(&value, ty).map_err(failed)?
    };
    let value = if is_provider_memory(name) { without_secrets(&value) } else { value };
    let (bare, marks) = value.unmark_deep();
    if marks.is_ephemeral() {
        return Err(vec![problems::ephemeral_output(&subject)]);
    }
    if marks.is_sensitive() && !sensitive {
        return Err(vec![problems::sensitive_output(&subject)]);
    }
    // A null output is not stored, with one exception: a constant null whose planned value was unknown. It is stored
    // because a refresh-only apply creates nothing, so it cannot compute this value, and a later apply may know the
    // value.
    let constant = subject.config.is_some_and(|formula| matches!(formula.op(), FormulaOp::Constant(_)));
    let stored = if bare.is_null() && (!constant || planned.is_known()) {
        None
    } else {
        let value_type = bare.ty();
        let text =
            json::encode(&bare, &value_type).map_err(|error| vec![problems::output_not_stored(&subject, &error)])?;
        let value_type = type_json::encode(&value_type);
        Some(OutputRecord {
            value: RawJson::new(text),
            value_type: RawJson::new(value_type),
            sensitive: *sensitive,
            deprecated: deprecated.clone(),
        })
    };
    Ok(context.done(Some(&value), write(stored), Vec::new()))
}

/// The memory of a provider instance, with null in place of all secret parts. Such a memory is stored as an output that
/// is not sensitive, so it must not contain secrets.
fn without_secrets(value: &Value) -> Value {
    value.transform(&mut |_, part| match part.marks().is_sensitive() || part.marks().is_ephemeral() {
        true => Transform::Replace(Value::null(part.ty())),
        false => Transform::Descend,
    })
}

/// Checks a condition. An invalid message is an error even if the condition is true, with one exception: the message of
/// a variable's validation is evaluated only if the condition is false.
pub(crate) async fn check(context: &TaskContext) -> Result<Done, Problems> {
    let Some(Operation::Check { address, kind, condition, message, range }) = context.shard.operation(context.id())
    else {
        return Err(vec![not_here(context.id())]);
    };
    // A position identifies the condition, so the address is not needed.
    let place = |problem: Diagnostic| match range {
        Some(range) => Diagnostic { address: None, ..problem }.at(range.clone()),
        None => problem.about(address.as_str()),
    };
    let of_message = |fault: &MessageFault| {
        let range = context.shard.formula(*message).and_then(|formula| formula.range());
        range.map_or_else(|| place(fault.error()), |range| fault.error().at(range.clone()))
    };
    let judged = |value: &Value| match convert(value, &Type::Bool) {
        Ok(value) if !value.is_null() => Ok(value),
        Ok(_) => Err(vec![place(problems::null_condition())]),
        Err(error) => Err(vec![place(problems::unsuitable_condition(&error))]),
    };
    let value = context.shard.evaluate(&context.host, *condition, address).await;
    if *kind == CheckKind::Validation {
        let value = judged(&value.map_err(bare)?)?;
        if value.as_bool() == Some(true) {
            // The message of a validation does not matter if the variable is valid.
            return Ok(context.done(Some(&value), TaskWrites::default(), Vec::new()));
        }
        let (text, also) = match context.shard.evaluate(&context.host, *message, address).await {
            Ok(text) => match MessageFault::of(&text) {
                Some(fault) => {
                    let also = fault.concerns_validation().then(|| of_message(&fault));
                    (problems::stored_message(Some(&fault)).to_owned(), also.into_iter().collect())
                }
                None => (message_text(&text), Vec::new()),
            },
            Err(problems) => (problems::stored_message(None).to_owned(), bare(problems)),
        };
        let failure = place(problems::failed_condition(*kind, address, text).code(FAILED_CONDITION));
        return Err([failure].into_iter().chain(also).collect());
    }
    // A refresh-only apply creates nothing, so parts of the message can stay unknown.
    let text = context.shard.evaluate_in_part(&context.host, *message, address).await;
    let (value, text) = match (value, text) {
        (Ok(value), Ok(text)) => (value, text),
        (value, text) => return Err(bare([value.err(), text.err()].into_iter().flatten().flatten().collect())),
    };
    let mut warnings = Vec::new();
    let fault = MessageFault::of(&text);
    if let Some(fault) = &fault {
        if fault.is_invalid() {
            return Err(vec![of_message(fault)]);
        }
        // The plan warns of a constant message, and its warnings are repeated at apply.
        let formula = context.shard.formula(*message);
        if !formula.is_some_and(|formula| matches!(formula.op(), FormulaOp::Constant(_))) {
            warnings.push(Diagnostic { severity: Severity::Warning, ..of_message(fault) });
        }
    }
    let value = judged(&value)?;
    if value.as_bool() == Some(true) {
        return Ok(context.done(Some(&value), TaskWrites::default(), warnings));
    }
    let is_shown = fault.is_none() && text.is_wholly_known();
    let code = if is_shown { FAILED_CONDITION } else { HIDDEN_MESSAGE };
    if *kind == CheckKind::Assertion {
        // A false assertion is a warning, and stops nothing.
        let warning = Diagnostic::warning(problems::condition_summary(*kind, address), message_text(&text));
        warnings.push(place(warning).code(code));
        return Ok(context.done(Some(&value), TaskWrites::default(), warnings));
    }
    let failure = place(problems::failed_condition(*kind, address, message_text(&text)).code(code));
    Err([failure].into_iter().chain(warnings).collect())
}

/// The problems of formulas. Those with a position need no address.
fn bare(problems: Problems) -> Problems {
    let without = |problem: Diagnostic| match problem.subject {
        Some(_) => Diagnostic { address: None, ..problem },
        None => problem,
    };
    problems.into_iter().map(without).collect()
}

/// Changes only the state: deposes or forgets an object, or writes a result of planning.
pub(crate) fn record(context: &TaskContext) -> Result<Done, Problems> {
    let id = context.id();
    let write = |address: &ResourceInstance, provider: String, deposed, change| TaskWrites {
        objects: vec![ObjectWrite { address: address.clone(), provider, deposed, change }],
        outputs: Vec::new(),
    };
    match context.shard.operation(id) {
        Some(Operation::Depose { address, key }) => {
            let change = ObjectChange::DeposeAs(key.clone());
            Ok(context.done(None, write(address, String::new(), None, change), Vec::new()))
        }
        Some(Operation::Forget { address, deposed }) => {
            let deposed = deposed.clone();
            Ok(context.done(None, write(address, String::new(), deposed, ObjectChange::Remove), Vec::new()))
        }
        Some(Operation::Record { address, previous, object, provider }) => {
            let text = address.to_string();
            let (change, value) = match object {
                None => (ObjectChange::Remove, None),
                Some(object) => {
                    let subject = DiagnosticSubject { address: &text, config: None };
                    let Some(kind) = context.shard.resource_type(&provider.source, address) else {
                        return Err(vec![problems::no_schema(&subject, &address.resource.type_name)]);
                    };
                    let (bare, marks) = object.value.unmark_with_paths();
                    let given = marks.iter().filter(|(_, m)| m.is_sensitive()).map(|(path, _)| path);
                    let sensitive = kind.sensitive_paths(&bare, given);
                    let value = marked(&bare, &sensitive);
                    let stored = kind
                        .stored(&bare, sensitive, object.private.clone(), &object.record, object.tainted, None)
                        .map_err(|error| vec![problems::object_not_stored(&subject, &error)])?;
                    (ObjectChange::Put(Box::new(stored)), Some(value))
                }
            };
            let mut writes = write(address, provider.to_string(), None, change);
            if let Some(previous) = previous {
                let along = ObjectChange::DeposedFrom(previous.as_ref().clone());
                writes.objects.extend(write(address, provider.to_string(), None, along).objects);
                let gone = write(previous, provider.to_string(), None, ObjectChange::Remove);
                writes.objects.splice(0..0, gone.objects);
            }
            Ok(context.done(value.as_ref(), writes, Vec::new()))
        }
        _ => Err(vec![not_here(id)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_names_the_owner_of_the_condition() {
        assert_eq!(problems::condition_summary(CheckKind::Precondition, "a.b"), "Resource precondition failed");
        assert_eq!(problems::condition_summary(CheckKind::Postcondition, "a.b[0]"), "Resource postcondition failed");
        assert_eq!(
            problems::condition_summary(CheckKind::Precondition, "output.x"),
            "Module output value precondition failed"
        );
        assert_eq!(problems::condition_summary(CheckKind::Validation, "var.x"), "Invalid value for variable");
        assert_eq!(problems::condition_summary(CheckKind::Precondition, "module.m.var.x"), "Required variable not set");
    }
}
