//! Formulas to something that runs.
//!
//! [`Program::compile`] turns a shared graph of formulas into a table of nodes, with operands before their users. Most
//! nodes are closures over the values of their operands. The loop in `run.rs` runs nodes that choose what to compute
//! (conditionals, loops, `try`). Values are computed when they are needed, at most once in a run, and without recursion
//! on the depth of the graph. All of this uses the same code as the evaluation of known values.

mod named;
mod run;
mod strict;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use thiserror::Error;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, FormulaOp, Occurrence, Parameter};
use weft_graph_format::graph::OperationId;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use crate::evaluate::ProviderFunction;
use crate::functions::{CallContext, FunctionError};

/// Why a formula gave no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// It has errors.
    #[error("{}", .0.first().map_or("failed", |d| d.summary.as_str()))]
    Failed(Vec<Diagnostic>),
    /// Something that it needs has failed or was skipped, and was already reported. Nothing catches this.
    #[error("an input is missing")]
    Skipped,
}

/// The source of the values that formulas refer to.
pub trait Results {
    /// The value that an operation gave.
    fn result(&self, operation: OperationId) -> Result<Value, Fault>;

    /// The name of an operation's result for messages, such as the address of a resource instance; `None` if it is
    /// unknown here.
    fn name(&self, operation: OperationId) -> Option<String>;

    /// A variable that is supplied again.
    fn input(&self, name: &str) -> Result<Value, Fault>;

    /// The earlier result of an impure call; `None` to run it now.
    fn impure(&self, occurrence: Occurrence) -> Option<Value>;

    /// What calls may use.
    fn context(&self) -> CallContext<'_>;

    /// A function of a provider, named as in the formula.
    fn provider_function(&self, provider: &str, function: &str) -> Result<ProviderFunction, Diagnostic>;

    /// Calls a function of a provider.
    fn call_provider_function(&self, function: &ProviderFunction, arguments: &[Value]) -> Result<Value, FunctionError>;
}

/// Number of a node in its program.
type NodeId = u32;

/// Computes a node from the values of all of its operands.
type Compute = Box<dyn Fn(&dyn Results, &[Value]) -> Result<Value, Fault> + Send + Sync>;

/// The computation of a node.
enum Action {
    /// Always this.
    Constant(Value),
    /// All operands are needed, and this makes a value of theirs.
    Strict(Compute),
    /// Operands: condition, yes, no. The chosen one is converted to the type; where that is open, the other one is run
    /// too, for its type.
    Conditional {
        /// The type of the result, as far as the plan knows it.
        ty: Type,
    },
    /// The first operand without an error.
    Try,
    /// Whether the operand has no error.
    Can,
    /// `&&` or `||`: the second operand's errors are forgiven when the first suffices.
    Logical(weft_graph_format::formula::BinaryOperator),
    /// Given by the loop around it.
    Parameter,
    /// Operands: the collection, then key, value and condition where they exist.
    For(ForAction),
    /// Operands: collection, body.
    Splat(LoopBody),
}

/// The nodes that each step of a loop computes again.
struct LoopBody {
    key_parameter: Option<NodeId>,
    value_parameter: Option<NodeId>,
    /// The nodes whose values belong to one step only.
    per_step: Box<[NodeId]>,
}

struct ForAction {
    body: LoopBody,
    key: Option<NodeId>,
    value: NodeId,
    condition: Option<NodeId>,
    /// The condition is evaluated once before all steps, as in evaluation, unless that would call something impure.
    try_condition: bool,
    grouping: bool,
}

/// A node that puts its operands together, which has a type even if one of them fails.
enum Constructor {
    Tuple,
    /// The names of the attributes, in the order of the operands.
    Object(Box<[SmolStr]>),
}

impl Constructor {
    fn of(formula: &Formula) -> Option<Constructor> {
        match formula.op() {
            FormulaOp::Tuple(_) => Some(Constructor::Tuple),
            FormulaOp::Object(parts) => Some(Constructor::Object(parts.iter().map(|(name, _)| name.clone()).collect())),
            _ => None,
        }
    }
}

struct Node {
    action: Action,
    operands: Box<[NodeId]>,
    range: Option<SourceRange>,
    constructor: Option<Constructor>,
    source: Option<named::Source>,
}

/// Compiled formulas. Can be run any number of times, also at once.
pub struct Program {
    nodes: Vec<Node>,
    roots: Vec<NodeId>,
}

impl Program {
    /// Compiles formulas with all that they share. Time and memory are linear in their nodes, and in the nodes of
    /// loop bodies once more for each loop around them.
    pub fn compile(formulas: &[Formula]) -> Program {
        let mut compiler = Compiler::default();
        let roots = formulas.iter().map(|formula| compiler.add(formula)).collect();
        Program { nodes: compiler.nodes, roots }
    }

    /// Runs all formulas over the same results. Shared parts are computed once.
    pub fn run(&self, results: &dyn Results) -> Vec<Result<Value, Fault>> {
        let mut run = run::Run::new(self, results);
        self.roots.iter().map(|root| run.force(*root)).collect()
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

/// Compiles and runs one formula.
pub fn run(formula: &Formula, results: &dyn Results) -> Result<Value, Fault> {
    let program = Program::compile(std::slice::from_ref(formula));
    program.run(results).pop().unwrap_or(Err(Fault::Skipped))
}

/// Facts about a node during compilation.
#[derive(Clone, Default)]
struct Facts {
    /// Parameters of loops around it that it uses, in order.
    parameters: std::sync::Arc<[Parameter]>,
    /// An impure call is in it.
    impure: bool,
}

#[derive(Default)]
struct Compiler {
    nodes: Vec<Node>,
    facts: Vec<Facts>,
    numbers: FxHashMap<usize, NodeId>,
    parameters: FxHashMap<Parameter, NodeId>,
}

impl Compiler {
    fn add(&mut self, root: &Formula) -> NodeId {
        let mut pending: Vec<(Formula, bool)> = vec![(root.clone(), false)];
        while let Some((formula, ready)) = pending.pop() {
            if self.numbers.contains_key(&formula.identity()) {
                continue;
            }
            if ready {
                let id = self.node(&formula);
                self.numbers.insert(formula.identity(), id);
                continue;
            }
            pending.push((formula.clone(), true));
            formula.operands(|operand| {
                if !self.numbers.contains_key(&operand.identity()) {
                    pending.push((operand.clone(), false));
                }
            });
        }
        self.number(root)
    }

    /// The node of a formula that has one: operands come before what uses them.
    fn number(&self, formula: &Formula) -> NodeId {
        *self.numbers.get(&formula.identity()).expect("a formula is compiled after its operands")
    }

    fn push(&mut self, node: Node, facts: Facts) -> NodeId {
        let id = NodeId::try_from(self.nodes.len()).expect("nodes are fewer than the bytes of memory that they take");
        self.nodes.push(node);
        self.facts.push(facts);
        id
    }

    /// The node of a formula whose operands have theirs.
    fn node(&mut self, formula: &Formula) -> NodeId {
        let mut operands = Vec::new();
        formula.operands(|operand| operands.push(self.number(operand)));
        let mut bound: Vec<Parameter> = Vec::new();
        let action = match formula.op() {
            FormulaOp::Constant(value) => Action::Constant(value.clone()),
            FormulaOp::Parameter(parameter) => {
                // Formulas of one parameter are one node, whatever type each has for it.
                if let Some(known) = self.parameters.get(parameter) {
                    return *known;
                }
                let facts = Facts { parameters: [*parameter].into(), impure: false };
                let node = Node {
                    action: Action::Parameter,
                    operands: Box::default(),
                    range: None,
                    constructor: None,
                    source: None,
                };
                let id = self.push(node, facts);
                self.parameters.insert(*parameter, id);
                return id;
            }
            FormulaOp::Conditional { .. } => Action::Conditional { ty: formula.ty().clone() },
            FormulaOp::Try(_) => Action::Try,
            FormulaOp::Can(_) => Action::Can,
            FormulaOp::Binary(operator, _, _)
                if matches!(
                    operator,
                    weft_graph_format::formula::BinaryOperator::And | weft_graph_format::formula::BinaryOperator::Or
                ) =>
            {
                Action::Logical(*operator)
            }
            FormulaOp::For { key_parameter, value_parameter, key, value, condition, grouping, .. } => {
                bound = vec![*key_parameter, *value_parameter];
                let roots: Vec<NodeId> = operands.iter().skip(1).copied().collect();
                let body = LoopBody {
                    key_parameter: self.parameters.get(key_parameter).copied(),
                    value_parameter: self.parameters.get(value_parameter).copied(),
                    per_step: self.per_step(&roots, &bound),
                };
                let condition_id = condition.as_ref().map(|c| self.number(c));
                Action::For(ForAction {
                    body,
                    key: key.as_ref().map(|k| self.number(k)),
                    value: self.number(value),
                    condition: condition_id,
                    try_condition: condition_id
                        .is_some_and(|id| self.facts.get(id as usize).is_some_and(|f| !f.impure)),
                    grouping: *grouping,
                })
            }
            FormulaOp::Splat { parameter, .. } => {
                bound = vec![*parameter];
                let roots: Vec<NodeId> = operands.iter().skip(1).copied().collect();
                Action::Splat(LoopBody {
                    key_parameter: None,
                    value_parameter: self.parameters.get(parameter).copied(),
                    per_step: self.per_step(&roots, &bound),
                })
            }
            _ => Action::Strict(strict::compute(formula)),
        };
        let facts = self.facts_of(formula, &operands, &bound);
        let (range, constructor) = (formula.range().cloned(), Constructor::of(formula));
        let first = operands.first().and_then(|id| self.nodes.get(*id as usize)?.source.as_ref());
        let source = named::Source::of(formula, first);
        self.push(Node { action, operands: operands.into(), range, constructor, source }, facts)
    }

    fn facts_of(&self, formula: &Formula, operands: &[NodeId], bound: &[Parameter]) -> Facts {
        let own_impure = matches!(formula.op(), FormulaOp::Call { occurrence: Some(_), .. });
        let of = |id: &NodeId| self.facts.get(*id as usize);
        let impure = own_impure || operands.iter().filter_map(of).any(|f| f.impure);
        let mut with: Vec<&Facts> = operands.iter().filter_map(of).filter(|f| !f.parameters.is_empty()).collect();
        with.dedup_by(|a, b| std::sync::Arc::ptr_eq(&a.parameters, &b.parameters));
        if let ([only], []) = (with.as_slice(), bound) {
            return Facts { parameters: only.parameters.clone(), impure };
        }
        let mut all: Vec<Parameter> = with.iter().flat_map(|f| f.parameters.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all.retain(|parameter| !bound.contains(parameter));
        Facts { parameters: all.into(), impure }
    }

    fn depends(&self, id: NodeId, parameters: &[Parameter]) -> bool {
        self.facts
            .get(id as usize)
            .is_some_and(|f| f.impure || parameters.iter().any(|p| f.parameters.binary_search(p).is_ok()))
    }

    /// The nodes below `roots` whose value is another one in each step.
    fn per_step(&self, roots: &[NodeId], parameters: &[Parameter]) -> Box<[NodeId]> {
        let mut found = Vec::new();
        let mut seen = FxHashSet::default();
        let mut pending: Vec<NodeId> = roots.to_vec();
        while let Some(id) = pending.pop() {
            if !self.depends(id, parameters) || !seen.insert(id) {
                continue;
            }
            found.push(id);
            if let Some(node) = self.nodes.get(id as usize) {
                pending.extend(node.operands.iter().copied());
            }
        }
        found.into()
    }
}
