//! Short texts for the forms of expressions.

use std::fmt::Write;

use weft_syntax::*;

fn steps(steps: &[TraversalStep], out: &mut String) {
    for step in steps {
        let _ = match &step.kind {
            StepKind::Attribute(name) => write!(out, ".{name}"),
            StepKind::Index(Key::Number(number)) => write!(out, "[{number}]"),
            StepKind::Index(Key::String(text)) => write!(out, "[{text:?}]"),
            StepKind::Index(Key::Bool(value)) => write!(out, "[{value}]"),
            StepKind::Index(Key::Null) => write!(out, "[null]"),
            StepKind::LegacyIndex(number) => write!(out, ".[{number}]"),
        };
    }
}

fn list(tree: &Tree, name: &str, ids: &[ExprId], out: &mut String) {
    out.push_str(name);
    for (index, id) in ids.iter().enumerate() {
        out.push_str(if index == 0 { "(" } else { " " });
        shape(tree, *id, out);
    }
    out.push_str(if ids.is_empty() { "()" } else { ")" });
}

fn parts(tree: &Tree, parts: &[TemplatePart], out: &mut String) {
    for part in parts {
        out.push(' ');
        match part {
            TemplatePart::Literal { text, .. } => out.push_str(&format!("{text:?}")),
            TemplatePart::Interpolation { expression, .. } => shape(tree, *expression, out),
            TemplatePart::If { condition, then, otherwise, .. } => {
                let ids: Vec<_> = [*condition, *then].into_iter().chain(*otherwise).collect();
                list(tree, "if", &ids, out);
            }
            TemplatePart::For { key_variable, value_variable, collection, body, .. } => {
                let key = key_variable.as_ref().map_or("", |name| &name.text);
                list(tree, &format!("for:{key}:{}", value_variable.text), &[*collection, *body], out);
            }
        }
    }
}

/// A short text for the form of an expression.
fn shape(tree: &Tree, id: ExprId, out: &mut String) {
    match &tree.node(id).kind {
        ExprKind::Literal(Literal::Number(text)) => out.push_str(text),
        ExprKind::Literal(literal) => out.push_str(literal.word().unwrap_or_default()),
        ExprKind::Template(node) => {
            out.push_str("(tmpl");
            parts(tree, &node.parts, out);
            out.push(')');
        }
        ExprKind::TemplateWrap { inner } => list(tree, "wrap", &[*inner], out),
        ExprKind::Traversal(node) => {
            out.push_str(&node.root.text);
            steps(&node.steps, out);
        }
        ExprKind::RelativeTraversal { source, steps: tail } => {
            list(tree, "rel", &[*source], out);
            steps(tail, out);
        }
        ExprKind::Index { collection, key, .. } => list(tree, "index", &[*collection, *key], out),
        ExprKind::Splat(node) => {
            assert!(matches!(tree.node(node.element).kind, ExprKind::AnonymousElement));
            list(tree, if node.full { "splat" } else { "attrs" }, &[node.source, node.each], out);
        }
        ExprKind::AnonymousElement => out.push('_'),
        ExprKind::Tuple { items } => list(tree, "tuple", items, out),
        ExprKind::Object { items } => {
            out.push_str("object(");
            for item in items {
                match &item.form {
                    KeyForm::Bare(name) => out.push_str(name),
                    KeyForm::Parenthesised => out.push('p'),
                    KeyForm::Ambiguous => out.push('?'),
                    KeyForm::Expression | KeyForm::Property(_) => {}
                }
                list(tree, ":", &[item.key, item.value], out);
            }
            out.push(')');
        }
        ExprKind::For(node) => {
            let key = node.key_variable.as_ref().map_or("", |name| &name.text);
            let dots = if node.grouping { "..." } else { "" };
            let ids: Vec<_> =
                [node.collection].into_iter().chain(node.key).chain([node.value]).chain(node.condition).collect();
            let kind = if node.key.is_some() { "forobject" } else { "fortuple" };
            list(tree, &format!("{kind}:{key}:{}{dots}", node.value_variable.text), &ids, out);
        }
        ExprKind::Call(node) => {
            let dots = if node.expand_final { "..." } else { "" };
            list(tree, &format!("{}{dots}", node.name), &node.arguments, out);
        }
        ExprKind::Unary { operator, operand, .. } => list(tree, operator.symbol(), &[*operand], out),
        ExprKind::Binary { operator, left, right, .. } => list(tree, operator.symbol(), &[*left, *right], out),
        ExprKind::Conditional { condition, then, otherwise } => {
            list(tree, "cond", &[*condition, *then, *otherwise], out);
        }
        ExprKind::Parentheses { inner } => list(tree, "paren", &[*inner], out),
        ExprKind::Error => out.push('!'),
    }
}

/// The form of an expression as text.
pub fn shape_of(expression: &Expression) -> String {
    let mut out = String::new();
    shape(&expression.tree, expression.id, &mut out);
    out
}
