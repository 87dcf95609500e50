//! An experiment: references to providers as values, such as `provider.aws.by_region` in expressions, and `provider =
//! var.regions[each.key]` in resources.

use smol_str::SmolStr;
use weft_graph_format::address::ResourceMode;
use weft_syntax::{ExprKind, Expression, Syntax};

use super::CompiledModule;
use super::compiling::Compiling;
use crate::reference::{Reference, Referent};

/// The first name of references to provider configurations.
const ROOT: &str = "provider";

/// If a reference in a `provider` argument begins with one of these names, the argument is an expression. Otherwise,
/// the reference begins with the local name of a provider.
const VALUES: [&str; 9] = ["var", "local", "module", "each", "data", "count", "path", "terraform", ROOT];

impl Compiling<'_> {
    /// The `provider` argument of a resource, if the argument counts as an expression and the experiment
    /// `provider_values` is active. A reference counts as an expression only if it begins with a name in [`VALUES`].
    /// Anything other than a reference counts as an expression, except for a quoted reference in the native syntax.
    pub(super) fn provider_value(&self, expression: &Expression) -> Option<Expression> {
        if !self.module.settings.experiments.provider_values {
            return None;
        }
        // In the native syntax, a quoted reference is an old notation and not an expression.
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

/// The first name of a reference, which may have computed keys.
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
    /// The local name and alias in a reference to a provider configuration. With the experiment `provider_values`, a
    /// resource of the type `provider` must be written as `resource.provider`.
    pub(crate) fn provider_named(&self, reference: &Reference) -> Option<(SmolStr, Option<SmolStr>)> {
        let Referent::Resource(resource) = &reference.subject else { return None };
        let named = self.settings.experiments.provider_values
            && reference.steps == 1
            && resource.mode == ResourceMode::Managed
            && resource.type_name == ROOT;
        let alias = reference.attribute.clone().filter(|_| reference.key.is_none());
        named.then(|| (resource.name.clone(), alias))
    }
}
