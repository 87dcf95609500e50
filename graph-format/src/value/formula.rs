//! Formulas: how apply will compute a value, as shared plain data.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::Value;
use crate::address::FunctionProvider;
use crate::diagnostic::Diagnostic;
use crate::marks::Marks;
use crate::operation_id::OperationId;
use crate::path::Path;
use crate::source::SourceRange;
use crate::types::Type;

/// A symbolic parameter: a number that stands for the current key or value in the body of a `for` or splat.
///
/// Numbers are unique within one planning session, so that bodies may be nested and shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Parameter(pub u32);

/// Identifies one occurrence of an impure call, so that two calls of `uuid()` are never merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Occurrence(pub u32);

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum UnaryOperator {
    /// `!a`
    Not,
    /// `-a`
    Negate,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum BinaryOperator {
    /// `a || b`
    Or,
    /// `a && b`
    And,
    /// `a == b`
    Equal,
    /// `a != b`
    NotEqual,
    /// `a < b`
    Less,
    /// `a <= b`
    LessOrEqual,
    /// `a > b`
    Greater,
    /// `a >= b`
    GreaterOrEqual,
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a * b`
    Multiply,
    /// `a / b`
    Divide,
    /// `a % b`
    Modulo,
}

impl UnaryOperator {
    /// The operator in source text.
    pub const fn symbol(self) -> &'static str {
        match self {
            UnaryOperator::Not => "!",
            UnaryOperator::Negate => "-",
        }
    }
}

impl BinaryOperator {
    /// The operator in source text.
    pub const fn symbol(self) -> &'static str {
        match self {
            BinaryOperator::Or => "||",
            BinaryOperator::And => "&&",
            BinaryOperator::Equal => "==",
            BinaryOperator::NotEqual => "!=",
            BinaryOperator::Less => "<",
            BinaryOperator::LessOrEqual => "<=",
            BinaryOperator::Greater => ">",
            BinaryOperator::GreaterOrEqual => ">=",
            BinaryOperator::Add => "+",
            BinaryOperator::Subtract => "-",
            BinaryOperator::Multiply => "*",
            BinaryOperator::Divide => "/",
            BinaryOperator::Modulo => "%",
        }
    }
}

/// The computation of a node from its operands.
///
/// `F` is a reference to an operand: a shared [`Formula`] in memory, or the index of a row in the table of a plan file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FormulaOp<F = Formula> {
    /// Always this value. It is wholly known and not ephemeral.
    Constant(Value),
    /// The part of an operation's result at this path.
    Result(OperationId, Path),
    /// A root variable that must be supplied again at apply.
    Input(SmolStr),
    /// The key or value in the current iteration of the surrounding body.
    Parameter(Parameter),
    /// An operator with one operand.
    Unary(UnaryOperator, F),
    /// An operator with two operands. `&&` and `||` skip the second operand as evaluation does.
    Binary(BinaryOperator, F, F),
    /// `condition ? yes : no`. Only the chosen branch is computed.
    Conditional {
        /// The condition.
        condition: F,
        /// The result if the condition is true.
        yes: F,
        /// The result if the condition is false.
        no: F,
    },
    /// `object.name`
    Attribute(F, SmolStr),
    /// `collection[key]`
    Index(F, F),
    /// A string template: parts converted to string and joined.
    Template(Vec<F>),
    /// A built-in function.
    Call {
        /// The name of the function, without `core::`.
        function: SmolStr,
        /// The arguments.
        arguments: Vec<F>,
        /// Whether the last argument is a sequence of arguments.
        expand_final: bool,
        /// Set for impure functions only.
        occurrence: Option<Occurrence>,
    },
    /// A function of a provider.
    ProviderCall {
        /// The provider of the function, which determines where the function runs.
        provider: FunctionProvider,
        /// The function's name.
        function: SmolStr,
        /// The arguments.
        arguments: Vec<F>,
        /// Whether the last argument is a sequence of arguments.
        expand_final: bool,
    },
    /// `[a, b]`
    Tuple(Vec<F>),
    /// A list with this element type.
    List(Type, Vec<F>),
    /// A set with this element type.
    Set(Type, Vec<F>),
    /// A map with this element type and known keys.
    Map(Type, Vec<(SmolStr, F)>),
    /// An object whose attribute names are known.
    Object(Vec<(SmolStr, F)>),
    /// An object whose keys are computed, in the order written.
    ObjectOf(Vec<(F, F)>),
    /// `[for k, v in collection : value if condition]` and `{for k, v in collection : key => value...}`.
    For {
        /// The collection.
        collection: F,
        /// The parameter that stands for the key in the body.
        key_parameter: Parameter,
        /// The parameter that stands for the value in the body.
        value_parameter: Parameter,
        /// The key of each result; `None` for the tuple form.
        key: Option<F>,
        /// The value of each result.
        value: F,
        /// The condition that selects elements.
        condition: Option<F>,
        /// `...`: whether values of equal keys are collected in tuples.
        grouping: bool,
    },
    /// `collection[*].body`
    Splat {
        /// The collection. A single value counts as a collection with one element. Null counts as an empty collection.
        collection: F,
        /// The parameter that stands for the element in the body.
        parameter: Parameter,
        /// The result for each element.
        body: F,
    },
    /// Conversion to a type constraint. Missing optional attributes are filled in.
    Convert(F, Type),
    /// Adds marks to the outermost value.
    Mark(F, Marks),
    /// Removes the sensitive mark from the outermost value.
    Nonsensitive(F),
    /// The first operand without an error.
    Try(Vec<F>),
    /// Whether the operand has no error.
    Can(F),
    /// The configuration, with the parts at these paths replaced by those of the prior value (`ignore_changes`).
    Ignore {
        /// The configuration.
        config: F,
        /// The prior value.
        prior: F,
        /// The ignored paths; `None` to ignore all.
        paths: Option<Vec<Path>>,
    },
    /// The value with the defaults of `optional()` attributes filled in, before conversion.
    Defaults(F, Arc<TypeDefaults>),
    /// An error that evaluation found in this part of an expression. The error is reported only if apply computes the
    /// part.
    Failure(Box<Diagnostic>),
}

/// Defaults of `optional(type, default)` attributes, in the shape of a type constraint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TypeDefaults {
    /// The default of each attribute of an object type, by name.
    pub values: std::collections::BTreeMap<SmolStr, Value>,
    /// Defaults inside attributes (by name), inside the elements of a collection (under the empty name), or inside
    /// tuple elements (under their decimal index).
    pub children: std::collections::BTreeMap<SmolStr, TypeDefaults>,
}

impl TypeDefaults {
    /// Whether there are no defaults.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.children.is_empty()
    }

    /// Whether any default at any level passes the test.
    pub fn any_value(&self, test: &mut impl FnMut(&Value) -> bool) -> bool {
        let mut pending = vec![self];
        while let Some(here) = pending.pop() {
            if here.values.values().any(&mut *test) {
                return true;
            }
            pending.extend(here.children.values());
        }
        false
    }
}

/// A node of the shared formula graph.
pub struct FormulaNode {
    op: FormulaOp,
    ty: Type,
    range: Option<SourceRange>,
    can_fail: bool,
}

/// A shared, immutable formula.
#[derive(Clone)]
pub struct Formula(Arc<FormulaNode>);

impl Formula {
    /// Creates a formula with the type of its result and its source range, as far as they are known.
    pub fn new(op: FormulaOp, ty: Type, range: Option<SourceRange>) -> Formula {
        let can_fail = may_fail(&op);
        Formula(Arc::new(FormulaNode { op, ty, range, can_fail }))
    }

    /// The formula that always yields `value`.
    pub fn constant(value: Value) -> Formula {
        let ty = value.ty();
        Formula::new(FormulaOp::Constant(value), ty, None)
    }

    /// The part of an operation's result at `path`.
    pub fn result(operation: OperationId, path: Path, ty: Type) -> Formula {
        Formula::new(FormulaOp::Result(operation, path), ty, None)
    }

    /// The same formula, which gets this source range if it has none.
    pub fn placed(self, range: Option<SourceRange>) -> Formula {
        match (self.range(), range) {
            (None, Some(range)) => Formula::new(self.op().clone(), self.ty().clone(), Some(range)),
            _ => self,
        }
    }

    /// Adds marks to the result of the formula.
    pub fn marked(self, marks: &Marks) -> Formula {
        if marks.is_empty() || matches!(self.op(), FormulaOp::Mark(_, found) if found.union(marks) == *found) {
            return self;
        }
        let (ty, range) = (self.ty().clone(), self.range().cloned());
        Formula::new(FormulaOp::Mark(self, marks.clone()), ty, range)
    }

    /// The computation of the outermost node.
    pub fn op(&self) -> &FormulaOp {
        &self.0.op
    }

    /// The type of the result; [`Type::Dynamic`] if only apply can tell.
    pub fn ty(&self) -> &Type {
        &self.0.ty
    }

    /// The source range of the expression.
    pub fn range(&self) -> Option<&SourceRange> {
        self.0.range.as_ref()
    }

    /// Whether the computation itself can fail. `true` if in doubt.
    pub fn can_fail(&self) -> bool {
        self.0.can_fail
    }

    /// Whether both formulas are the same node in memory.
    pub fn same(&self, other: &Formula) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The identity of the node, which is unique while the node exists.
    pub fn identity(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Calls `visit` for each operand, in order.
    pub fn operands(&self, mut visit: impl FnMut(&Formula)) {
        operands(self.op(), &mut visit);
    }
}

impl fmt::Debug for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "formula of {}", self.ty())
    }
}

impl<F> FormulaOp<F> {
    /// Calls `visit` for each operand, in order.
    pub fn operands(&self, visit: &mut impl FnMut(&F)) {
        operands(self, visit);
    }

    /// The same computation with other operands. `rename` is called in the order of [`FormulaOp::operands`].
    pub fn map<G>(&self, rename: &mut impl FnMut(&F) -> G) -> FormulaOp<G> {
        map(self, rename)
    }
}

fn map<F, G>(op: &FormulaOp<F>, to: &mut impl FnMut(&F) -> G) -> FormulaOp<G> {
    match op {
        FormulaOp::Constant(v) => FormulaOp::Constant(v.clone()),
        FormulaOp::Result(o, p) => FormulaOp::Result(*o, p.clone()),
        FormulaOp::Input(n) => FormulaOp::Input(n.clone()),
        FormulaOp::Parameter(p) => FormulaOp::Parameter(*p),
        FormulaOp::Failure(d) => FormulaOp::Failure(d.clone()),
        FormulaOp::Unary(o, a) => FormulaOp::Unary(*o, to(a)),
        FormulaOp::Binary(o, a, b) => FormulaOp::Binary(*o, to(a), to(b)),
        FormulaOp::Conditional { condition, yes, no } => {
            FormulaOp::Conditional { condition: to(condition), yes: to(yes), no: to(no) }
        }
        FormulaOp::Attribute(a, n) => FormulaOp::Attribute(to(a), n.clone()),
        FormulaOp::Index(a, b) => FormulaOp::Index(to(a), to(b)),
        FormulaOp::Template(parts) => FormulaOp::Template(parts.iter().map(to).collect()),
        FormulaOp::Call { function, arguments, expand_final, occurrence } => FormulaOp::Call {
            function: function.clone(),
            arguments: arguments.iter().map(to).collect(),
            expand_final: *expand_final,
            occurrence: *occurrence,
        },
        FormulaOp::ProviderCall { provider, function, arguments, expand_final } => FormulaOp::ProviderCall {
            provider: provider.clone(),
            function: function.clone(),
            arguments: arguments.iter().map(to).collect(),
            expand_final: *expand_final,
        },
        FormulaOp::Tuple(parts) => FormulaOp::Tuple(parts.iter().map(to).collect()),
        FormulaOp::List(t, parts) => FormulaOp::List(t.clone(), parts.iter().map(to).collect()),
        FormulaOp::Set(t, parts) => FormulaOp::Set(t.clone(), parts.iter().map(to).collect()),
        FormulaOp::Map(t, entries) => {
            FormulaOp::Map(t.clone(), entries.iter().map(|(k, v)| (k.clone(), to(v))).collect())
        }
        FormulaOp::Object(entries) => FormulaOp::Object(entries.iter().map(|(k, v)| (k.clone(), to(v))).collect()),
        FormulaOp::ObjectOf(entries) => FormulaOp::ObjectOf(entries.iter().map(|(k, v)| (to(k), to(v))).collect()),
        FormulaOp::For { collection, key_parameter, value_parameter, key, value, condition, grouping } => {
            FormulaOp::For {
                collection: to(collection),
                key_parameter: *key_parameter,
                value_parameter: *value_parameter,
                key: key.as_ref().map(&mut *to),
                value: to(value),
                condition: condition.as_ref().map(&mut *to),
                grouping: *grouping,
            }
        }
        FormulaOp::Splat { collection, parameter, body } => {
            FormulaOp::Splat { collection: to(collection), parameter: *parameter, body: to(body) }
        }
        FormulaOp::Convert(a, t) => FormulaOp::Convert(to(a), t.clone()),
        FormulaOp::Mark(a, m) => FormulaOp::Mark(to(a), m.clone()),
        FormulaOp::Nonsensitive(a) => FormulaOp::Nonsensitive(to(a)),
        FormulaOp::Try(parts) => FormulaOp::Try(parts.iter().map(to).collect()),
        FormulaOp::Can(a) => FormulaOp::Can(to(a)),
        FormulaOp::Ignore { config, prior, paths } => {
            FormulaOp::Ignore { config: to(config), prior: to(prior), paths: paths.clone() }
        }
        FormulaOp::Defaults(a, d) => FormulaOp::Defaults(to(a), d.clone()),
    }
}

fn operands<F>(op: &FormulaOp<F>, visit: &mut impl FnMut(&F)) {
    match op {
        FormulaOp::Constant(_)
        | FormulaOp::Result(..)
        | FormulaOp::Input(_)
        | FormulaOp::Parameter(_)
        | FormulaOp::Failure(_) => {}
        FormulaOp::Unary(_, a)
        | FormulaOp::Attribute(a, _)
        | FormulaOp::Convert(a, _)
        | FormulaOp::Defaults(a, _)
        | FormulaOp::Mark(a, _)
        | FormulaOp::Nonsensitive(a)
        | FormulaOp::Can(a) => visit(a),
        FormulaOp::Binary(_, a, b) | FormulaOp::Index(a, b) => {
            visit(a);
            visit(b);
        }
        FormulaOp::Conditional { condition, yes, no } => {
            visit(condition);
            visit(yes);
            visit(no);
        }
        FormulaOp::Template(parts)
        | FormulaOp::Tuple(parts)
        | FormulaOp::List(_, parts)
        | FormulaOp::Set(_, parts)
        | FormulaOp::Try(parts) => parts.iter().for_each(visit),
        FormulaOp::Call { arguments, .. } | FormulaOp::ProviderCall { arguments, .. } => {
            arguments.iter().for_each(visit);
        }
        FormulaOp::Map(_, entries) => entries.iter().for_each(|(_, v)| visit(v)),
        FormulaOp::Object(entries) => entries.iter().for_each(|(_, v)| visit(v)),
        FormulaOp::ObjectOf(entries) => entries.iter().for_each(|(k, v)| {
            visit(k);
            visit(v);
        }),
        FormulaOp::For { collection, key, value, condition, .. } => {
            visit(collection);
            key.iter().for_each(&mut *visit);
            visit(value);
            condition.iter().for_each(&mut *visit);
        }
        FormulaOp::Splat { collection, body, .. } => {
            visit(collection);
            visit(body);
        }
        FormulaOp::Ignore { config, prior, .. } => {
            visit(config);
            visit(prior);
        }
    }
}

/// Constants and results cannot fail. Nor can constructors whose operands cannot fail. Everything else may fail.
fn may_fail(op: &FormulaOp) -> bool {
    match op {
        FormulaOp::Constant(_) | FormulaOp::Result(..) | FormulaOp::Input(_) | FormulaOp::Parameter(_) => false,
        FormulaOp::Can(_) => false,
        FormulaOp::Mark(a, _) => a.can_fail(),
        FormulaOp::Tuple(parts) | FormulaOp::List(_, parts) | FormulaOp::Set(_, parts) => {
            parts.iter().any(Formula::can_fail)
        }
        FormulaOp::Map(_, entries) => entries.iter().any(|(_, v)| v.can_fail()),
        FormulaOp::Object(entries) => entries.iter().any(|(_, v)| v.can_fail()),
        FormulaOp::Attribute(a, name) => {
            let declared = matches!(a.ty(), Type::Object(o) if o.attributes.contains_key(name));
            a.can_fail() || !declared || !matches!(a.op(), FormulaOp::Object(_))
        }
        _ => true,
    }
}

/// Long chains of formulas are dropped in a loop, so that dropping a chain cannot overflow the stack.
impl Drop for FormulaNode {
    fn drop(&mut self) {
        let mut pending: Vec<Formula> = Vec::new();
        operands(&self.op, &mut |f| pending.push(f.clone()));
        if pending.is_empty() {
            return;
        }
        // Each clone keeps its node alive until the node above has been dropped. Then the loop drops the last handle.
        self.op = FormulaOp::Parameter(Parameter(0));
        while let Some(Formula(node)) = pending.pop() {
            if let Some(mut node) = Arc::into_inner(node) {
                operands(&node.op, &mut |f| pending.push(f.clone()));
                node.op = FormulaOp::Parameter(Parameter(0));
            }
        }
    }
}
