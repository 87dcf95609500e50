//! Provider configurations with `for_each`: their values, and resources that repeat over the same expression.

use weft_graph_format::address::ResourceMode;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_syntax::{ExprKind, Expression, Syntax};

use super::problems::{self, User};
use crate::config::{CompiledModule, ProviderBlock, ProviderReference, Repetition};

/// Whether an element of a set is a string, or may become one.
fn may_be_key(item: &Value) -> bool {
    !item.is_null() && matches!(item.ty(), Type::String | Type::Dynamic)
}

/// The problem of a value for the `for_each` of a provider.
pub(crate) fn unsuitable(value: &Value) -> Option<String> {
    let (marks, kind) = value.open();
    if marks.is_sensitive() {
        return Some(problems::sensitive_keys());
    }
    if marks.is_ephemeral() {
        return Some(problems::ephemeral_keys());
    }
    match kind {
        Kind::Null(_) => Some(problems::null_keys()),
        Kind::Map(_) | Kind::Object(_) => None,
        // The type of the elements counts even if there are no elements.
        Kind::Set(set) if !matches!(set.element_type(), Type::String | Type::Dynamic) => {
            Some(problems::keys_of_other_kind())
        }
        // The set is accepted even if elements are unknown, because these may become keys.
        Kind::Set(set) => match set.items().iter().all(may_be_key) {
            true => None,
            false => Some(problems::keys_of_other_kind()),
        },
        Kind::Unknown(unknown) => match &unknown.ty {
            Type::Dynamic | Type::Map(_) | Type::Object(_) => None,
            Type::Set(element) if matches!(**element, Type::String | Type::Dynamic) => None,
            other => Some(problems::keys_of_other_type(&other.friendly_name())),
        },
        _ => Some(problems::keys_of_other_type(&value.ty().friendly_name())),
    }
}

/// Warns about resources and module calls that repeat over the same expression as the provider that they use. Removing
/// a key would also remove the provider instance that must destroy the objects.
pub(super) fn warn_of_same(module: &CompiledModule, diagnostics: &mut Vec<Diagnostic>) {
    for block in module.providers.values() {
        if let Some(expression) = &block.for_each {
            warn_of_same_as(module, block, expression, diagnostics);
        }
    }
}

fn warn_of_same_as(
    module: &CompiledModule,
    block: &ProviderBlock,
    expression: &Expression,
    diagnostics: &mut Vec<Diagnostic>,
) {
    // A literal collection is written in each block, so its keys are removed from each block separately.
    if weft_syntax::references(expression).is_empty() {
        return;
    }
    let Some(text) = compact(expression) else { return };
    let is_json = |expression: &Expression| expression.tree.syntax() == Syntax::Json;
    let is_meant = |reference: &ProviderReference| {
        reference.local_name == block.local_name && reference.alias == block.alias && reference.key.is_some()
    };
    let mut warn = |own: &Repetition, user: User| {
        let Repetition::ForEach(own) = own else { return };
        // As in OpenTofu, expressions are not compared if both are in JSON syntax.
        if !(is_json(expression) && is_json(own)) && compact(own).is_some_and(|own| own == text) {
            diagnostics.push(problems::same_for_each(user, own.range()));
        }
    };
    for resource in module.resources.values().filter(|block| block.resource.mode == ResourceMode::Managed) {
        if resource.provider.as_ref().is_some_and(is_meant) {
            warn(&resource.repetition, User::Resource);
        }
    }
    for call in module.calls.values() {
        if call.providers.iter().any(|passed| is_meant(&passed.parent)) {
            warn(&call.repetition, User::Call);
        }
    }
}

/// The text of an expression without spaces. `None` for forms of expressions that are not compared.
fn compact(expression: &Expression) -> Option<String> {
    let mut pending = vec![expression.clone()];
    while let Some(here) = pending.pop() {
        match here.kind() {
            ExprKind::Splat(_) | ExprKind::AnonymousElement | ExprKind::Error => return None,
            ExprKind::Call(call) => pending.extend(call.arguments.iter().map(|id| here.child(*id))),
            ExprKind::Parentheses { inner } | ExprKind::TemplateWrap { inner } => pending.push(here.child(*inner)),
            _ => {}
        }
    }
    let span = expression.span();
    let text = expression.tree.source().text().get(span.start as usize..span.end as usize)?;
    Some(text.chars().filter(|c| !c.is_whitespace()).collect())
}
