//! References to providers as values, in modules that ask for them: `provider.aws.by_region` in expressions, and
//! `provider = var.regions[each.key]` in resources.

use smol_str::SmolStr;
use weft_graph_format::address::ResourceMode;
use weft_syntax::{ExprKind, Expression, Syntax};

use super::CompiledModule;
use super::compile::Compiling;
use crate::reference::{Reference, Subject};

/// What references to provider configurations begin with.
const ROOT: &str = "provider";

/// What a `provider` argument begins with when it is a value. Any other name there is the local name of a provider.
const VALUES: [&str; 9] = ["var", "local", "module", "each", "data", "count", "path", "terraform", ROOT];

impl Compiling<'_> {
    /// The `provider` argument of a resource where it is an expression, and not the name of a configuration. That is
    /// seen from its form alone: a plain reference with a known root, or no plain reference at all.
    pub(super) fn provider_value(&self, expression: &Expression) -> Option<Expression> {
        if !self.module.settings.experiments.provider_values {
            return None;
        }
        // Names in quotes are an old form of the native syntax.
        if expression.tree.syntax() == Syntax::Native && expression.as_string_literal().is_some() {
            return None;
        }
        let expression = expression.unquoted().ok()?;
        match root_of(&expression) {
            Some(root) => VALUES.contains(&root.as_str()).then_some(expression),
            None => Some(expression),
        }
    }
}

/// The first name of a reference, perhaps with computed keys behind it.
fn root_of(expression: &Expression) -> Option<SmolStr> {
    let mut here = expression.clone();
    loop {
        if let Some(traversal) = here.as_traversal() {
            return Some(traversal.root.text);
        }
        let next = match here.kind() {
            ExprKind::RelativeTraversal { source, .. } => *source,
            ExprKind::Index { collection, .. } => *collection,
            _ => return None,
        };
        here = here.child(next);
    }
}

impl CompiledModule {
    /// The provider configuration that a reference names here: local name and alias. A resource type of the name
    /// `provider` is `resource.provider` in modules that ask for provider values.
    pub(crate) fn provider_named(&self, reference: &Reference) -> Option<(SmolStr, Option<SmolStr>)> {
        let Subject::Resource(resource) = &reference.subject else { return None };
        let named = self.settings.experiments.provider_values
            && reference.steps == 1
            && resource.mode == ResourceMode::Managed
            && resource.type_name == ROOT;
        let alias = reference.attribute.clone().filter(|_| reference.key.is_none());
        named.then(|| (resource.name.clone(), alias))
    }
}
