//! Expands repetitions, and combines the values of all instances.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::convert::convert;
use weft_graph_format::address::InstanceKey;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::origin::Origin;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_syntax::Expression;

use super::calls::ModuleNode;
use super::scope::RepetitionData;
use crate::config::{Repetition, references_of, unsuitable};
use crate::glue::{Expansion, ExpansionKind, Failed};

/// The summary for all problems with a `for_each` value.
const FOR_EACH: &str = "Invalid for_each argument";

/// The maximum `count`. No plan could hold more instances of one block.
pub(super) const MOST_INSTANCES: u64 = 10_000_000;

/// The planned instances of a resource.
pub(crate) struct Instances {
    /// The value of a reference to the resource.
    pub(crate) whole: Value,
    /// Its value during validation, if the schema says anything about it.
    pub(crate) in_validation: Option<Value>,
}

/// The expansion of a repetition.
pub(crate) struct Expanded {
    pub(crate) kind: ExpansionKind,
    /// The data of each instance.
    pub(crate) instances: BTreeMap<InstanceKey, RepetitionData>,
    /// The origin of their number and keys.
    pub(crate) origin: Option<Origin>,
}

impl Expanded {
    pub(crate) fn expansion(&self) -> Expansion {
        Expansion { kind: self.kind, keys: self.instances.keys().cloned().collect() }
    }
}

/// Evaluates the `for_each` of a provider, also during validation.
pub(crate) async fn expand_provider(node: &Arc<ModuleNode>, expression: &Expression) -> Result<Expanded, Failed> {
    let value = node.evaluate(expression, &RepetitionData::default()).await?;
    if let Some(detail) = unsuitable(&value) {
        return node.fail(problem("Invalid for_each argument", detail, expression));
    }
    if node.evaluation.is_validation() && !value.is_wholly_known() {
        let instances = BTreeMap::from([(InstanceKey::None, RepetitionData::unknown(false))]);
        return Ok(Expanded { kind: ExpansionKind::ForEach, instances, origin: None });
    }
    let elements = match for_each(&value, expression) {
        Ok(elements) => elements,
        Err(problem) if value.is_wholly_known() => return node.fail(problem),
        Err(found) => {
            // A provider is used at plan, so its keys cannot be unknown.
            let names = node.unknown_names(&value, expression, &RepetitionData::default()).await;
            if names.is_empty() {
                return node.fail(found);
            }
            let detail = format!(
                "Which instances of this provider there are depends on {}, known only after apply: nothing can be \
                 planned through them. Use keys that are known and put the rest into the values of a map, or apply \
                 what decides first (option -target).",
                names
            );
            return node.fail(problem("Invalid for_each argument", detail, expression));
        }
    };
    let instances = elements.into_iter().map(|(key, element)| {
        let key = InstanceKey::String(key);
        let repeated = RepetitionData::of(&key, element);
        (key, repeated)
    });
    Ok(Expanded { kind: ExpansionKind::ForEach, instances: instances.collect(), origin: value.origin().cloned() })
}

/// Evaluates a repetition. Validation does not repeat: one instance stands for all.
pub(crate) async fn expand(node: &Arc<ModuleNode>, repetition: &Repetition) -> Result<Expanded, Failed> {
    let single =
        |kind, repeated| Expanded { kind, instances: BTreeMap::from([(InstanceKey::None, repeated)]), origin: None };
    let Some(expression) = repetition.expression() else {
        return Ok(single(ExpansionKind::Single, RepetitionData::default()));
    };
    let validating = node.evaluation.is_validation();
    // Planning reports deprecations here.
    let value = match validating {
        true => node.evaluated(expression, &RepetitionData::default()).await?,
        false => node.evaluate(expression, &RepetitionData::default()).await?,
    };
    if validating && !value.is_wholly_known() {
        let problem =
            confidential(&value, repetition, expression).or_else(|| misplaced(&value, repetition, expression));
        if let Some(problem) = problem {
            return node.fail(problem);
        }
        return Ok(match repetition {
            Repetition::Count(_) => single(ExpansionKind::Count, RepetitionData::unknown(true)),
            Repetition::ForEach(_) => single(ExpansionKind::ForEach, RepetitionData::unknown(false)),
            _ => single(ExpansionKind::Enabled, RepetitionData::default()),
        });
    }
    let origin = value.deep_origin();
    let outcome = match repetition {
        Repetition::Count(_) => count(&value, expression).map(|n| {
            let instances = (0..).zip(0..n).map(|(i, _)| {
                let key = InstanceKey::Int(i);
                let repeated = RepetitionData::of(&key, None);
                (key, repeated)
            });
            (ExpansionKind::Count, instances.collect())
        }),
        Repetition::ForEach(_) => for_each(&value, expression).map(|elements| {
            let instances = elements.into_iter().map(|(key, element)| {
                let key = InstanceKey::String(key);
                let repeated = RepetitionData::of(&key, element);
                (key, repeated)
            });
            (ExpansionKind::ForEach, instances.collect())
        }),
        _ => enabled(&value, expression).map(|on| {
            let instances = on.then(|| (InstanceKey::None, RepetitionData::default()));
            (ExpansionKind::Enabled, instances.into_iter().collect())
        }),
    };
    let (kind, instances): (ExpansionKind, BTreeMap<InstanceKey, RepetitionData>) = match outcome {
        Ok(found) => found,
        Err(mut problem) => {
            let references = references_of(expression, &mut Vec::new());
            let scope = node.scope(&references, &RepetitionData::default()).await?;
            problem.values = weft_expressions::involved::values_with_unknowns(expression, &scope);
            return node.fail(problem);
        }
    };
    if validating {
        return Ok(match kind {
            ExpansionKind::Count => single(kind, RepetitionData::unknown(true)),
            ExpansionKind::ForEach => single(kind, RepetitionData::unknown(false)),
            _ => single(kind, RepetitionData::default()),
        });
    }
    // Only the shape determines the number. Elements carry their own origins in `each.value`.
    let origin = if kind == ExpansionKind::ForEach { value.origin().cloned() } else { origin };
    Ok(Expanded { kind, instances, origin })
}

/// The problem of an unknown value that is invalid whatever it turns out to be.
fn confidential(value: &Value, repetition: &Repetition, at: &Expression) -> Option<Diagnostic> {
    let marks = value.marks();
    match repetition {
        Repetition::Count(_) if marks.is_ephemeral() => count(&Value::number(0_u64.into()).mark(marks), at).err(),
        Repetition::ForEach(_) if marks.is_ephemeral() || marks.is_sensitive() => for_each(value, at).err(),
        // Whether the instance exists is decided at plan.
        _ => None,
    }
}

/// The problem with the type of an unknown value.
fn misplaced(value: &Value, repetition: &Repetition, at: &Expression) -> Option<Diagnostic> {
    let ty = value.ty();
    match repetition {
        Repetition::Count(_) => convert(&Value::unknown(ty), &Type::Number).err().and_then(|_| count(value, at).err()),
        Repetition::ForEach(_) => match ty {
            Type::Dynamic | Type::Map(_) | Type::Object(_) => None,
            Type::Set(of) if matches!(*of, Type::String | Type::Dynamic) => None,
            Type::Set(of) => Some(problem(
                FOR_EACH,
                format!("for_each takes sets of strings; this one has elements of type {}.", of.friendly_name()),
                at,
            )),
            other => Some(problem(
                FOR_EACH,
                format!("for_each needs a map or a set of strings, not {}.", other.friendly_name()),
                at,
            )),
        },
        _ => None,
    }
}

fn problem(summary: &str, detail: impl Into<String>, at: &Expression) -> Diagnostic {
    Diagnostic::error(summary, detail.into()).at(at.range())
}

fn count(value: &Value, at: &Expression) -> Result<u64, Diagnostic> {
    const SUMMARY: &str = "Invalid count argument";
    let converted = convert(value, &Type::Number)
        .map_err(|e| problem("Incorrect value type", format!("The count is unsuitable: {}.", e.with_path()), at))?;
    if value.is_null() {
        return Err(problem(SUMMARY, "The count is null. A whole number of zero or more is needed.", at));
    }
    if !value.is_known() {
        return Err(problem(
            SUMMARY,
            "The count depends on values that are known only after apply, so the number of instances cannot be \
             planned. \
             Apply what it depends on first, or compute it from values that are known.",
            at,
        ));
    }
    let number = converted;
    if value.marks().is_ephemeral() {
        return Err(problem(
            SUMMARY,
            "The count comes from an ephemeral value, which cannot decide what is stored.",
            at,
        ));
    }
    let Some(number) = number.as_number() else {
        return Err(problem(SUMMARY, "The count must be a number.", at));
    };
    if number.signum() < 0 {
        return Err(problem(SUMMARY, format!("The count is {number}; it must be zero or more."), at));
    }
    match number.to_u64() {
        Some(n) if n <= MOST_INSTANCES => Ok(n),
        Some(n) => Err(problem(SUMMARY, format!("The count is {n}; the limit is {MOST_INSTANCES}."), at)),
        None => Err(problem(SUMMARY, format!("The count is {number}; it must be a whole number."), at)),
    }
}

pub(crate) type Elements = Vec<(SmolStr, Option<Value>)>;

/// The elements of a `for_each` value.
pub(crate) fn for_each(value: &Value, at: &Expression) -> Result<Elements, Diagnostic> {
    const SUMMARY: &str = FOR_EACH;
    const UNKNOWN: &str = "The keys of for_each depend on values that are known only after apply, so the instances \
        cannot be planned. Use keys that are known, and put what is not into the values of a map; or apply what it \
        depends on first.";
    let (marks, kind) = value.open();
    if marks.is_sensitive() {
        return Err(problem(
            SUMMARY,
            "Sensitive values, or values made from them, cannot be used for for_each: keys are shown in addresses.",
            at,
        ));
    }
    if marks.is_ephemeral() {
        return Err(problem(SUMMARY, "Ephemeral values cannot be used for for_each: keys are stored.", at));
    }
    match kind {
        Kind::Null(_) => Err(problem(SUMMARY, "for_each is null. A map, or a set of strings, is needed.", at)),
        Kind::Unknown(u) => match u.ty {
            Type::Dynamic | Type::Map(_) | Type::Object(_) | Type::Set(_) => Err(problem(SUMMARY, UNKNOWN, at)),
            _ => Err(problem(
                SUMMARY,
                format!("for_each needs a map or a set of strings, not {}.", u.ty.friendly_name()),
                at,
            )),
        },
        Kind::Map(f) | Kind::Object(f) => {
            Ok(f.iter().map(|(key, element)| (key.clone(), Some(element.add_origin(value.origin())))).collect())
        }
        Kind::Set(s) => s
            .items()
            .iter()
            .map(|item| match item.open().1 {
                Kind::String(key) => Ok((key.clone(), Some(item.add_origin(value.origin())))),
                Kind::Unknown(_) => Err(problem(SUMMARY, UNKNOWN, at)),
                Kind::Null(_) => Err(problem(SUMMARY, "for_each sets must not contain null values.", at)),
                _ => Err(problem(
                    SUMMARY,
                    format!(
                        "for_each takes sets of strings; this one has elements of type {}.",
                        item.ty().friendly_name()
                    ),
                    at,
                )),
            })
            .collect(),
        _ => Err(problem(
            SUMMARY,
            format!(
                "for_each needs a map or a set of strings, not {}. A list can be made a set with toset.",
                value.ty().friendly_name()
            ),
            at,
        )),
    }
}

fn enabled(value: &Value, at: &Expression) -> Result<bool, Diagnostic> {
    const SUMMARY: &str = "Invalid enabled argument";
    if value.marks().is_sensitive() || value.marks().is_ephemeral() {
        return Err(problem(SUMMARY, "Sensitive and ephemeral values cannot be used for enabled.", at));
    }
    let value = convert(value, &Type::Bool)
        .map_err(|e| problem(SUMMARY, format!("The value is unsuitable: {}.", e.with_path()), at))?;
    match value.as_bool() {
        Some(on) => Ok(on),
        None if value.is_null() => Err(problem(SUMMARY, "enabled must be true or false, not null.", at)),
        None => Err(problem(
            SUMMARY,
            "enabled depends on values that are known only after apply, so what there is cannot be planned.",
            at,
        )),
    }
}

/// The value of a reference to all instances: a single value, a tuple, or an object by key.
///
/// Missing instances are left out. `gap` is the placeholder for one that others follow, and for a missing single
/// instance.
pub(crate) fn assemble(
    kind: ExpansionKind,
    mut instances: Vec<(InstanceKey, Value)>,
    gap: impl Fn() -> Value,
) -> Value {
    match kind {
        ExpansionKind::Single => instances.pop().map_or_else(gap, |(_, value)| value),
        ExpansionKind::Enabled => instances.pop().map_or_else(|| Value::null(Type::Dynamic), |(_, value)| value),
        ExpansionKind::Count => {
            let mut items: Vec<Value> = Vec::with_capacity(instances.len());
            for (key, value) in instances {
                let InstanceKey::Int(index) = key else { continue };
                let Ok(index) = u64::try_from(index) else { continue };
                while (items.len() as u64) < index.min(MOST_INSTANCES) {
                    items.push(gap());
                }
                items.push(value);
            }
            Value::tuple(items)
        }
        ExpansionKind::ForEach => Value::object(instances.into_iter().filter_map(|(key, v)| match key {
            InstanceKey::String(key) => Some((key, v)),
            _ => None,
        })),
    }
}
