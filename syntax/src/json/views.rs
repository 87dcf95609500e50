//! Views of JSON strings that do not read the strings as templates.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;

use super::graft::{Parsed, for_each_number};
use super::parse::plain_string;
use super::string::{Decoded, decode, is_template};
use crate::expression::{ExprId, ExprKind, ExprNode};
use crate::parser::Goal;
use crate::source::offset;
use crate::tree::{Expression, Root, Syntax, Tree};

/// The depth at which expressions within strings are parsed. Such strings are not deeply nested.
const SHALLOW: usize = 0;

impl Expression {
    /// Whether this is a JSON string itself, not native syntax within a JSON string.
    ///
    /// In a JSON string, a quote is escaped. So only a JSON string itself begins with a quote in the source.
    pub(crate) fn is_json_string(&self) -> bool {
        self.tree.syntax() == Syntax::Json && self.text().starts_with('"')
    }

    /// The text of a JSON string.
    fn json_text(&self) -> Option<Decoded<'_>> {
        if !self.is_json_string() {
            return None;
        }
        decode(self.text(), self.span().start).ok()
    }

    /// The literal text of a string in the JSON syntax. JSON escapes are resolved, template sequences are not. `None`
    /// for all other expressions.
    pub fn as_json_string(&self) -> Option<SmolStr> {
        self.json_text().map(|decoded| SmolStr::from(decoded.text.as_ref()))
    }

    /// The native expression in a string of the JSON syntax, for arguments that are not values: a type, a reference, an
    /// address. Other expressions are returned unchanged.
    ///
    /// # Errors
    /// Returns an error if the text is not a valid expression.
    pub fn unquoted(&self) -> Result<Expression, Vec<Diagnostic>> {
        match self.json_text() {
            None => Ok(self.clone()),
            Some(decoded) => self.embedded(&decoded, Goal::Expression),
        }
    }

    /// The traversal in a string, if its text is one traversal.
    pub(crate) fn json_traversal(&self) -> Option<Expression> {
        self.embedded(&self.json_text()?, Goal::Traversal).ok()
    }

    fn embedded(&self, decoded: &Decoded<'_>, goal: Goal) -> Result<Expression, Vec<Diagnostic>> {
        let source = self.tree.source();
        let parsed = Parsed::new(source, decoded, goal, SHALLOW);
        if !parsed.problems.is_empty() {
            return Err(parsed.problems);
        }
        let tree = Arc::new(parsed.into_tree(source));
        let id = match tree.root() {
            Root::Expression(id) => id,
            Root::Body(_) => Tree::NO_EXPRESSION,
        };
        Ok(tree.expression(id))
    }

    /// Copies a value of the JSON syntax. In the copy, strings are literal text. This is for arguments that cannot have
    /// references. Expressions of the native syntax are returned unchanged.
    pub fn without_templates(&self) -> Expression {
        if self.tree.syntax() == Syntax::Native || !self.has_templates() {
            return self.clone();
        }
        let mut nodes: Vec<ExprNode> = Vec::new();
        // The numbers of copied nodes whose parents have not been copied yet.
        let mut copied: Vec<ExprId> = Vec::new();
        let mut pending = vec![(self.id, false)];
        while let Some((id, children_done)) = pending.pop() {
            let here = self.child(id);
            let node = here.node();
            if !children_done && here.json_text().is_none() {
                pending.push((id, true));
                let first = pending.len();
                node.kind.for_each_child(|child| pending.push((child, false)));
                pending.get_mut(first..).unwrap_or_default().reverse();
                continue;
            }
            let mut kind = match here.json_text() {
                Some(decoded) => plain_string(&decoded, node.span),
                None => node.kind.clone(),
            };
            if children_done {
                let mut count = 0;
                kind.for_each_child(|_| count += 1);
                let mut copies = copied.split_off(copied.len().saturating_sub(count)).into_iter();
                for_each_number(&mut kind, &mut |number| *number = copies.next().unwrap_or(Tree::NO_EXPRESSION));
            }
            copied.push(ExprId(offset(nodes.len())));
            nodes.push(ExprNode { kind, span: node.span });
        }
        let root = copied.pop().unwrap_or(Tree::NO_EXPRESSION);
        let tree = Tree {
            source: Arc::clone(self.tree.source()),
            tokens: Vec::new(),
            expressions: nodes,
            bodies: Vec::new(),
            root: Root::Expression(root),
            syntax: Syntax::Native,
        };
        Arc::new(tree).expression(root)
    }

    /// Whether this value of the JSON syntax contains a string with template sequences.
    fn has_templates(&self) -> bool {
        let mut pending = vec![self.id];
        while let Some(id) = pending.pop() {
            let here = self.child(id);
            match here.json_text() {
                Some(decoded) if is_template(&decoded.text) => return true,
                Some(_) => {}
                None => here.kind().for_each_child(|child| pending.push(child)),
            }
        }
        false
    }

    /// The problems of a JSON string as a template. Parsing a file does not report these problems, because not every
    /// string is a template. The node of a string with such problems is a [hole](ExprKind::Error).
    pub fn template_problems(&self) -> Vec<Diagnostic> {
        match (self.kind(), self.json_text()) {
            (ExprKind::Error, Some(decoded)) => {
                Parsed::new(self.tree.source(), &decoded, Goal::Template, SHALLOW).problems
            }
            _ => Vec::new(),
        }
    }
}
