//! The nodes of expressions.
//!
//! A node names its children by number, and children come before their parents in the table. So dropping a tree does
//! not recurse, and a walk can be a loop.
//!
//! The depth of a tree: brackets, templates, unary operators, splats and the middle of conditionals nest at most
//! [`MAX_NESTING`](crate::MAX_NESTING) deep. Chains are not limited: the left operand of binary operators, the false
//! side of conditionals, and the base of an index or traversal nest as deep as the text is long. Code that walks a tree
//! follows those in a loop.

use smol_str::SmolStr;
pub use weft_graph_format::formula::{BinaryOperator, UnaryOperator};

use crate::source::Span;

/// Number of an expression node in its tree.
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
    /// Its kind.
    pub kind: ExprKind,
    /// The text that it was read from, outer blanks excluded.
    pub span: Span,
}

/// The kind of an expression node.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A number, `true`, `false` or `null`.
    Literal(Literal),
    /// A quoted string, a heredoc or a template file. Its value is a string.
    Template(Template),
    /// A template that is exactly one interpolation: its value is that of the inner expression, of whatever type.
    TemplateWrap {
        /// The expression between `${` and `}`.
        inner: ExprId,
    },
    /// A name with steps: `var.list[0].id`.
    Traversal(Traversal),
    /// Steps from the value of an expression: `f().x`.
    RelativeTraversal {
        /// Where the steps begin.
        source: ExprId,
        /// At least one.
        steps: Vec<TraversalStep>,
    },
    /// Indexing with a key that is not a literal: `a[b]`.
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
        /// The items in order; equal keys are not detected here.
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
        /// Where the operator stands.
        operator_span: Span,
        /// The operand.
        operand: ExprId,
    },
    /// `a + b`.
    Binary {
        /// The operator.
        operator: BinaryOperator,
        /// Where the operator stands.
        operator_span: Span,
        /// The left operand. A chain of operators of one precedence nests here, as deep as the chain is long.
        left: ExprId,
        /// The right operand.
        right: ExprId,
    },
    /// `condition ? then : otherwise`.
    Conditional {
        /// What decides.
        condition: ExprId,
        /// The value when it is true.
        then: ExprId,
        /// The value when it is false. A chain of conditionals nests here, as deep as the chain is long.
        otherwise: ExprId,
    },
    /// `(a)`.
    Parentheses {
        /// The expression between them.
        inner: ExprId,
    },
    /// A hole that an error left. There is a diagnostic wherever there is one of these.
    Error,
}

/// A literal value other than a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// A number as it was written: digits, perhaps with a fraction and an exponent, without a sign, of any size.
    Number(SmolStr),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
}

/// How a template was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TemplateForm {
    /// `"..."`
    Quoted,
    /// `<<EOT` or, with indentation removed, `<<-EOT`.
    Heredoc {
        /// Whether the common indentation was removed.
        flush: bool,
    },
    /// A whole text as one template: a template file, or a string of the JSON syntax.
    Bare,
    /// The part of another template that a directive encloses.
    Fragment,
}

/// A template: its value is the texts of its parts, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// How it was written.
    pub form: TemplateForm,
    /// The parts in order. Without any the value is the empty string.
    pub parts: Vec<TemplatePart>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum TemplatePart {
    /// Text. Escapes are resolved, indentation and trimmed blanks are gone; it is *not* normalised to NFC.
    Literal {
        /// The text as it goes into the result.
        text: SmolStr,
        /// Where it was written.
        span: Span,
    },
    /// `${expression}`
    Interpolation {
        /// The expression.
        expression: ExprId,
        /// From `${` to `}`.
        span: Span,
    },
    /// `%{ if condition }...%{ else }...%{ endif }`
    If {
        /// What decides.
        condition: ExprId,
        /// A [`TemplateForm::Fragment`].
        then: ExprId,
        /// A [`TemplateForm::Fragment`]; without `else` the empty string takes its place.
        otherwise: Option<ExprId>,
        /// From the first marker to the end of the last.
        span: Span,
    },
    /// `%{ for key, value in collection }...%{ endfor }`
    For {
        /// The name for the key, if one was given.
        key_variable: Option<Name>,
        /// The name for the element.
        value_variable: Name,
        /// The collection. Neither name is in scope in it.
        collection: ExprId,
        /// A [`TemplateForm::Fragment`]: the results for all elements are joined.
        body: ExprId,
        /// From the first marker to the end of the last.
        span: Span,
    },
}

/// An identifier and where it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// The identifier as written.
    pub text: SmolStr,
    /// Where it stands.
    pub span: Span,
}

/// A name, and steps from it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Traversal {
    /// The name that it begins with.
    pub root: Name,
    /// The text behind it.
    pub steps: Vec<TraversalStep>,
}

/// One step of a traversal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TraversalStep {
    /// Where it leads.
    pub kind: StepKind,
    /// The text of the step, with its dot or brackets.
    pub span: Span,
}

/// What kind of step it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// `.name`
    Attribute(SmolStr),
    /// `[0]` or `["key"]`
    Index(Key),
    /// `.0`: the digits.
    LegacyIndex(SmolStr),
}

/// A literal key between brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A number as it was written.
    Number(SmolStr),
    /// A string, escapes resolved, not normalised.
    String(SmolStr),
}

/// A splat.
#[derive(Clone, Debug, PartialEq)]
pub struct Splat {
    /// The collection.
    pub source: ExprId,
    /// Whether it was written `[*]`. A `.*` takes only attributes and legacy indices with it; indices after those
    /// apply to the list that the splat returns.
    pub full: bool,
    /// The expression for each element, in which `element` is the element.
    pub each: ExprId,
    /// The [`ExprKind::AnonymousElement`] of this splat, inside of `each` (or `each` itself).
    pub element: ExprId,
    /// Where `[*]` or `.*` stands.
    pub marker: Span,
}

/// An item of an object constructor.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectItem {
    /// The key as it was parsed: for [`KeyForm::Bare`] a traversal of the name alone or a literal `true`, `null`...
    pub key: ExprId,
    /// How the key was written.
    pub form: KeyForm,
    /// The value.
    pub value: ExprId,
}

/// How the key of an object item was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// A bare identifier: the key is that string, nothing is evaluated.
    Bare(SmolStr),
    /// It begins with a parenthesis: the expression is evaluated.
    Parenthesised,
    /// A traversal with steps, without parentheses. Evaluating it is an error ("Ambiguous attribute key").
    Ambiguous,
    /// Anything else, such as a template: the expression is evaluated.
    Expression,
    /// A property of the JSON syntax, and its name as it is written. The key is that name as a template; equal keys are
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
    /// The collection. Neither name is in scope in it.
    pub collection: ExprId,
    /// The key of the result: then it is an object, otherwise a tuple.
    pub key: Option<ExprId>,
    /// The value of the result.
    pub value: ExprId,
    /// Elements for which this is false are left out.
    pub condition: Option<ExprId>,
    /// Whether `...` gathers the values of equal keys in tuples.
    pub grouping: bool,
}

/// A function call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The name with its namespaces, joined by `::`.
    pub name: SmolStr,
    /// Where the name stands.
    pub name_span: Span,
    /// The arguments in order.
    pub arguments: Vec<ExprId>,
    /// Whether the last argument is followed by `...`: its elements are arguments.
    pub expand_final: bool,
    /// The parentheses with their content.
    pub parentheses: Span,
}

impl ExprKind {
    /// Hands each child to `visit`, in the order in which they were written.
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
    /// The text of the whole part.
    pub fn span(&self) -> Span {
        match self {
            TemplatePart::Literal { span, .. }
            | TemplatePart::Interpolation { span, .. }
            | TemplatePart::If { span, .. }
            | TemplatePart::For { span, .. } => *span,
        }
    }

    /// Hands each child to `visit`, in the order in which they were written.
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
