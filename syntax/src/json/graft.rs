//! Native syntax within JSON strings. The native parser parses the text of such a string, and this module converts the
//! positions to positions in the JSON text.

use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use super::string::Decoded;
use crate::expression::{ExprId, ExprKind, ExprNode, Name, TemplatePart, Traversal, TraversalStep};
use crate::parser::{Goal, parse_within};
use crate::source::{SourceFile, Span, offset};
use crate::tree::{Root, Syntax, Tree};

/// The nodes of a text, numbered from 0, with their positions in the JSON text.
pub(super) struct Parsed {
    nodes: Vec<ExprNode>,
    root: ExprId,
    /// Problems, with positions in the JSON text.
    pub(super) problems: Vec<Diagnostic>,
}

impl Parsed {
    /// Parses the text of a string that is nested `depth` levels deep.
    pub(super) fn new(source: &SourceFile, decoded: &Decoded<'_>, goal: Goal, depth: usize) -> Parsed {
        let inner = SourceFile::new(source.name().clone(), decoded.text.as_ref());
        let (tree, mut problems) = parse_within(inner, goal, depth);
        problems.sort_by_key(|problem| problem.subject.as_ref().map(|subject| subject.start));
        for range in problems.iter_mut().flat_map(|problem| problem.subject.iter_mut().chain(&mut problem.context)) {
            *range = placed(source, decoded, range);
        }
        let root = match tree.root {
            Root::Expression(id) => id,
            Root::Body(_) => Tree::NO_EXPRESSION,
        };
        let mut nodes = tree.expressions;
        for node in &mut nodes {
            node.span = decoded.span(node.span);
            move_spans(&mut node.kind, decoded);
        }
        Parsed { nodes, root, problems }
    }

    /// Appends the nodes to the nodes of a tree. The root gets the span of the whole string.
    pub(super) fn append(self, nodes: &mut Vec<ExprNode>, whole: Span) -> ExprId {
        let base = offset(nodes.len());
        nodes.extend(self.nodes.into_iter().map(|mut node| {
            for_each_number(&mut node.kind, &mut |id| id.0 = id.0.saturating_add(base));
            node
        }));
        let root = ExprId(base.saturating_add(self.root.0));
        if let Some(node) = nodes.get_mut(root.index()) {
            node.span = whole;
        }
        root
    }

    /// The nodes as a tree over the JSON text.
    pub(super) fn into_tree(self, source: &Arc<SourceFile>) -> Tree {
        Tree {
            source: Arc::clone(source),
            tokens: Vec::new(),
            expressions: self.nodes,
            bodies: Vec::new(),
            root: Root::Expression(self.root),
            syntax: Syntax::Native,
        }
    }
}

fn placed(source: &SourceFile, decoded: &Decoded<'_>, range: &SourceRange) -> SourceRange {
    source.range(decoded.span(Span::new(range.start.byte, range.end.byte)))
}

/// Converts every position of a node from the string's text to the JSON text.
fn move_spans(kind: &mut ExprKind, decoded: &Decoded<'_>) {
    let move_one = |span: &mut Span| *span = decoded.span(*span);
    let move_name = |name: &mut Name| move_one(&mut name.span);
    let move_steps = |steps: &mut Vec<TraversalStep>| steps.iter_mut().for_each(|step| move_one(&mut step.span));
    match kind {
        ExprKind::Literal(_)
        | ExprKind::TemplateWrap { .. }
        | ExprKind::AnonymousElement
        | ExprKind::Tuple { .. }
        | ExprKind::Object { .. }
        | ExprKind::Conditional { .. }
        | ExprKind::Parentheses { .. }
        | ExprKind::Error => {}
        ExprKind::Template(template) => {
            for part in &mut template.parts {
                match part {
                    TemplatePart::Literal { span, .. }
                    | TemplatePart::Interpolation { span, .. }
                    | TemplatePart::If { span, .. } => move_one(span),
                    TemplatePart::For { key_variable, value_variable, span, .. } => {
                        key_variable.iter_mut().for_each(move_name);
                        move_name(value_variable);
                        move_one(span);
                    }
                }
            }
        }
        ExprKind::Traversal(Traversal { root, steps }) => {
            move_name(root);
            move_steps(steps);
        }
        ExprKind::RelativeTraversal { steps, .. } => move_steps(steps),
        ExprKind::Index { brackets, .. } => move_one(brackets),
        ExprKind::Splat(splat) => move_one(&mut splat.marker),
        ExprKind::For(node) => {
            node.key_variable.iter_mut().for_each(move_name);
            move_name(&mut node.value_variable);
        }
        ExprKind::Call(call) => {
            move_one(&mut call.name_span);
            move_one(&mut call.parentheses);
        }
        ExprKind::Unary { operator_span, .. } | ExprKind::Binary { operator_span, .. } => move_one(operator_span),
    }
}

/// Calls `visit` for the number of every child, in source order.
pub(super) fn for_each_number(kind: &mut ExprKind, visit: &mut dyn FnMut(&mut ExprId)) {
    match kind {
        ExprKind::Literal(_) | ExprKind::Traversal(_) | ExprKind::AnonymousElement | ExprKind::Error => {}
        ExprKind::Template(template) => {
            for part in &mut template.parts {
                match part {
                    TemplatePart::Literal { .. } => {}
                    TemplatePart::Interpolation { expression, .. } => visit(expression),
                    TemplatePart::If { condition, then, otherwise, .. } => {
                        [condition, then].into_iter().chain(otherwise).for_each(&mut *visit);
                    }
                    TemplatePart::For { collection, body, .. } => [collection, body].into_iter().for_each(&mut *visit),
                }
            }
        }
        ExprKind::TemplateWrap { inner } | ExprKind::Parentheses { inner } => visit(inner),
        ExprKind::RelativeTraversal { source, .. } => visit(source),
        ExprKind::Index { collection, key, .. } => [collection, key].into_iter().for_each(visit),
        ExprKind::Splat(splat) => [&mut splat.source, &mut splat.each, &mut splat.element].into_iter().for_each(visit),
        ExprKind::Tuple { items } => items.iter_mut().for_each(visit),
        ExprKind::Object { items } => {
            items.iter_mut().flat_map(|item| [&mut item.key, &mut item.value]).for_each(visit);
        }
        ExprKind::For(node) => {
            visit(&mut node.collection);
            node.key.iter_mut().chain([&mut node.value]).chain(&mut node.condition).for_each(visit);
        }
        ExprKind::Call(call) => call.arguments.iter_mut().for_each(visit),
        ExprKind::Unary { operand, .. } => visit(operand),
        ExprKind::Binary { left, right, .. } => [left, right].into_iter().for_each(visit),
        ExprKind::Conditional { condition, then, otherwise } => {
            [condition, then, otherwise].into_iter().for_each(visit);
        }
    }
}
