//! Compiles formulas to programs.
//!
//! [`Program::compile`] turns a shared graph of formulas into a table of nodes, in which operands precede their users.
//! Most nodes are closures over the values of their operands. The nodes that choose what to compute, such as
//! conditionals, loops and `try`, are run by the loop in `run.rs`. Values are computed lazily, at most once per run,
//! and the depth of the graph does not cause recursion. For known values, nodes call the same code as evaluation.

mod named;
mod run;
mod strict;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use thiserror::Error;
use weft_graph_format::address::FunctionProvider;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, FormulaOp, Occurrence, Parameter};
use weft_graph_format::graph::OperationId;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use crate::call_context::CallContext;
use crate::call_error::FunctionError;
use crate::scope::ProviderFunction;

/// Why a formula has no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// The formula has errors.
    #[error("{}", .0.first().map_or("failed", |d| d.summary.as_str()))]
    Failed(Vec<Diagnostic>),
    /// An input has failed or was skipped. Such a fault is reported elsewhere, and `try` and `can` do not catch it.
    #[error("an input is missing")]
    Skipped,
}

/// The source of results, variables and functions for formulas.
pub trait ResultSource {
    /// The result of an operation.
    fn result(&self, operation: OperationId) -> Result<Value, Fault>;

    /// The name of the result for users, such as the address of a resource instance. `None` if no name is available.
    fn name(&self, operation: OperationId) -> Option<String>;

    /// The value of a variable that the user supplies again at apply.
    fn input(&self, name: &str) -> Result<Value, Fault>;

    /// The recorded result of an impure call, or `None` to run the call now.
    fn impure(&self, occurrence: Occurrence) -> Option<Value>;

    /// The environment of function calls.
    fn context(&self) -> CallContext<'_>;

    /// Looks up a provider function by the names in the formula.
    fn provider_function(&self, provider: &FunctionProvider, function: &str) -> Result<ProviderFunction, Diagnostic>;

    /// Calls a provider function.
    fn call_provider_function(&self, function: &ProviderFunction, arguments: &[Value]) -> Result<Value, FunctionError>;
}

/// The number of a node in its program.
type NodeId = u32;

/// Computes a node from the values of all of its operands.
type Compute = Box<dyn Fn(&dyn ResultSource, &[Value]) -> Result<Value, Fault> + Send + Sync>;

/// How a node is computed.
enum Action {
    /// Always this value.
    Constant(Value),
    /// Computed from the values of all operands.
    Strict(Compute),
    /// The operands are the condition and the two results. The chosen result is converted to the type. If a part of the
    /// type is not determined, the other result is computed too, because both results determine the type.
    Conditional {
        /// The type of the result, as far as it was determined during planning.
        ty: Type,
    },
    /// The first operand without an error.
    Try,
    /// Whether the operand has no error.
    Can,
    /// `&&` or `||`. Errors of the second operand are ignored if the first decides the result.
    Logical(weft_graph_format::formula::BinaryOperator),
    /// A parameter. The surrounding loop sets its value.
    Parameter,
    /// The operands are the collection, followed by the key, value and condition, as far as they exist.
    For(ForAction),
    /// The operands are the collection and the body.
    Splat(LoopBody),
}

/// The part of a loop that is computed again in each round.
struct LoopBody {
    key_parameter: Option<NodeId>,
    value_parameter: Option<NodeId>,
    /// The nodes whose values differ between rounds.
    per_step: Box<[NodeId]>,
}

struct ForAction {
    body: LoopBody,
    key: Option<NodeId>,
    value: NodeId,
    condition: Option<NodeId>,
    /// Whether the condition is checked once before the first round, as in evaluation. `false` if this check would run
    /// an impure call.
    try_condition: bool,
    grouping: bool,
}

/// A node that combines its operands, and has a type even if one of them fails.
enum Constructor {
    Tuple,
    /// The attribute names, in the order of the operands.
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

/// Compiled formulas. A program can run any number of times, also concurrently.
pub struct Program {
    nodes: Vec<Node>,
    roots: Vec<NodeId>,
}

impl Program {
    /// Compiles formulas and everything that they refer to. A part that several formulas share is compiled once. Time
    /// and memory are linear in the number of nodes. The nodes of a loop body count once more for each surrounding
    /// loop.
    pub fn compile(formulas: &[Formula]) -> Program {
        let mut compiler = Compiler::default();
        let roots = formulas.iter().map(|formula| compiler.add(formula)).collect();
        Program { nodes: compiler.nodes, roots }
    }

    /// Runs all formulas over the same results. Shared nodes are computed once.
    pub fn run(&self, results: &dyn ResultSource) -> Vec<Result<Value, Fault>> {
        let mut run = run::Run::new(self, results);
        self.roots.iter().map(|root| run.force(*root)).collect()
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the program has no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

/// Compiles and runs one formula.
pub fn run(formula: &Formula, results: &dyn ResultSource) -> Result<Value, Fault> {
    let program = Program::compile(std::slice::from_ref(formula));
    program.run(results).pop().expect("a program has one result for each formula")
}

/// Properties of a node that the compiler needs.
#[derive(Clone, Default)]
struct Facts {
    /// The parameters of surrounding loops that the node uses, in order.
    parameters: std::sync::Arc<[Parameter]>,
    /// Whether the node contains an impure call.
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

    /// The node of a formula that was compiled before. Operands come before their users.
    fn number(&self, formula: &Formula) -> NodeId {
        *self.numbers.get(&formula.identity()).expect("a formula is compiled after its operands")
    }

    fn push(&mut self, node: Node, facts: Facts) -> NodeId {
        let id = NodeId::try_from(self.nodes.len()).expect("nodes are fewer than the bytes of memory that they take");
        self.nodes.push(node);
        self.facts.push(facts);
        id
    }

    /// Creates the node of a formula whose operands have nodes.
    fn node(&mut self, formula: &Formula) -> NodeId {
        let mut operands = Vec::new();
        formula.operands(|operand| operands.push(self.number(operand)));
        let mut bound: Vec<Parameter> = Vec::new();
        let action = match formula.op() {
            FormulaOp::Constant(value) => Action::Constant(value.clone()),
            FormulaOp::Parameter(parameter) => {
                // Formulas that refer to the same parameter share a node, even if they give the parameter different
                // types.
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
                    try_condition: condition_id.is_some_and(|id| !self.facts(id).impure),
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
        let first = operands.first().and_then(|id| self.nodes[*id as usize].source.as_ref());
        let source = named::Source::of(formula, first);
        self.push(Node { action, operands: operands.into(), range, constructor, source }, facts)
    }

    fn facts(&self, id: NodeId) -> &Facts {
        self.facts.get(id as usize).expect("each node is pushed together with its facts")
    }

    fn facts_of(&self, formula: &Formula, operands: &[NodeId], bound: &[Parameter]) -> Facts {
        let own_impure = matches!(formula.op(), FormulaOp::Call { occurrence: Some(_), .. });
        let of = |id: &NodeId| self.facts(*id);
        let impure = own_impure || operands.iter().map(of).any(|f| f.impure);
        let mut with: Vec<&Facts> = operands.iter().map(of).filter(|f| !f.parameters.is_empty()).collect();
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
        let facts = self.facts(id);
        facts.impure || parameters.iter().any(|p| facts.parameters.binary_search(p).is_ok())
    }

    /// The nodes below `roots` whose values differ between rounds.
    fn per_step(&self, roots: &[NodeId], parameters: &[Parameter]) -> Box<[NodeId]> {
        let mut found = Vec::new();
        let mut seen = FxHashSet::default();
        let mut pending: Vec<NodeId> = roots.to_vec();
        while let Some(id) = pending.pop() {
            if !self.depends(id, parameters) || !seen.insert(id) {
                continue;
            }
            found.push(id);
            pending.extend(self.nodes[id as usize].operands.iter().copied());
        }
        found.into()
    }
}
