//! Expands repetitions, and combines the values of all instances into one.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::convert::convert;
use weft_graph_format::address::InstanceKey;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::origin::Origin;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_syntax::Expression;

use super::module_node::ModuleNode;
use super::problems::repetition as problems;
use super::references::check_loose;
use super::repetition_data::RepetitionData;
use crate::config::{Repetition, unsuitable};
use crate::glue::{Expansion, ExpansionKind, Failed};
use crate::problems::are_repeated_keys;
use crate::reference::references_of;

/// The maximum `count`. No plan could hold more instances of one block.
pub(super) const MOST_INSTANCES: u64 = 10_000_000;

/// The expanded instances of a block.
pub(crate) struct Expanded {
    pub(crate) kind: ExpansionKind,
    /// The data of each instance.
    pub(crate) instances: BTreeMap<InstanceKey, RepetitionData>,
    /// The origin of the number and the keys of the instances.
    pub(crate) origin: Option<Origin>,
}

impl Expanded {
    pub(crate) fn expansion(&self) -> Expansion {
        Expansion { kind: self.kind, keys: self.instances.keys().cloned().collect() }
    }
}

/// Evaluates the `for_each` of a provider, even during validation.
pub(crate) async fn expand_provider(node: &Arc<ModuleNode>, expression: &Expression) -> Result<Expanded, Failed> {
    let value = node.evaluate(expression, &RepetitionData::default()).await?;
    if let Some(detail) = unsuitable(&value) {
        return node.fail(problems::provider_for_each(detail, expression.range()));
    }
    if !node.evaluation.purpose().has_values() && !value.is_wholly_known() {
        let instances = BTreeMap::from([(InstanceKey::None, RepetitionData::unknown(false))]);
        return Ok(Expanded { kind: ExpansionKind::ForEach, instances, origin: None });
    }
    let elements = match for_each(&value, expression) {
        Ok(elements) => elements,
        Err(problem) if value.is_wholly_known() => return node.fail(problem),
        Err(found) => {
            // The keys must be known before apply, because the plan itself calls the provider.
            let names = node.unknown_names(&value, expression, &RepetitionData::default()).await;
            if names.is_empty() {
                return node.fail(found);
            }
            return node.fail(problems::unknown_provider_keys(&names, expression.range()));
        }
    };
    let instances = elements.into_iter().map(|(key, element)| {
        let key = InstanceKey::String(key);
        let repeated = RepetitionData::of(&key, element);
        (key, repeated)
    });
    Ok(Expanded { kind: ExpansionKind::ForEach, instances: instances.collect(), origin: value.origin().cloned() })
}

/// Evaluates the repetition of a resource or a call. During validation, blocks are not repeated: one instance stands
/// for all.
pub(crate) async fn expand(
    node: &Arc<ModuleNode>,
    repetition: &Repetition,
    of_resource: bool,
) -> Result<Expanded, Failed> {
    let single =
        |kind, repeated| Expanded { kind, instances: BTreeMap::from([(InstanceKey::None, repeated)]), origin: None };
    let Some(expression) = repetition.expression() else {
        return Ok(single(ExpansionKind::Single, RepetitionData::default()));
    };
    let validating = !node.evaluation.purpose().repeats();
    if let Repetition::Enabled(_) = repetition {
        if validating {
            // As in OpenTofu, only the plan evaluates `enabled`.
            return Ok(single(ExpansionKind::Enabled, RepetitionData::default()));
        }
        let references = references_of(expression, &mut Vec::new());
        let wrong = check_loose(&node.evaluation, &node.config, &references).await;
        if has_errors(&wrong) {
            wrong.into_iter().for_each(|problem| node.evaluation.glue.report(problem));
            return Err(Failed);
        }
    }
    let (value, problems) = node.attempted(expression, &RepetitionData::default()).await?;
    let (failed, has_keys) = (has_errors(&problems), matches!(repetition, Repetition::ForEach(_)));
    let settled = match repetition {
        Repetition::Enabled(_) => is_about_reference(&problems, expression),
        _ => !has_keys || are_repeated_keys(&problems, expression),
    };
    let is_late = validating && of_resource && !is_about_reference(&problems, expression);
    if failed && !settled && is_late && may_be_fine(&value, repetition, expression) {
        // As in OpenTofu, only the plan reports the problems of this `for_each`.
        return Ok(single(ExpansionKind::ForEach, RepetitionData::unknown(false)));
    }
    problems.into_iter().for_each(|problem| node.evaluation.glue.report(problem));
    if failed && settled {
        return Err(Failed);
    }
    // Validation does not report deprecations here, but planning does.
    let value = if validating { value } else { node.tell_deprecated(value, &|| expression.range()) };
    let expanded = expansion_of(node, repetition, of_resource, (&value, expression), validating).await?;
    // As in OpenTofu, the value of a `for_each` or `enabled` with errors is checked too.
    if failed { Err(Failed) } else { Ok(expanded) }
}

/// Whether one of the problems is an error at a reference of the expression. Other errors come from the use of the
/// referenced values.
fn is_about_reference(problems: &[Diagnostic], expression: &Expression) -> bool {
    let references = references_of(expression, &mut Vec::new());
    let mut subjects =
        problems.iter().filter(|problem| problem.is_error()).filter_map(|problem| problem.subject.as_ref());
    subjects.any(|subject| references.iter().any(|reference| reference.range == *subject))
}

/// Whether a `for_each` is unknown and can still turn out to be valid.
fn may_be_fine(value: &Value, repetition: &Repetition, at: &Expression) -> bool {
    let unknown = !value.is_known() || matches!(value.ty(), Type::Set(_)) && !value.is_wholly_known();
    unknown && confidential(value, repetition, at).or_else(|| misplaced(value, repetition, true, at)).is_none()
}

/// The expansion for the value of a repetition.
async fn expansion_of(
    node: &Arc<ModuleNode>,
    repetition: &Repetition,
    of_resource: bool,
    (value, expression): (&Value, &Expression),
    validating: bool,
) -> Result<Expanded, Failed> {
    let single =
        |kind, repeated| Expanded { kind, instances: BTreeMap::from([(InstanceKey::None, repeated)]), origin: None };
    if validating && !value.is_wholly_known() {
        let problem = confidential(value, repetition, expression)
            .or_else(|| misplaced(value, repetition, of_resource, expression));
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
        Repetition::Count(_) => count(value, expression).map(|n| {
            let instances = (0..).zip(0..n).map(|(i, _)| {
                let key = InstanceKey::Int(i);
                let repeated = RepetitionData::of(&key, None);
                (key, repeated)
            });
            (ExpansionKind::Count, instances.collect())
        }),
        Repetition::ForEach(_) => for_each(value, expression).map(|elements| {
            let instances = elements.into_iter().map(|(key, element)| {
                let key = InstanceKey::String(key);
                let repeated = RepetitionData::of(&key, element);
                (key, repeated)
            });
            (ExpansionKind::ForEach, instances.collect())
        }),
        _ => enabled(value, expression).map(|on| {
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
    // Only the keys determine the number of instances. Elements carry their own origins in `each.value`.
    let origin = if kind == ExpansionKind::ForEach { value.origin().cloned() } else { origin };
    Ok(Expanded { kind, instances, origin })
}

/// The repetitions of an import block. Unlike other blocks, an import block accepts tuples. In this case, `each.key` is
/// the position.
pub(super) fn import_repetitions(
    value: &Value,
    expression: &Expression,
    validating: bool,
) -> Result<Vec<RepetitionData>, Diagnostic> {
    let (marks, kind) = value.open();
    if let (true, Kind::Tuple(items)) = (marks.is_empty(), kind) {
        let repeated = |(index, item): (u64, &Value)| RepetitionData {
            key: Some(Value::number(index.into())),
            value: Some(item.clone()),
            ..RepetitionData::default()
        };
        return Ok((0..).zip(items.items()).map(repeated).collect());
    }
    if validating && !value.is_wholly_known() {
        let repetition = Repetition::ForEach(expression.clone());
        let fits = matches!(value.ty(), Type::Tuple(_));
        let problem = confidential(value, &repetition, expression)
            .or_else(|| misplaced(value, &repetition, false, expression).filter(|_| !fits));
        return problem.map_or(Ok(Vec::new()), Err);
    }
    let elements = for_each(value, expression)?;
    Ok(elements.into_iter().map(|(key, element)| RepetitionData::of(&InstanceKey::String(key), element)).collect())
}

/// The problem of an unknown value whose marks are not allowed.
fn confidential(value: &Value, repetition: &Repetition, at: &Expression) -> Option<Diagnostic> {
    let marks = value.marks();
    match repetition {
        Repetition::Count(_) if marks.is_ephemeral() => count(&Value::number(0_u64.into()).mark(marks), at).err(),
        Repetition::ForEach(_) if marks.is_ephemeral() || marks.is_sensitive() => for_each(value, at).err(),
        // An unknown `enabled` is valid with any marks, because the plan decides whether the instance exists.
        _ => None,
    }
}

/// The problem of an unknown value whose type is not allowed. As in OpenTofu, the `for_each` of a resource may be an
/// unknown set with elements of any type. The plan reports elements that are not strings.
fn misplaced(value: &Value, repetition: &Repetition, of_resource: bool, at: &Expression) -> Option<Diagnostic> {
    let ty = value.ty();
    match repetition {
        Repetition::Count(_) => convert(&Value::unknown(ty), &Type::Number).err().and_then(|_| count(value, at).err()),
        Repetition::ForEach(_) => match ty {
            Type::Dynamic | Type::Map(_) | Type::Object(_) => None,
            Type::Set(of) if matches!(*of, Type::String | Type::Dynamic) => None,
            Type::Set(_) if of_resource && !value.is_known() => None,
            Type::Set(of) => Some(problems::for_each_of_others(&of.friendly_name(), at.range())),
            other => Some(problems::for_each_type(&other.friendly_name(), at.range())),
        },
        _ => None,
    }
}

fn count(value: &Value, at: &Expression) -> Result<u64, Diagnostic> {
    let at = || at.range();
    let number =
        convert(value, &Type::Number).map_err(|problem| problems::unsuitable_count(&problem.with_path(), at()))?;
    if value.is_null() {
        return Err(problems::null_count(at()));
    }
    if !value.is_known() {
        return Err(problems::unknown_count(at()));
    }
    if value.marks().is_ephemeral() {
        return Err(problems::ephemeral_count(at()));
    }
    let Some(number) = number.as_number() else {
        return Err(problems::count_not_a_number(at()));
    };
    if number.signum() < 0 {
        return Err(problems::negative_count(&number, at()));
    }
    match number.to_u64() {
        Some(n) if n <= MOST_INSTANCES => Ok(n),
        Some(n) => Err(problems::large_count(n, MOST_INSTANCES, at())),
        None => Err(problems::fractional_count(&number, at())),
    }
}

pub(crate) type Elements = Vec<(SmolStr, Option<Value>)>;

/// The elements of a `for_each` value.
pub(crate) fn for_each(value: &Value, at: &Expression) -> Result<Elements, Diagnostic> {
    let at = || at.range();
    let (marks, kind) = value.open();
    if marks.is_sensitive() {
        return Err(problems::sensitive_for_each(at()));
    }
    if marks.is_ephemeral() {
        return Err(problems::ephemeral_for_each(at()));
    }
    match kind {
        Kind::Null(_) => Err(problems::null_for_each(at())),
        Kind::Unknown(u) => match u.ty {
            Type::Dynamic | Type::Map(_) | Type::Object(_) | Type::Set(_) => Err(problems::unknown_for_each(at())),
            _ => Err(problems::for_each_type(&u.ty.friendly_name(), at())),
        },
        Kind::Map(f) | Kind::Object(f) => {
            Ok(f.iter().map(|(key, element)| (key.clone(), Some(element.add_origin(value.origin())))).collect())
        }
        // The type of the elements counts even if there are no elements.
        Kind::Set(s) if !matches!(s.element_type(), Type::String | Type::Dynamic) => {
            Err(problems::for_each_of_others(&s.element_type().friendly_name(), at()))
        }
        Kind::Set(s) => s
            .items()
            .iter()
            .map(|item| match item.open().1 {
                Kind::String(key) => Ok((key.clone(), Some(item.add_origin(value.origin())))),
                Kind::Unknown(_) => Err(problems::unknown_for_each(at())),
                Kind::Null(_) => Err(problems::null_in_for_each(at())),
                _ => Err(problems::for_each_of_others(&item.ty().friendly_name(), at())),
            })
            .collect(),
        _ => Err(problems::no_for_each(&value.ty().friendly_name(), at())),
    }
}

fn enabled(value: &Value, at: &Expression) -> Result<bool, Diagnostic> {
    let at = || at.range();
    if value.marks().is_sensitive() || value.marks().is_ephemeral() {
        return Err(problems::confidential_enabled(at()));
    }
    let value =
        convert(value, &Type::Bool).map_err(|problem| problems::unsuitable_enabled(&problem.with_path(), at()))?;
    match value.as_bool() {
        Some(on) => Ok(on),
        None if value.is_null() => Err(problems::null_enabled(at())),
        None => Err(problems::unknown_enabled(at())),
    }
}

/// The value of a reference to all instances: a single value, a tuple, or an object by key. Missing instances:
///
/// - Without repetition: the placeholder that `gap` returns.
/// - With `enabled`: a null of the type that `disabled` returns.
/// - With `count`: `gap` returns a placeholder for each missing instance before an existing one. Others are left out.
/// - With `for_each`: left out.
pub(crate) fn assemble(
    kind: ExpansionKind,
    mut instances: Vec<(InstanceKey, Value)>,
    disabled: impl Fn() -> Type,
    gap: impl Fn() -> Value,
) -> Value {
    match kind {
        ExpansionKind::Single => instances.pop().map_or_else(gap, |(_, value)| value),
        ExpansionKind::Enabled => instances.pop().map_or_else(|| Value::null(disabled()), |(_, value)| value),
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
