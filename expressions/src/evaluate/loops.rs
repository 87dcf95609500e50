//! Evaluates `for` expressions and splats.

use smol_str::SmolStr;
use weft_graph_format::formula::{Formula, FormulaOp, Parameter};
use weft_graph_format::marks::Marks;
use weft_graph_format::origin::Origin;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Extent, Kind, Refinement, Value};
use weft_syntax::{ExprId, For, Splat};

use super::{Evaluator, certain_failure, failed, failed_value, fails_for_certain};
use crate::iteration::{self, Decided, ObjectResults, SplatSource};
use crate::limits;
use crate::symbolic;

/// The parts of a `for` expression or a `for` template directive.
pub(super) struct ForParts<'t> {
    pub(super) key_variable: Option<&'t SmolStr>,
    pub(super) value_variable: &'t SmolStr,
    pub(super) collection: ExprId,
    pub(super) key: Option<ExprId>,
    pub(super) value: ExprId,
    pub(super) condition: Option<ExprId>,
    pub(super) grouping: bool,
}

impl<'t> ForParts<'t> {
    pub(super) fn of(node: &'t For) -> ForParts<'t> {
        ForParts {
            key_variable: node.key_variable.as_ref().map(|name| &name.text),
            value_variable: &node.value_variable.text,
            collection: node.collection,
            key: node.key,
            value: node.value,
            condition: node.condition,
            grouping: node.grouping,
        }
    }
}

/// The combined result of all rounds over a known collection.
#[derive(Default)]
struct CombinedRounds {
    /// The result, or `None` if a condition or a key is unknown.
    result: Option<Value>,
    marks: Marks,
    /// Whether a condition or key is provisional, so that the result may have other elements at apply.
    provisional: bool,
    /// Whether a round has an error that may not occur at apply.
    open_failure: bool,
    /// The origins of conditions and keys.
    origins: Vec<Origin>,
    /// The size of the results so far.
    extent: Extent,
}

impl Evaluator<'_> {
    pub(super) fn for_expression(&mut self, parts: &ForParts<'_>, id: ExprId) -> Value {
        let (collection, collection_failed) = self.checked(parts.collection);
        let open = Value::unknown(Type::Dynamic);
        if collection_failed {
            return match certain_failure(&collection) {
                Some(certain) => certain,
                None => self.symbolic_for(open, parts, &collection, id),
            };
        }
        if let Err(problem) = iteration::check_collection(&collection) {
            let failure = self.problem(&problem, self.span(parts.collection), id);
            return if collection.deep().provisional {
                self.symbolic_for(open, parts, &collection, id)
            } else {
                failure
            };
        }
        let (bare, marks) = collection.unmark();
        // As in OpenTofu, nothing is checked while the type of the collection is unknown.
        if bare.ty() != Type::Dynamic
            && let Some(failure) = self.impossible_condition(parts, id)
        {
            return if fails_for_certain(&failure) { failure } else { self.symbolic_for(open, parts, &collection, id) };
        }
        let Some(entries) = iteration::entries(&bare) else {
            return self.symbolic_for(open.mark(&marks), parts, &collection, id);
        };
        let before = self.diagnostics.len();
        let walk = self.walk(parts, entries, id);
        let problem = self.diagnostics.get(before..).and_then(|new| new.iter().find(|d| d.is_error())).cloned();
        if let Some(problem) = problem {
            return if walk.provisional || walk.open_failure || collection.deep().provisional {
                self.symbolic_for(open, parts, &collection, id)
            } else {
                failed_value(&problem)
            };
        }
        let marks = marks.union(&walk.marks);
        // If elements of a set are unknown or computed at apply, they may turn out to be equal.
        let unsettled_set = matches!(bare.open().1, Kind::Set(_)) && (bare.deep().unknown || bare.deep().formula);
        let Some(result) = walk.result else {
            return self.symbolic_for(Value::unknown(Type::Dynamic).mark(&marks), parts, &collection, id);
        };
        if walk.provisional || unsettled_set || collection.formula().is_some() {
            return self.symbolic_for(result.mark(&marks), parts, &collection, id);
        }
        let origin = Origin::union(walk.origins.into_iter().chain(collection.origin().cloned()));
        result.mark(&marks).add_origin(origin.as_ref())
    }

    /// Evaluates the condition for an unknown element, so that a condition that is wrong for all elements is reported
    /// only once. If the condition is wrong, records the error and returns the value that replaces the `for`.
    fn impossible_condition(&mut self, parts: &ForParts<'_>, id: ExprId) -> Option<Value> {
        let condition_id = parts.condition?;
        let open = Value::unknown(Type::Dynamic);
        let (condition, problems) = self.apart(|e| e.with_names(parts, open.clone(), open, |e| e.value(condition_id)));
        if failed(&problems) {
            let failure = problems.iter().find(|p| p.is_error()).map(failed_value);
            self.diagnostics.extend(problems);
            // The element is unknown here, which alone does not make the error uncertain. The condition must also
            // depend on an operation.
            let doubtful = condition.deep_origin().is_some();
            return if doubtful && !fails_for_certain(&condition) { Some(condition) } else { failure };
        }
        match iteration::possible(&condition) {
            Ok(()) => None,
            Err(problem) => Some(self.problem(&problem, self.span(condition_id), id)),
        }
    }

    fn with_names<R>(
        &mut self,
        parts: &ForParts<'_>,
        key: Value,
        value: Value,
        inner: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let depth = self.variables.len();
        if let Some(name) = parts.key_variable {
            self.variables.push((name.clone(), key));
        }
        self.variables.push((parts.value_variable.clone(), value));
        let result = inner(self);
        self.variables.truncate(depth);
        result
    }

    fn walk(
        &mut self,
        parts: &ForParts<'_>,
        entries: impl Iterator<Item = (Value, Value)>,
        id: ExprId,
    ) -> CombinedRounds {
        let mut walk = CombinedRounds::default();
        let mut known = true;
        let mut tuple = Vec::new();
        let mut object = ObjectResults::new(parts.grouping);
        for (key, value) in entries {
            if self.spend(limits::STEPS_A_ROUND, id) {
                break;
            }
            let depth = self.variables.len();
            if let Some(name) = parts.key_variable {
                self.variables.push((name.clone(), key));
            }
            self.variables.push((parts.value_variable.clone(), value));
            self.walk_step(parts, &mut walk, &mut known, &mut tuple, &mut object, id);
            self.variables.truncate(depth);
            // The result so far already exceeds a limit, so the remaining rounds are skipped.
            if walk.extent.excess().is_some() {
                break;
            }
        }
        if known {
            walk.result = Some(if parts.key.is_some() { object.finish() } else { Value::tuple(tuple) });
        }
        walk
    }

    fn walk_step(
        &mut self,
        parts: &ForParts<'_>,
        walk: &mut CombinedRounds,
        known: &mut bool,
        tuple: &mut Vec<Value>,
        object: &mut ObjectResults,
        id: ExprId,
    ) {
        if let Some(condition_id) = parts.condition {
            let (condition, condition_failed) = self.checked(condition_id);
            if condition_failed {
                walk.open_failure |= !fails_for_certain(&condition);
                return;
            }
            walk.note(&condition);
            match iteration::included(&condition, &mut walk.marks) {
                Ok(Decided::Known(true)) => {}
                Ok(Decided::Known(false)) => return,
                Ok(Decided::Open) => {
                    *known = false;
                    return;
                }
                Err(problem) => {
                    if *known {
                        self.problem(&problem, self.span(condition_id), id);
                    }
                    *known = false;
                    return;
                }
            }
        }
        let Some(key_id) = parts.key else {
            let (value, value_failed) = self.checked(parts.value);
            walk.open_failure |= value_failed && !fails_for_certain(&value);
            walk.extent = walk.extent.and(value.extent());
            tuple.push(value);
            return;
        };
        let (key, key_failed) = self.checked(key_id);
        if key_failed {
            walk.open_failure |= !fails_for_certain(&key);
            return;
        }
        walk.note(&key);
        match iteration::object_key(&key, &mut walk.marks) {
            Ok(Decided::Known(key)) => {
                let (value, value_failed) = self.checked(parts.value);
                walk.open_failure |= value_failed && !fails_for_certain(&value);
                walk.extent = walk.extent.and(value.extent());
                if let Err(problem) = object.add(key, value) {
                    self.problem(&problem, self.span(key_id), id);
                }
            }
            Ok(Decided::Open) => *known = false,
            Err(problem) => {
                if *known {
                    self.problem(&problem, self.span(key_id), id);
                }
                *known = false;
            }
        }
    }

    /// The result of a `for` that is final only at apply. `result` contains what is known during planning.
    fn symbolic_for(&mut self, result: Value, parts: &ForParts<'_>, collection: &Value, id: ExprId) -> Value {
        let (key_type, value_type) = iteration::entry_types(&collection.ty());
        let (key_parameter, key_value) = self.parameter(key_type);
        let (value_parameter, value_value) = self.parameter(value_type);
        let ((key, value, condition), _) = self.apart(|evaluator| {
            evaluator.with_names(parts, key_value, value_value, |evaluator| {
                (
                    parts.key.map(|id| evaluator.body(id)),
                    evaluator.body(parts.value),
                    parts.condition.map(|id| evaluator.body(id)),
                )
            })
        });
        let origins = [Some(&value), key.as_ref(), condition.as_ref()];
        let origin =
            Origin::union(origins.into_iter().flatten().filter_map(Value::deep_origin).chain(collection.deep_origin()));
        let op = FormulaOp::For {
            collection: collection.to_formula(),
            key_parameter,
            value_parameter,
            key: key.as_ref().map(Value::to_formula),
            value: value.to_formula(),
            condition: condition.as_ref().map(Value::to_formula),
            grouping: parts.grouping,
        };
        let formula = Formula::new(op, result.ty(), Some(self.range(id)));
        symbolic::replace_formulas(&result, &formula).add_origin(origin.as_ref())
    }

    /// The value of the body. A value that contains an error becomes that error.
    fn body(&mut self, id: ExprId) -> Value {
        let (value, problems) = self.apart(|e| e.value(id));
        match problems.iter().find(|p| p.is_error()) {
            Some(problem) if fails_for_certain(&value) => failed_value(problem),
            _ => value,
        }
    }

    fn parameter(&mut self, ty: Type) -> (Parameter, Value) {
        let parameter = self.scope.new_parameter();
        let formula = Formula::new(FormulaOp::Parameter(parameter), ty.clone(), None);
        (parameter, Value::unknown(ty).with_formula(Some(formula)))
    }

    pub(super) fn splat(&mut self, splat: &Splat, id: ExprId) -> Value {
        let (source, source_failed) = self.checked(splat.source);
        let open_result = Value::unknown(Type::Dynamic);
        if source_failed {
            return match certain_failure(&source) {
                Some(certain) => certain,
                None => self.symbolic_splat(open_result, splat, &source, id),
            };
        }
        let (bare, marks) = source.unmark();
        let found = match iteration::splat_source(&bare) {
            Ok(found) => found,
            Err(problem) => {
                let failure = self.problem(&problem, splat.marker, id);
                return if source.deep().provisional {
                    self.symbolic_splat(open_result, splat, &source, id)
                } else {
                    failure
                };
            }
        };
        let before = self.diagnostics.len();
        let unsettled_set = matches!(bare.open().1, Kind::Set(_)) && (bare.deep().unknown || bare.deep().formula);
        let (result, open) = match found {
            SplatSource::Open => (Value::unknown(Type::Dynamic), true),
            SplatSource::Perhaps(single) => {
                // Report errors in the elements now if they occur for every value that is not null.
                self.each(splat, single);
                (Value::unknown(Type::Dynamic), true)
            }
            SplatSource::UnknownList(element) => {
                let each = self.each(splat, Value::unknown(element));
                let (length_min, length_max) = crate::refine::length_bounds(&bare);
                let refinement = Refinement { not_null: true, length_min, length_max, ..Refinement::default() };
                (Value::refined(Type::list(each.ty()), refinement), true)
            }
            SplatSource::UnknownTuple(types) => {
                let items: Vec<Type> = types.into_iter().map(|ty| self.each(splat, Value::unknown(ty)).ty()).collect();
                (Value::refined(Type::tuple(items), Refinement::not_null()), true)
            }
            SplatSource::List(items) if items.is_empty() => {
                let element = bare.ty().element().cloned().unwrap_or(Type::Dynamic);
                let (each, _) = self.apart(|e| e.each(splat, Value::unknown(element)));
                (Value::list(each.ty(), Vec::new()), false)
            }
            SplatSource::List(items) => {
                let items: Vec<Value> = items.into_iter().map(|item| self.each(splat, item)).collect();
                (iteration::splat_list(items, Type::Dynamic), false)
            }
            SplatSource::Tuple(items) => {
                (Value::tuple(items.into_iter().map(|item| self.each(splat, item)).collect()), false)
            }
        };
        let problem = self.diagnostics.get(before..).and_then(|new| new.iter().find(|d| d.is_error())).cloned();
        if let Some(problem) = problem {
            return if source.deep().provisional || !fails_for_certain(&result) {
                self.symbolic_splat(open_result, splat, &source, id)
            } else {
                failed_value(&problem)
            };
        }
        let result = result.mark(&marks);
        // A known value with a formula may be another value at apply, for example null, and the result depends on
        // whether a single value is null. A value that is unknown but not null cannot become null at apply.
        let provisional = source.formula().is_some() && bare.is_known();
        if !open && !provisional && !unsettled_set {
            return result.add_origin(source.origin());
        }
        self.symbolic_splat(result, splat, &source, id)
    }

    /// The result of a splat that is final only at apply. `result` contains what is known during planning.
    fn symbolic_splat(&mut self, result: Value, splat: &Splat, source: &Value, id: ExprId) -> Value {
        let bare = source.unmark().0;
        let (parameter, element) = self.parameter(match bare.ty() {
            Type::List(element) | Type::Set(element) => (*element).clone(),
            Type::Tuple(_) => Type::Dynamic,
            other => other,
        });
        let (body, _) = self.apart(|e| {
            let value = e.each(splat, element);
            match e.diagnostics.iter().find(|d| d.is_error()) {
                Some(problem) if fails_for_certain(&value) => failed_value(problem),
                _ => value,
            }
        });
        let origin = Origin::join(source.deep_origin().as_ref(), body.deep_origin().as_ref());
        let op = FormulaOp::Splat { collection: source.to_formula(), parameter, body: body.to_formula() };
        let formula = Formula::new(op, result.ty(), Some(self.range(id)));
        symbolic::replace_formulas(&result, &formula).add_origin(origin.as_ref())
    }

    fn each(&mut self, splat: &Splat, element: Value) -> Value {
        self.spend(limits::STEPS_A_ROUND, splat.each);
        self.elements.push((splat.element, element));
        let value = self.value(splat.each);
        self.elements.pop();
        value
    }
}

impl CombinedRounds {
    fn note(&mut self, decider: &Value) {
        self.provisional |= decider.deep().provisional;
        self.origins.extend(decider.deep_origin());
    }
}
