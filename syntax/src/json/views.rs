//! Strings of JSON, read otherwise than as templates.

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

/// The depth at which expressions within strings begin. Such strings are near the top of the language.
const SHALLOW: usize = 0;

impl Expression {
    /// Whether this is a string of JSON itself, not native syntax in one.
    ///
    /// In JSON, quotes delimit strings only: text that begins with a quote is a JSON string.
    pub(crate) fn is_json_string(&self) -> bool {
        self.tree.syntax() == Syntax::Json && self.text().starts_with('"')
    }

    /// The text of a string of JSON.
    fn json_text(&self) -> Option<Decoded<'_>> {
        if !self.is_json_string() {
            return None;
        }
        decode(self.text(), self.span().start).ok()
    }

    /// The literal text of a string in the JSON syntax: JSON escapes are resolved, and templates are not. `None` for
    /// everything else.
    pub fn as_json_string(&self) -> Option<SmolStr> {
        self.json_text().map(|decoded| SmolStr::from(decoded.text.as_ref()))
    }

    /// The expression in native syntax that a string of the JSON syntax holds, for places where the language wants no
    /// value: a type, a reference, an address. The expression itself when it is no such string.
    ///
    /// # Errors
    /// The text is not a valid expression.
    pub fn unquoted(&self) -> Result<Expression, Vec<Diagnostic>> {
        match self.json_text() {
            None => Ok(self.clone()),
            Some(decoded) => self.embedded(&decoded, Goal::Expression),
        }
    }

    /// The expression of a string that is one traversal.
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

    /// The same value of the JSON syntax with literal strings, for places where nothing can be referred to. Expressions
    /// of the native syntax are unchanged.
    pub fn without_templates(&self) -> Expression {
        if self.tree.syntax() == Syntax::Native || !self.has_templates() {
            return self.clone();
        }
        let mut nodes: Vec<ExprNode> = Vec::new();
        // The numbers of copies whose parents are still to be copied.
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

    /// Whether a string in this value of the JSON syntax is not its own text as a template.
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

    /// The problems of a JSON string as a template. Parsing a file does not report them, since not every string is a
    /// template. Such a string is a [hole](ExprKind::Error).
    pub fn template_problems(&self) -> Vec<Diagnostic> {
        match (self.kind(), self.json_text()) {
            (ExprKind::Error, Some(decoded)) => {
                Parsed::new(self.tree.source(), &decoded, Goal::Template, SHALLOW).problems
            }
            _ => Vec::new(),
        }
    }
}
