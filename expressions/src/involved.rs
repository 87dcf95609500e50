//! Describes the values of the references in an expression that has an error.

use smol_str::SmolStr;
use weft_graph_format::diagnostic::InvolvedValue;
use weft_graph_format::path::ValueStep;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_syntax::{Expression, Key, StepKind, Traversal};

use crate::scope::Scope;

/// The maximum number of values in one diagnostic. Further references are omitted.
pub(crate) const MOST_VALUES: usize = 16;

/// The maximum length of a shown text. Longer texts are truncated.
const LONGEST_TEXT: usize = 64;

/// Describes the value of each reference in the expression: `var.size is 3`. Sensitive and ephemeral values are not
/// shown, only named as such.
pub fn values(expression: &Expression, variables: &[(SmolStr, Value)], scope: &dyn Scope) -> Vec<InvolvedValue> {
    let mut found: Vec<InvolvedValue> = Vec::new();
    for traversal in weft_syntax::references(expression) {
        if found.len() >= MOST_VALUES {
            break;
        }
        let Some((text, value)) = reached(expression, traversal, variables, scope) else { continue };
        if found.iter().all(|known| known.traversal != text)
            && let Some(statement) = statement(&value)
        {
            found.push(InvolvedValue { traversal: text, statement });
        }
    }
    found.sort_by(|a, b| a.traversal.cmp(&b.traversal));
    found
}

/// Like [`values`], for a problem that is caused by unknown values. Unknown values are listed too.
pub fn values_with_unknowns(expression: &Expression, scope: &dyn Scope) -> Vec<InvolvedValue> {
    let mut found = values(expression, &[], scope);
    for traversal in weft_syntax::references(expression).into_iter().take(MOST_VALUES) {
        let Some((text, value)) = reached(expression, traversal, &[], scope) else { continue };
        let Some(statement) = unknown_statement(&value) else { continue };
        found.retain(|known| known.traversal != text);
        found.push(InvolvedValue { traversal: text, statement });
    }
    found.sort_by(|a, b| a.traversal.cmp(&b.traversal));
    found
}

/// Describes an unknown value that is not confidential.
fn unknown_statement(value: &Value) -> Option<String> {
    let (marks, kind) = value.open();
    let Kind::Unknown(unknown) = kind else { return None };
    if marks.is_sensitive() || marks.is_ephemeral() {
        return None;
    }
    Some(match &unknown.ty {
        Type::Dynamic => "will be known only after apply".to_owned(),
        ty => format!("is {} {}, known only after apply", article(ty), ty.friendly_name()),
    })
}

/// The references in the expression whose values are not wholly known, as written in the source.
pub fn unknowns(expression: &Expression, scope: &dyn Scope) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for traversal in weft_syntax::references(expression).into_iter().take(MOST_VALUES) {
        if let Some((text, value)) = reached(expression, traversal, &[], scope)
            && !value.is_wholly_known()
            && !found.contains(&text)
        {
            found.push(text);
        }
    }
    found
}

/// The value at the end of the traversal. If the value does not exist, the last value that the traversal reaches.
fn reached(
    expression: &Expression,
    traversal: &Traversal,
    variables: &[(SmolStr, Value)],
    scope: &dyn Scope,
) -> Option<(String, Value)> {
    let local = variables.iter().rev().find(|(name, _)| *name == traversal.root.text);
    let (mut value, consumed) = match local {
        Some((_, value)) => (value.clone(), 0),
        None => {
            let resolved = scope.resolve(&expression.tree, traversal).ok()?;
            (resolved.value, resolved.consumed)
        }
    };
    let mut end = traversal.root.span.end;
    for (index, step) in traversal.steps.iter().enumerate() {
        if index >= consumed {
            let path_step = match &step.kind {
                StepKind::Attribute(name) => ValueStep::Attribute(name.clone()),
                StepKind::Index(Key::String(key)) => ValueStep::Key(key.clone()),
                StepKind::Index(Key::Bool(key)) => ValueStep::Key(key.to_string().into()),
                StepKind::Index(Key::Null) => return None,
                StepKind::Index(Key::Number(digits)) | StepKind::LegacyIndex(digits) => {
                    ValueStep::Index(digits.parse().ok()?)
                }
            };
            match value.step(&path_step) {
                Some(next) => value = next,
                None => break,
            }
        }
        end = step.span.end;
    }
    let span = weft_syntax::Span::new(traversal.root.span.start, end);
    Some((expression.tree.native_text(span).into_owned(), value))
}

/// Describes a value with words that follow its name. `None` if there is nothing useful to say.
pub fn statement(value: &Value) -> Option<String> {
    let (marks, kind) = value.open();
    if marks.is_sensitive() {
        return Some("has a sensitive value".to_owned());
    }
    if marks.is_ephemeral() || value.deep().ephemeral {
        return Some("has an ephemeral value".to_owned());
    }
    let hidden = value.contains_sensitive();
    Some(match kind {
        // An unknown type is rarely the cause of a problem, and during validation it never is.
        Kind::Unknown(u) if u.ty == Type::Dynamic => return None,
        Kind::Unknown(u) => format!("is {} {}", article(&u.ty), u.ty.friendly_name()),
        Kind::Null(Type::Dynamic) => "is null".to_owned(),
        Kind::Null(ty) => format!("is null of type {}", ty.friendly_name()),
        Kind::Bool(flag) => format!("is {flag}"),
        Kind::Provider(instance) => format!("is {instance}"),
        Kind::Number(number) => format!("is {number}"),
        Kind::String(text) => {
            let mut cut: String = text.chars().take(LONGEST_TEXT).collect();
            if cut.len() < text.len() {
                cut.push('…');
            }
            format!("is {}", weft_graph_format::address::quoted(&cut))
        }
        Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => match s.len() {
            0 => format!("is empty {}", value.ty().friendly_name()),
            1 => format!("is {} with 1 element", value.ty().friendly_name()),
            count => format!("is {} with {count} elements", value.ty().friendly_name()),
        },
        Kind::Map(f) => match (f.len(), f.entries().keys().next()) {
            (0, _) => format!("is empty {}", value.ty().friendly_name()),
            (1, Some(key)) if !hidden => {
                format!("is {} with 1 element {}", value.ty().friendly_name(), weft_graph_format::address::quoted(key))
            }
            (1, _) => format!("is {} with 1 element", value.ty().friendly_name()),
            (count, _) => format!("is {} with {count} elements", value.ty().friendly_name()),
        },
        Kind::Object(f) => match (f.len(), f.entries().keys().next()) {
            (0, _) => "is object with no attributes".to_owned(),
            (1, Some(name)) => {
                format!("is object with 1 attribute {}", weft_graph_format::address::quoted(name))
            }
            (count, _) => format!("is object with {count} attributes"),
        },
    })
}

fn article(ty: &Type) -> &'static str {
    if matches!(ty, Type::Object(_)) { "an" } else { "a" }
}
