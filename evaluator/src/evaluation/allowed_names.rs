//! The names that need no declaration, such as `each.key` and `path.module`, and where they are valid.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use super::problems::references as problems;
use super::scope::out_of_scope;
use crate::config::{Repetition, ResourceBlock};
use crate::reference::{Reference, Referent};

/// The names of instances that are valid at a place.
#[derive(Clone, Copy)]
pub(super) struct AllowedNames {
    pub(super) count: bool,
    pub(super) each: bool,
    pub(super) self_object: bool,
}

impl AllowedNames {
    pub(super) const NONE: AllowedNames = AllowedNames { count: false, each: false, self_object: false };
    pub(super) const ALL: AllowedNames = AllowedNames { count: true, each: true, self_object: true };

    /// The names that are valid at the place of a reference in a resource block. `has_self` are the ranges in which
    /// `self` is valid.
    pub(super) fn of_resource(
        resource: &ResourceBlock,
        reference: &Reference,
        has_self: &[SourceRange],
    ) -> AllowedNames {
        let is_within = |range: &SourceRange| range.holds(&reference.range);
        if resource.provider.as_ref().is_some_and(|provider| is_within(&provider.range)) {
            // The key of a provider is checked when it is evaluated.
            return AllowedNames::ALL;
        }
        // `count` and `for_each` are evaluated before there are instances.
        let of_instance = !resource.repetition.expression().is_some_and(|repetition| is_within(&repetition.range()));
        AllowedNames {
            count: of_instance && resource.repetition.is_count(),
            each: of_instance && matches!(resource.repetition, Repetition::ForEach(_)),
            self_object: has_self.iter().any(is_within),
        }
    }

    /// The problem of a name that has no value at its place, or that does not exist.
    pub(super) fn problem_of(self, reference: &Reference) -> Option<Diagnostic> {
        match &reference.subject {
            Referent::CountIndex if !self.count => Some(out_of_scope(reference)),
            Referent::EachKey | Referent::EachValue if !self.each => Some(out_of_scope(reference)),
            Referent::SelfObject if !self.self_object => Some(out_of_scope(reference)),
            Referent::Path(name) if !matches!(name.as_str(), "module" | "root" | "cwd") => {
                Some(problems::no_path_attribute(name, &reference.range))
            }
            Referent::Terraform(root, name) if !matches!(name.as_str(), "workspace" | "applying") => {
                Some(problems::no_terraform_attribute(root, name, &reference.range))
            }
            _ => None,
        }
    }
}
