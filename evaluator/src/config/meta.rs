//! Meta-arguments: arguments that the language defines for a block, independently of the provider.

use smol_str::SmolStr;
use weft_graph_format::source::{Position, SourceRange};
use weft_syntax::{ExprKind, Expression, StepKind, Syntax, Traversal, references};

use super::compiling::Compiling;
use super::content::{AttributeRule, BlockContent, ContentRules, FoundBlock};
use super::{Condition, ProviderKey, ProviderReference, Repetition, problems};
use crate::reference::{Reference, resolve};

/// The local name, alias and key in an expression such as `aws.by_region[each.key]`.
pub(super) fn provider_name(expression: &Expression) -> Option<(SmolStr, Option<SmolStr>, Option<ProviderKey>)> {
    let (traversal, computed) = match expression.kind() {
        ExprKind::Index { collection, key, .. } => {
            (expression.child(*collection).as_traversal()?, Some(ProviderKey::Computed(expression.child(*key))))
        }
        _ => (expression.as_traversal()?, None),
    };
    let literal = traversal.steps.get(1).and_then(|step| match &step.kind {
        StepKind::Index(key) => Some(ProviderKey::Literal(key.clone(), expression.range())),
        _ => None,
    });
    let alias = match traversal.steps.as_slice() {
        [] => None,
        [step] | [step, _] => match &step.kind {
            StepKind::Attribute(name) => Some(name.clone()),
            _ => return None,
        },
        _ => return None,
    };
    Some((traversal.root.text, alias, computed.or(literal)))
}

const CONDITION: ContentRules = ContentRules {
    attributes: &[
        AttributeRule { name: "condition", required: true },
        AttributeRule { name: "error_message", required: true },
    ],
    blocks: &[],
    open: false,
};

/// The result of reading an expression that may be a quoted reference, as before version 0.12.
pub(super) enum Unquoted {
    /// Not a quoted string.
    AsWritten,
    /// The quoted reference.
    Reference(Expression),
    /// A string with other content. The problem is already reported.
    Broken,
}

impl Compiling<'_> {
    /// Reads a quoted reference, with a warning. In the JSON syntax, references are always quoted, so there is no
    /// warning.
    pub(super) fn unquoted(&mut self, item: &Expression) -> Unquoted {
        let Some(text) = item.as_string_literal().filter(|_| item.tree.syntax() == Syntax::Native) else {
            return Unquoted::AsWritten;
        };
        let range = item.range();
        let start = Position { byte: range.start.byte + 1, column: range.start.column + 1, ..range.start };
        let (parsed, problems) = weft_syntax::parse_traversal(&range.file, text.as_str().into(), start);
        let broken = !problems.is_empty();
        self.diagnostics.extend(problems);
        self.report(problems::references::quoted(range));
        if broken { Unquoted::Broken } else { Unquoted::Reference(parsed) }
    }

    /// Reads `count`, `for_each` and `enabled`. At most one of these arguments is allowed in a block. If blocks of
    /// several files are merged, `count` takes precedence over `for_each`, and `for_each` over `enabled`.
    pub(super) fn repetition(&mut self, content: &BlockContent, enabled: Option<Expression>) -> Repetition {
        let argument = |name: &'static str, make: fn(Expression) -> Repetition| {
            content.attributes.get(name).map(|found| (name, make(found.value.clone()), found.name_range.clone()))
        };
        let enabled = enabled.map(|e| ("enabled", Repetition::Enabled(e.clone()), e.range()));
        let counted = argument("count", Repetition::Count);
        let given: Vec<(&str, Repetition, SourceRange)> =
            counted.into_iter().chain(enabled).chain(argument("for_each", Repetition::ForEach)).collect();
        let places = given
            .iter()
            .map(|(_, _, at)| at)
            .min_by_key(|at| at.start)
            .zip(given.iter().map(|(_, _, at)| at).max_by_key(|at| at.start));
        if given.len() > 1
            && let Some((first, last)) = places
            && given.iter().all(|(_, _, at)| at.file == first.file)
        {
            let names: Vec<&str> = given.iter().map(|(name, ..)| *name).collect();
            self.report(problems::repetition::combined(&names, first.through(last)));
        }
        // `enabled` has the lowest precedence.
        let chosen = given.into_iter().min_by_key(|(_, repetition, _)| matches!(repetition, Repetition::Enabled(_)));
        chosen.map(|(_, repetition, _)| repetition).unwrap_or_default()
    }

    /// The `provider` argument.
    pub(super) fn provider_reference(&mut self, expression: &Expression) -> Option<ProviderReference> {
        let range = expression.range();
        let expression = match expression.unquoted() {
            Ok(expression) => expression,
            Err(problems) => {
                self.diagnostics.extend(problems);
                return None;
            }
        };
        // A computed key is an index expression; a literal key is part of the traversal.
        let (named, computed) = match expression.kind() {
            ExprKind::Index { collection, key, .. } => {
                (expression.child(*collection), Some(ProviderKey::Computed(expression.child(*key))))
            }
            _ => (expression.clone(), None),
        };
        let most = if computed.is_some() { 1 } else { 2 };
        let named = match self.unquoted(&named) {
            Unquoted::Reference(parsed) => parsed,
            Unquoted::AsWritten => named,
            Unquoted::Broken => {
                if !begins_with_name(&named) {
                    self.report(problems::provider::invalid_reference(range));
                }
                return None;
            }
        };
        let place = |span| named.tree.range(span);
        let Some(Traversal { root, steps, .. }) = named.as_traversal().filter(|found| found.steps.len() <= most) else {
            self.report(problems::provider::invalid_reference(range));
            return None;
        };
        if !self.normalised_provider(&root.text, &place(root.span)) {
            return None;
        }
        let alias = match steps.first() {
            None if computed.is_some() => {
                // Only a configuration with an alias has instances.
                self.report(problems::provider::invalid_reference(range));
                return None;
            }
            None => None,
            Some(step) => match attribute_name(&step.kind) {
                Some(alias) => Some(alias),
                None => {
                    self.report(problems::provider::invalid_reference(place(step.span)));
                    return None;
                }
            },
        };
        let key = match steps.get(1) {
            None => computed,
            Some(step) => match &step.kind {
                StepKind::Index(key) => Some(ProviderKey::Literal(key.clone(), expression.range())),
                _ => {
                    self.report(problems::provider::invalid_reference(place(step.span)));
                    return None;
                }
            },
        };
        Some(ProviderReference { local_name: root.text, alias, key, range })
    }

    /// Reads `depends_on`, a list of references to whole objects.
    pub(super) fn depends_on(&mut self, expression: &Expression) -> Vec<Reference> {
        let Some(items) = expression.as_list() else {
            self.report(problems::references::not_a_list(expression.range()));
            return Vec::new();
        };
        let mut found = Vec::new();
        for item in items {
            if let Some(reference) = self.depended_on(&item) {
                found.push(reference);
            }
        }
        found
    }

    /// Reads one entry of `depends_on`. The rest of the traversal is checked with the other references.
    fn depended_on(&mut self, item: &Expression) -> Option<Reference> {
        let resolved = match self.unquoted(item) {
            Unquoted::Broken => return None,
            Unquoted::Reference(parsed) => {
                let traversal = parsed.as_traversal()?;
                resolve(&parsed.tree, &traversal).map(|found| Reference { range: item.range(), ..found })
            }
            Unquoted::AsWritten => match item.as_traversal() {
                Some(traversal) => resolve(&item.tree, &traversal),
                None => {
                    self.report(problems::references::not_static(item.range()));
                    return None;
                }
            },
        };
        // Invalid references are reported when references are checked.
        resolved.map_err(|problem| self.module.invalid_references.push(problem)).ok()
    }

    /// Reads a `precondition`, `postcondition`, `assert` or `validation` block.
    pub(super) fn condition(&mut self, block: &FoundBlock) -> Option<Condition> {
        self.condition_parts(block).1
    }

    /// Like `condition`. Also returns the condition expression, even if the rest of the block is invalid.
    pub(super) fn condition_parts(&mut self, block: &FoundBlock) -> (Option<Expression>, Option<Condition>) {
        let content = self.content(block, &CONDITION);
        let condition = content.get("condition").cloned();
        if let Some(condition) = &condition
            && references(condition).is_empty()
        {
            self.report(problems::references::constant_condition(block.block_type, condition.range()));
            return (Some(condition.clone()), None);
        }
        let error_message = content.get("error_message").cloned();
        let whole = condition.clone().zip(error_message).map(|(condition, error_message)| Condition {
            condition,
            error_message,
            range: block.range.clone(),
        });
        (condition, whole)
    }
}

/// Whether a quoted string starts like a reference.
fn begins_with_name(quoted: &Expression) -> bool {
    quoted.as_string_literal().is_some_and(|text| text.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

fn attribute_name(kind: &StepKind) -> Option<SmolStr> {
    match kind {
        StepKind::Attribute(name) => Some(name.clone()),
        _ => None,
    }
}
