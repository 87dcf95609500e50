//! The loop that runs a program.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::BinaryOperator;
use weft_graph_format::marks::Marks;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Extent, Refinement, Value};

use super::{Action, Constructor, Fault, ForAction, LoopBody, Node, NodeId, Program, ResultSource};
use crate::access::Problem;
use crate::conditional;
use crate::iteration::{self, Decided, ObjectResults, SplatSource};
use crate::limits;
use crate::operator_error::{OperatorError, Side};
use crate::operators;
use crate::problems;
use crate::stack;

/// The value of a node, or its error. Errors are shared, so that each is reported once.
type NodeResult = Result<Value, Arc<Fault>>;

/// How to continue with a node.
enum NodeProgress {
    Done(NodeResult),
    Need(NodeId),
    /// All operands are needed.
    NeedAll,
}

/// Operands by their position. The formula of a node determines the number of its operands.
impl Node {
    fn all_operands<const N: usize>(&self) -> [NodeId; N] {
        (*self.operands).try_into().unwrap_or_else(|_| panic!("a node with {} operands, not {N}", self.operands.len()))
    }

    fn operand(&self, place: usize) -> NodeId {
        *self.operands.get(place).expect("a node has the operands of its formula")
    }
}

/// One run, with a slot for the value of each node.
pub(super) struct Run<'p> {
    pub(super) program: &'p Program,
    pub(super) results: &'p dyn ResultSource,
    slots: Vec<Option<NodeResult>>,
    /// The number of loop steps.
    steps: u64,
}

impl<'p> Run<'p> {
    pub(super) fn new(program: &'p Program, results: &'p dyn ResultSource) -> Run<'p> {
        Run { program, results, slots: vec![None; program.nodes.len()], steps: 0 }
    }

    /// Computes the value of a node.
    pub(super) fn force(&mut self, id: NodeId) -> Result<Value, Fault> {
        self.outcome(id).map_err(|fault| (*fault).clone())
    }

    pub(super) fn slot(&self, id: NodeId) -> Option<&NodeResult> {
        self.slots[id as usize].as_ref()
    }

    fn put(&mut self, id: NodeId, outcome: NodeResult) {
        self.slots[id as usize] = Some(outcome);
    }

    fn outcome(&mut self, root: NodeId) -> NodeResult {
        let program = self.program;
        let mut pending = vec![root];
        while let Some(id) = pending.last().copied() {
            if self.slot(id).is_some() {
                pending.pop();
                continue;
            }
            let node = &program.nodes[id as usize];
            match self.step(node) {
                NodeProgress::Done(outcome) => {
                    let outcome = outcome.map_err(|fault| self.explained(node, fault));
                    self.put(id, outcome);
                    pending.pop();
                }
                NodeProgress::Need(needed) => pending.push(needed),
                NodeProgress::NeedAll => {
                    pending.extend(node.operands.iter().copied().filter(|operand| self.slot(*operand).is_none()));
                }
            }
        }
        self.slot(root).cloned().expect("the loop ends when the root has its value")
    }

    /// Adds the involved values to a fault of this node. Faults of operands already have their own involved values.
    fn explained(&self, node: &Node, fault: Arc<Fault>) -> Arc<Fault> {
        match Arc::try_unwrap(fault) {
            Ok(Fault::Failed(mut problems)) => {
                if problems.iter().any(|problem| problem.values.is_empty()) {
                    let values = self.involved(node);
                    for problem in problems.iter_mut().filter(|problem| problem.values.is_empty()) {
                        problem.values.clone_from(&values);
                    }
                }
                Arc::new(Fault::Failed(problems))
            }
            Ok(skipped) => Arc::new(skipped),
            Err(shared) => shared,
        }
    }

    fn step(&mut self, node: &Node) -> NodeProgress {
        match &node.action {
            Action::Constant(value) => NodeProgress::Done(Ok(value.clone())),
            // The surrounding loop sets the value of a parameter. In a damaged plan file, the parameter may be outside
            // of its loop.
            Action::Parameter => NodeProgress::Done(Err(Arc::new(Fault::Skipped))),
            Action::Strict(compute) => {
                let mut values = Vec::with_capacity(node.operands.len());
                let mut faults: Vec<&Arc<Fault>> = Vec::new();
                for operand in &node.operands {
                    match self.slot(*operand) {
                        None => return NodeProgress::NeedAll,
                        Some(Ok(value)) => values.push(value.clone()),
                        Some(Err(fault)) => faults.push(fault),
                    }
                }
                if !faults.is_empty() {
                    return NodeProgress::Done(Err(joined(&faults)));
                }
                let outcome = compute(self.results, &values).map_err(Arc::new);
                NodeProgress::Done(outcome.and_then(|value| bounded(node, value)))
            }
            Action::Logical(operator) => self.logical(*operator, node),
            Action::Conditional { ty } => self.conditional(ty, node),
            Action::Try => self.first_success(node),
            Action::Can => {
                let [operand] = node.all_operands();
                match self.slot(operand) {
                    None => NodeProgress::Need(operand),
                    Some(Ok(_)) => NodeProgress::Done(Ok(Value::bool(true))),
                    Some(Err(fault)) => match &**fault {
                        Fault::Failed(_) => NodeProgress::Done(Ok(Value::bool(false))),
                        Fault::Skipped => NodeProgress::Done(Err(fault.clone())),
                    },
                }
            }
            Action::For(action) => {
                self.with_collection(node, |run, collection| run.each_entry(action, node, collection))
            }
            Action::Splat(body) => {
                self.with_collection(node, |run, collection| run.each_element(body, node, collection))
            }
        }
    }

    fn logical(&self, operator: BinaryOperator, node: &Node) -> NodeProgress {
        let [left, right] = node.all_operands();
        let (Some(left), Some(right)) = (self.slot(left), self.slot(right)) else { return NodeProgress::NeedAll };
        let problem =
            |error: OperatorError| NodeProgress::Done(Err(fault_at(node, problems::operations::failed(&error))));
        match (left, right) {
            (Ok(left), Ok(right)) => match operators::binary(operator, left, right, node.range.as_ref()) {
                Ok(value) => NodeProgress::Done(Ok(value)),
                Err(error) => problem(error),
            },
            (Ok(sound), Err(fault)) | (Err(fault), Ok(sound)) => {
                let side = if left.is_ok() { Side::Left } else { Side::Right };
                match operators::convert_operand(operator, side, sound) {
                    Err(error) => problem(error),
                    Ok(sound) => match (&**fault, operators::decided_by(operator, &sound)) {
                        (Fault::Failed(_), Some(result)) => {
                            NodeProgress::Done(Ok(Value::bool(result).mark(sound.marks())))
                        }
                        _ => NodeProgress::Done(Err(fault.clone())),
                    },
                }
            }
            (Err(left), Err(right)) => NodeProgress::Done(Err(joined(&[left, right]))),
        }
    }

    /// The type of a node that was run. A failed tuple or object gets its type from the types of its parts, as in
    /// evaluation. Any other failed node has the type [`Type::Dynamic`]. Each node is visited once, and `known` stores
    /// the types.
    fn type_of(&self, id: NodeId, known: &mut FxHashMap<NodeId, Type>) -> Type {
        if let Some(ty) = known.get(&id) {
            return ty.clone();
        }
        let ty = stack::guarded(|| {
            if let Some(Ok(value)) = self.slot(id) {
                return value.ty();
            }
            let node = &self.program.nodes[id as usize];
            let Some(constructor) = &node.constructor else { return Type::Dynamic };
            let parts: Vec<Type> = node.operands.iter().map(|part| self.type_of(*part, known)).collect();
            match constructor {
                Constructor::Tuple => Type::tuple(parts),
                Constructor::Object(names) => Type::object(names.iter().cloned().zip(parts)),
            }
        });
        known.insert(id, ty.clone());
        ty
    }

    fn conditional(&self, ty: &Type, node: &Node) -> NodeProgress {
        let [condition_id, yes, no] = node.all_operands();
        let condition = match self.slot(condition_id) {
            None => return NodeProgress::Need(condition_id),
            Some(Err(fault)) => return NodeProgress::Done(Err(fault.clone())),
            Some(Ok(condition)) => condition,
        };
        let condition = match conditional::condition_value(condition) {
            Ok(condition) => condition,
            Err(problem) => return NodeProgress::Done(Err(fault_at(node, problem.diagnostic()))),
        };
        let Some(truth) = condition.as_bool() else {
            let open = Value::unknown(ty.clone()).mark(condition.marks());
            return NodeProgress::Done(Ok(open));
        };
        let (chosen, other, which) = if truth { (yes, no, "true") } else { (no, yes, "false") };
        let value = match self.slot(chosen) {
            None => return NodeProgress::Need(chosen),
            Some(Err(fault)) => return NodeProgress::Done(Err(fault.clone())),
            Some(Ok(value)) => value,
        };
        let shared = |other: &Value| {
            let found =
                if truth { conditional::result_type(value, other) } else { conditional::result_type(other, value) };
            let found = found.map_err(|problem| NodeProgress::Done(Err(fault_at(node, problem.diagnostic()))));
            found.map(|common| (common, other.ty()))
        };
        // The plan could not determine the type. It follows from the types of both results, as in evaluation.
        let found = match self.slot(other) {
            _ if !ty.has_dynamic() => Ok((ty.clone(), Type::Dynamic)),
            None => return NodeProgress::Need(other),
            Some(Ok(other)) => shared(other),
            Some(Err(_)) => shared(&Value::unknown(self.type_of(other, &mut FxHashMap::default()))),
        };
        let (ty, other) = match found {
            Ok(found) => found,
            Err(step) => return step,
        };
        match conditional::convert_result(value, &other, &ty, which) {
            Ok(value) => NodeProgress::Done(Ok(value.mark(condition.marks()))),
            Err(problem) => NodeProgress::Done(Err(fault_at(node, problem.diagnostic()))),
        }
    }

    fn first_success(&self, node: &Node) -> NodeProgress {
        let mut told: Vec<Diagnostic> = Vec::new();
        for operand in &node.operands {
            match self.slot(*operand) {
                None => return NodeProgress::Need(*operand),
                Some(Ok(value)) => return NodeProgress::Done(Ok(value.clone())),
                Some(Err(fault)) => match &**fault {
                    Fault::Failed(problems) => told.extend(problems.iter().cloned()),
                    Fault::Skipped => return NodeProgress::Done(Err(fault.clone())),
                },
            }
        }
        let error = problems::calls::no_success(&told);
        NodeProgress::Done(Err(fault_at(node, problems::calls::failed("try", None, &error))))
    }

    fn with_collection(&mut self, node: &Node, body: impl FnOnce(&mut Self, Value) -> NodeResult) -> NodeProgress {
        let collection = node.operand(0);
        match self.slot(collection) {
            None => NodeProgress::Need(collection),
            Some(Err(fault)) => NodeProgress::Done(Err(fault.clone())),
            Some(Ok(value)) => {
                let value = value.clone();
                NodeProgress::Done(stack::guarded(|| body(self, value)).and_then(|value| bounded(node, value)))
            }
        }
    }

    /// Counts one round of the loop `node`, or fails if the limit is exceeded.
    fn spend(&mut self, node: &Node) -> Result<(), Arc<Fault>> {
        self.steps = self.steps.saturating_add(limits::STEPS_A_ROUND);
        if self.steps > limits::MOST_STEPS {
            return Err(fault_at(node, problems::limits::too_many_steps(limits::MOST_STEPS).diagnostic()));
        }
        Ok(())
    }

    /// Clears the values of the previous round and sets the loop variables.
    fn begin_step(&mut self, body: &LoopBody, key: Option<Value>, value: Value) {
        for id in &body.per_step {
            if let Some(slot) = self.slots.get_mut(*id as usize) {
                *slot = None;
            }
        }
        if let (Some(id), Some(key)) = (body.key_parameter, key) {
            self.put(id, Ok(key));
        }
        if let Some(id) = body.value_parameter {
            self.put(id, Ok(value));
        }
    }

    fn each_entry(&mut self, action: &ForAction, node: &Node, collection: Value) -> NodeResult {
        let problem = |problem: Problem| fault_at(node, problem.diagnostic());
        iteration::check_collection(&collection).map_err(problem)?;
        let (bare, mut marks) = collection.unmark();
        let Some(entries) = iteration::entries(&bare) else {
            return Ok(Value::unknown(Type::Dynamic).mark(&marks));
        };
        if let (true, Some(condition)) = (action.try_condition, action.condition) {
            let open = Value::unknown(Type::Dynamic);
            self.begin_step(&action.body, Some(open.clone()), open);
            let condition = self.outcome(condition)?;
            iteration::possible(&condition).map_err(problem)?;
        }
        let mut tuple = Vec::new();
        let mut object = ObjectResults::new(action.grouping);
        let mut faults: Vec<Arc<Fault>> = Vec::new();
        let mut open = false;
        let mut extent = Extent::default();
        for (key, value) in entries {
            self.spend(node)?;
            // The result so far already exceeds a limit, so the remaining rounds are skipped.
            if extent.excess().is_some() {
                break;
            }
            self.begin_step(&action.body, Some(key), value);
            match self.one_entry(action, node, &mut marks) {
                Ok(RoundResult::Left) => {}
                Ok(RoundResult::Open) => open = true,
                Ok(RoundResult::Item(value)) => {
                    extent = extent.and(value.extent());
                    tuple.push(value);
                }
                Ok(RoundResult::Keyed(key, value)) => {
                    extent = extent.and(value.extent());
                    if let Err(duplicate) = object.add(key, value) {
                        faults.push(problem(duplicate));
                    }
                }
                Err(fault) => faults.push(fault),
            }
        }
        if !faults.is_empty() {
            return Err(joined(&faults.iter().collect::<Vec<_>>()));
        }
        let result = match action.key {
            _ if open => Value::unknown(Type::Dynamic),
            Some(_) => object.finish(),
            None => Value::tuple(tuple),
        };
        Ok(result.mark(&marks))
    }

    fn one_entry(&mut self, action: &ForAction, node: &Node, marks: &mut Marks) -> Result<RoundResult, Arc<Fault>> {
        let problem = |problem: Problem| fault_at(node, problem.diagnostic());
        if let Some(condition) = action.condition {
            let condition = self.outcome(condition)?;
            match iteration::included(&condition, marks).map_err(problem)? {
                Decided::Known(true) => {}
                Decided::Known(false) => return Ok(RoundResult::Left),
                Decided::Open => return Ok(RoundResult::Open),
            }
        }
        let Some(key) = action.key else { return Ok(RoundResult::Item(self.outcome(action.value)?)) };
        let key = self.outcome(key)?;
        match iteration::object_key(&key, marks).map_err(problem)? {
            Decided::Known(key) => Ok(RoundResult::Keyed(key, self.outcome(action.value)?)),
            Decided::Open => Ok(RoundResult::Open),
        }
    }

    fn each_element(&mut self, body: &LoopBody, node: &Node, collection: Value) -> NodeResult {
        let result_id = node.operand(1);
        let (bare, marks) = collection.unmark();
        let found = iteration::splat_source(&bare).map_err(|problem| fault_at(node, problem.diagnostic()))?;
        let (items, as_list) = match found {
            SplatSource::List(items) if items.is_empty() => {
                // The list has no elements. Its element type is the type of the result for an unknown element.
                let element = bare.ty().element().cloned().unwrap_or(Type::Dynamic);
                self.begin_step(body, None, Value::unknown(element));
                let ty = self.outcome(result_id).map_or(Type::Dynamic, |value| value.ty());
                return Ok(Value::list(ty, Vec::new()).mark(&marks));
            }
            SplatSource::List(items) => (items, true),
            SplatSource::Tuple(items) => (items, false),
            SplatSource::Perhaps(_)
            | SplatSource::UnknownList(_)
            | SplatSource::UnknownTuple(_)
            | SplatSource::Open => {
                return Ok(Value::refined(Type::Dynamic, Refinement::default()).mark(&marks));
            }
        };
        let mut values = Vec::with_capacity(items.len());
        let mut faults: Vec<Arc<Fault>> = Vec::new();
        for item in items {
            self.spend(node)?;
            self.begin_step(body, None, item);
            match self.outcome(result_id) {
                Ok(value) => values.push(value),
                Err(fault) => faults.push(fault),
            }
        }
        if !faults.is_empty() {
            return Err(joined(&faults.iter().collect::<Vec<_>>()));
        }
        let result = if as_list { iteration::splat_list(values, Type::Dynamic) } else { Value::tuple(values) };
        Ok(result.mark(&marks))
    }
}

/// The result of one round of a `for`.
enum RoundResult {
    Left,
    Open,
    Item(Value),
    Keyed(smol_str::SmolStr, Value),
}

/// The value, or an error if it exceeds the size limits.
fn bounded(node: &Node, value: Value) -> NodeResult {
    match value.excess() {
        None => Ok(value),
        Some(excess) => Err(fault_at(node, problems::limits::too_large(excess).diagnostic())),
    }
}

fn fault_at(node: &Node, problem: Diagnostic) -> Arc<Fault> {
    let problem = match &node.range {
        Some(range) => problem.at(range.clone()),
        None => problem,
    };
    Arc::new(Fault::Failed(vec![problem]))
}

/// Combines faults. A skipped input takes precedence over errors. A fault that occurs several times is reported once.
fn joined(faults: &[&Arc<Fault>]) -> Arc<Fault> {
    let mut distinct: Vec<&Arc<Fault>> = Vec::new();
    for fault in faults {
        if !distinct.iter().any(|known| Arc::ptr_eq(known, fault)) {
            distinct.push(fault);
        }
        /// The maximum number of combined faults. Errors of further operands add nothing useful.
        const MOST_FAULTS: usize = 32;
        if distinct.len() >= MOST_FAULTS {
            break;
        }
    }
    if let [only] = distinct.as_slice() {
        return Arc::clone(only);
    }
    let mut problems = Vec::new();
    for fault in distinct {
        match &**fault {
            Fault::Skipped => return Arc::clone(fault),
            Fault::Failed(found) => {
                for problem in found {
                    if !problems.contains(problem) {
                        problems.push(problem.clone());
                    }
                }
            }
        }
    }
    Arc::new(Fault::Failed(problems))
}
