//! The nodes of expressions.
//!
//! A node refers to its children by number, and children come before their parents in the table. So dropping a tree
//! does not recurse, and a walk can be a loop.
//!
//! The depth of a tree is only limited in part. Brackets, templates, unary operators, splats and the middle operands of
//! conditionals nest at most [`MAX_NESTING`](crate::MAX_NESTING) levels deep. Chains have no limit. The left operand of
//! binary operators, the false side of conditionals, and the base of an index or traversal can nest as deep as the text
//! is long. Code that walks a tree must follow chains in a loop.

use smol_str::SmolStr;
pub use weft_graph_format::formula::{BinaryOperator, UnaryOperator};

use crate::source::Span;

/// The number of an expression node in its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub u32);

impl ExprId {
    /// The number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One node of an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct ExprNode {
    /// The kind of the node.
    pub kind: ExprKind,
    /// The source range of the node, without surrounding blanks.
    pub span: Span,
}

/// The kind of an expression node.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A number, `true`, `false` or `null`.
    Literal(Literal),
    /// A quoted string, a heredoc or a template file. Its value is a string.
    Template(Template),
    /// A template that consists of exactly one interpolation. Its value is the value of the inner expression, of any
    /// type.
    TemplateWrap {
        /// The expression between `${` and `}`.
        inner: ExprId,
    },
    /// A name followed by steps: `var.list[0].id`.
    Traversal(Traversal),
    /// Steps applied to the value of an expression: `f().x`.
    RelativeTraversal {
        /// The expression that the steps start from.
        source: ExprId,
        /// The steps; at least one.
        steps: Vec<TraversalStep>,
    },
    /// Indexing with a key that is not a literal: `a[b]`. Literal keys are steps.
    Index {
        /// The collection.
        collection: ExprId,
        /// The key.
        key: ExprId,
        /// The brackets with their content.
        brackets: Span,
    },
    /// `a[*].b` or `a.*.b`.
    Splat(Splat),
    /// The element of a splat. [`Splat::element`] identifies the splat.
    AnonymousElement,
    /// `[a, b]`.
    Tuple {
        /// The elements in order.
        items: Vec<ExprId>,
    },
    /// `{ a = b }`.
    Object {
        /// The items in order. Duplicate keys are not detected here.
        items: Vec<ObjectItem>,
    },
    /// `[for v in c : v]` or `{for k, v in c : k => v}`.
    For(Box<For>),
    /// `f(a, b...)`.
    Call(Box<Call>),
    /// `-a` or `!a`.
    Unary {
        /// The operator.
        operator: UnaryOperator,
        /// The range of the operator.
        operator_span: Span,
        /// The operand.
        operand: ExprId,
    },
    /// `a + b`.
    Binary {
        /// The operator.
        operator: BinaryOperator,
        /// The range of the operator.
        operator_span: Span,
        /// The left operand. A chain of operators of one precedence nests here, as deep as the chain is long.
        left: ExprId,
        /// The right operand.
        right: ExprId,
    },
    /// `condition ? then : otherwise`.
    Conditional {
        /// The condition.
        condition: ExprId,
        /// The value if the condition is true.
        then: ExprId,
        /// The value if the condition is false. A chain of conditionals nests here, as deep as the chain is long.
        otherwise: ExprId,
    },
    /// `(a)`.
    Parentheses {
        /// The expression between the parentheses.
        inner: ExprId,
    },
    /// A hole: a part of the text that could not be parsed. For each hole there is a diagnostic.
    Error,
}

/// A literal value other than a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// A number of any size as written in the source: digits, optionally with a fraction and an exponent. A sign before
    /// the digits is not part of it.
    Number(SmolStr),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
}

/// The notation of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TemplateForm {
    /// `"..."`
    Quoted,
    /// `<<EOT` or, with indentation removed, `<<-EOT`.
    Heredoc {
        /// Whether the common indentation was removed.
        flush: bool,
    },
    /// A whole text that is one template: a template file, or a string of the JSON syntax.
    Bare,
    /// The part of another template between the markers of a directive.
    Fragment,
}

/// A template. Its value is the concatenation of its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// The notation.
    pub form: TemplateForm,
    /// The parts in order. A template without parts is the empty string.
    pub parts: Vec<TemplatePart>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum TemplatePart {
    /// Text. Escapes are resolved, and indentation and trimmed blanks are removed. It is *not* normalised to NFC.
    Literal {
        /// The text of the result.
        text: SmolStr,
        /// The source range of the text.
        span: Span,
    },
    /// `${expression}`
    Interpolation {
        /// The expression.
        expression: ExprId,
        /// The range from `${` to `}`.
        span: Span,
    },
    /// `%{ if condition }...%{ else }...%{ endif }`
    If {
        /// The condition.
        condition: ExprId,
        /// A [`TemplateForm::Fragment`].
        then: ExprId,
        /// A [`TemplateForm::Fragment`]. `None` without `else`. In this case, the result is the empty string.
        otherwise: Option<ExprId>,
        /// The range from the first marker to the end of the last marker.
        span: Span,
    },
    /// `%{ for key, value in collection }...%{ endfor }`
    For {
        /// The name for the key, if one was given.
        key_variable: Option<Name>,
        /// The name for the element.
        value_variable: Name,
        /// The collection. The names of the `for` are not in scope in the collection.
        collection: ExprId,
        /// A [`TemplateForm::Fragment`]. The results for all elements are joined.
        body: ExprId,
        /// The range from the first marker to the end of the last marker.
        span: Span,
    },
}

/// An identifier with its source range.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// The identifier as written.
    pub text: SmolStr,
    /// The source range of the identifier.
    pub span: Span,
}

/// A name, followed by steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Traversal {
    /// The first name.
    pub root: Name,
    /// The steps after the name.
    pub steps: Vec<TraversalStep>,
}

/// One step of a traversal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TraversalStep {
    /// The kind of the step.
    pub kind: StepKind,
    /// The range of the step, including its dot or brackets.
    pub span: Span,
}

/// The kind of a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// `.name`
    Attribute(SmolStr),
    /// `[0]` or `["key"]`
    Index(Key),
    /// `.0`: the digits.
    LegacyIndex(SmolStr),
}

/// A literal key in brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A number as written in the source.
    Number(SmolStr),
    /// A string with escapes resolved, not normalised.
    String(SmolStr),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
}

/// A splat.
#[derive(Clone, Debug, PartialEq)]
pub struct Splat {
    /// The collection.
    pub source: ExprId,
    /// Whether the notation is `[*]`. After `.*`, only the attributes and legacy indices that directly follow apply to
    /// each element. Later indices in brackets apply to the list that the splat returns.
    pub full: bool,
    /// The expression for each element. In this expression, `element` stands for the element.
    pub each: ExprId,
    /// The [`ExprKind::AnonymousElement`] of this splat, inside `each` (or `each` itself).
    pub element: ExprId,
    /// The range of `[*]` or `.*`.
    pub marker: Span,
}

/// An item of an object constructor.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectItem {
    /// The key as parsed. For [`KeyForm::Bare`], a traversal that is only a name, or one of the literals `true`,
    /// `false` and `null`.
    pub key: ExprId,
    /// The notation of the key.
    pub form: KeyForm,
    /// The value.
    pub value: ExprId,
}

/// The notation of the key of an object item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// A bare identifier. The key is the identifier as a string; nothing is evaluated.
    Bare(SmolStr),
    /// A key that starts with a parenthesis. The expression is evaluated.
    Parenthesised,
    /// A traversal with steps, without parentheses. Evaluating it is an error ("Ambiguous attribute key").
    Ambiguous,
    /// Anything else, such as a template. The expression is evaluated.
    Expression,
    /// A property of the JSON syntax, with its name as written. The key is the name, read as a template. Equal keys are
    /// an error.
    Property(SmolStr),
}

/// A `for` expression.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// The name for the key, if one was given.
    pub key_variable: Option<Name>,
    /// The name for the element.
    pub value_variable: Name,
    /// The collection. The names of the `for` are not in scope in the collection.
    pub collection: ExprId,
    /// The key of the result. With a key, the result is an object, otherwise a tuple.
    pub key: Option<ExprId>,
    /// The value of the result.
    pub value: ExprId,
    /// The filter: elements for which the filter is false are omitted.
    pub condition: Option<ExprId>,
    /// Whether `...` groups the values of equal keys into tuples.
    pub grouping: bool,
}

/// A function call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The name with its namespaces, joined by `::`.
    pub name: SmolStr,
    /// The range of the name.
    pub name_span: Span,
    /// The arguments in order.
    pub arguments: Vec<ExprId>,
    /// Whether `...` follows the last argument. The elements of that argument are then passed as separate arguments.
    pub expand_final: bool,
    /// The range of the parentheses with their content.
    pub parentheses: Span,
}

impl ExprKind {
    /// Calls `visit` for each child, in source order.
    pub fn for_each_child(&self, mut visit: impl FnMut(ExprId)) {
        match self {
            ExprKind::Literal(_) | ExprKind::Traversal(_) | ExprKind::AnonymousElement | ExprKind::Error => {}
            ExprKind::Template(template) => {
                for part in &template.parts {
                    part.for_each_child(&mut visit);
                }
            }
            ExprKind::TemplateWrap { inner } | ExprKind::Parentheses { inner } => visit(*inner),
            ExprKind::RelativeTraversal { source, .. } => visit(*source),
            ExprKind::Index { collection, key, .. } => {
                visit(*collection);
                visit(*key);
            }
            ExprKind::Splat(splat) => {
                visit(splat.source);
                visit(splat.each);
            }
            ExprKind::Tuple { items } => items.iter().copied().for_each(visit),
            ExprKind::Object { items } => {
                for item in items {
                    visit(item.key);
                    visit(item.value);
                }
            }
            ExprKind::For(node) => {
                visit(node.collection);
                node.key.into_iter().for_each(&mut visit);
                visit(node.value);
                node.condition.into_iter().for_each(&mut visit);
            }
            ExprKind::Call(call) => call.arguments.iter().copied().for_each(visit),
            ExprKind::Unary { operand, .. } => visit(*operand),
            ExprKind::Binary { left, right, .. } => {
                visit(*left);
                visit(*right);
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                visit(*condition);
                visit(*then);
                visit(*otherwise);
            }
        }
    }
}

impl TemplatePart {
    /// The source range of the part.
    pub fn span(&self) -> Span {
        match self {
            TemplatePart::Literal { span, .. }
            | TemplatePart::Interpolation { span, .. }
            | TemplatePart::If { span, .. }
            | TemplatePart::For { span, .. } => *span,
        }
    }

    /// Calls `visit` for each child, in source order.
    pub fn for_each_child(&self, visit: &mut impl FnMut(ExprId)) {
        match self {
            TemplatePart::Literal { .. } => {}
            TemplatePart::Interpolation { expression, .. } => visit(*expression),
            TemplatePart::If { condition, then, otherwise, .. } => {
                visit(*condition);
                visit(*then);
                otherwise.iter().for_each(|id| visit(*id));
            }
            TemplatePart::For { collection, body, .. } => {
                visit(*collection);
                visit(*body);
            }
        }
    }
}
