//! Reading expressions without evaluating them: as traversals, calls, lists, maps, keywords, strings.
//!
//! Some arguments of the language do not take values: `depends_on`, `provider`, type constraints. Such arguments are
//! recognized by the form of the expression. Parentheses are part of the form: `(a.b)` is not a traversal.

use smol_str::SmolStr;

use crate::expression::{Call, ExprKind, KeyForm, Literal, Name, TemplatePart, Traversal};
use crate::lexer::is_identifier;
use crate::tree::Expression;

impl Expression {
    /// The expression as a traversal, if it is one.
    ///
    /// `true`, `false` and `null` are names here, as in `null.x`. In the JSON syntax, a string whose text is a
    /// traversal counts as a traversal.
    pub fn as_traversal(&self) -> Option<Traversal> {
        if self.is_json_string()
            && let Some(inner) = self.json_traversal()
        {
            return inner.as_traversal();
        }
        let mut tails = Vec::new();
        let mut node = self.node();
        let mut found = loop {
            match &node.kind {
                ExprKind::Traversal(traversal) => break traversal.clone(),
                ExprKind::Literal(literal) => {
                    let text = SmolStr::new(literal.word()?);
                    break Traversal { root: Name { text, span: node.span }, steps: Vec::new() };
                }
                ExprKind::RelativeTraversal { source, steps } => {
                    tails.push(steps);
                    node = self.tree.node(*source);
                }
                _ => return None,
            }
        };
        for steps in tails.into_iter().rev() {
            found.steps.extend(steps.iter().cloned());
        }
        Some(found)
    }

    /// The expression as a call, if it is one.
    pub fn as_call(&self) -> Option<&Call> {
        match self.kind() {
            ExprKind::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The elements of a tuple constructor.
    pub fn as_list(&self) -> Option<Vec<Expression>> {
        match self.kind() {
            ExprKind::Tuple { items } => Some(items.iter().map(|id| self.child(*id)).collect()),
            _ => None,
        }
    }

    /// The keys and values of an object constructor, in order. A key that is a bare identifier is returned as a
    /// traversal: read it with [`Expression::as_keyword`].
    pub fn as_map(&self) -> Option<Vec<(Expression, Expression)>> {
        match self.kind() {
            ExprKind::Object { items } => {
                Some(items.iter().map(|item| (self.child(item.key), self.child(item.value))).collect())
            }
            _ => None,
        }
    }

    /// The text of a bare identifier, including `true`, `false` and `null`. In the JSON syntax, the text of a string
    /// that is an identifier.
    pub fn as_keyword(&self) -> Option<&str> {
        match self.kind() {
            ExprKind::Traversal(traversal) if traversal.steps.is_empty() => Some(&traversal.root.text),
            ExprKind::Literal(literal) => literal.word(),
            ExprKind::Template(template) if self.is_json_string() => match template.parts.as_slice() {
                [TemplatePart::Literal { text, .. }] if is_identifier(text) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    /// The text of a template that has no interpolations and directives.
    pub fn as_string_literal(&self) -> Option<SmolStr> {
        let ExprKind::Template(template) = self.kind() else { return None };
        match template.parts.as_slice() {
            [] => Some(SmolStr::default()),
            [TemplatePart::Literal { text, .. }] => Some(text.clone()),
            parts => {
                let mut whole = String::new();
                for part in parts {
                    match part {
                        TemplatePart::Literal { text, .. } => whole.push_str(text),
                        _ => return None,
                    }
                }
                Some(whole.into())
            }
        }
    }

    /// The expression inside all surrounding parentheses.
    pub fn without_parentheses(&self) -> Expression {
        let mut id = self.id;
        while let ExprKind::Parentheses { inner } = &self.tree.node(id).kind {
            id = *inner;
        }
        self.child(id)
    }
}

impl Literal {
    /// The keyword of a literal. `None` for numbers.
    pub fn word(&self) -> Option<&'static str> {
        match self {
            Literal::Number(_) => None,
            Literal::Bool(true) => Some("true"),
            Literal::Bool(false) => Some("false"),
            Literal::Null => Some("null"),
        }
    }
}

impl KeyForm {
    /// The key, if it is a bare identifier. Such a key is not evaluated.
    pub fn as_bare(&self) -> Option<&str> {
        match self {
            KeyForm::Bare(name) => Some(name),
            KeyForm::Parenthesised | KeyForm::Ambiguous | KeyForm::Expression | KeyForm::Property(_) => None,
        }
    }
}
