//! The purpose of an evaluation, and everything that depends on it.
//!
//! Each method answers one question. Code whose behavior depends on the purpose calls the method for its question, so
//! this file lists all differences.

/// The kind of a plan, as far as evaluation depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planning {
    /// Changes objects to match the configuration.
    Normal,
    /// Destroys objects.
    Destroy,
    /// Updates the state to match the real objects, and changes nothing else.
    RefreshOnly,
    /// Only imports objects.
    Import,
}

/// The purpose of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Validates the configuration for all values of its variables. Repetitions are not expanded.
    Validate,
    /// Plans.
    Plan(Planning),
    /// Answers questions about the current state: objects come from state, variables without a value are unknown, and
    /// impure functions run.
    Inspect {
        /// Whether the state is complete. If so, a resource with repetition but without stored objects has no
        /// instances. Otherwise, the instances of such a resource are unknown, because the resource is possibly not yet
        /// applied.
        settled: bool,
    },
}

/// Questions about the configuration as a whole.
impl Purpose {
    /// Whether the references of the whole configuration are checked before evaluation. The check reports each problem
    /// of a reference, with its source range, so evaluation does not report the problem again. Planning does not check
    /// the references, because it relies on an earlier validation.
    pub(crate) fn checks_references(self) -> bool {
        self.is_validation()
    }

    /// Whether a called module may be checked without its caller. If so, providers that the caller must pass are
    /// accepted without a configuration.
    pub(crate) fn accepts_modules_alone(self) -> bool {
        self.is_validation()
    }

    /// Whether `removed` blocks for objects that are still declared are reported.
    pub(crate) fn reports_statements(self) -> bool {
        matches!(self, Purpose::Plan(_))
    }

    /// Whether objects are imported by `import` blocks.
    pub(crate) fn imports(self) -> bool {
        !matches!(self, Purpose::Plan(Planning::Destroy | Planning::RefreshOnly))
    }

    /// Whether resources without instances are reported, so that the state lists them.
    pub(crate) fn lists_bare(self) -> bool {
        matches!(self, Purpose::Plan(Planning::Import))
    }

    /// Whether an `import` block without a resource block prevents the evaluation.
    pub(crate) fn needs_import_targets(self) -> bool {
        matches!(self, Purpose::Plan(_)) && self.imports()
    }
}

/// Questions about values.
impl Purpose {
    /// Whether values come from a plan or from the state. Otherwise, an unknown value stands for all values that are
    /// possible in its place, and unknown values are not reported.
    pub(crate) fn has_values(self) -> bool {
        !self.is_validation()
    }

    /// Whether a root variable without a value is an error.
    pub(crate) fn needs_variables(self) -> bool {
        matches!(self, Purpose::Plan(_))
    }

    /// Whether `count`, `for_each` and `enabled` are expanded. Otherwise, one instance stands for all.
    pub(crate) fn repeats(self) -> bool {
        !self.is_validation()
    }

    /// Whether `terraform.applying` and other attributes of `terraform` are unknown.
    pub(crate) fn hides_terraform(self) -> bool {
        !matches!(self, Purpose::Plan(_))
    }

    /// Whether impure functions run now instead of at apply.
    pub(crate) fn runs_impure_functions(self) -> bool {
        matches!(self, Purpose::Inspect { .. })
    }

    /// Whether a failed value is unknown for its readers. Otherwise, the evaluation of the readers fails too.
    pub(crate) fn tolerates_failures(self) -> bool {
        matches!(self, Purpose::Inspect { .. })
    }

    /// Whether the origins of deprecated values are tracked.
    pub(crate) fn tracks_deprecations(self) -> bool {
        !self.is_validation()
    }
}

/// Questions about objects and conditions.
impl Purpose {
    /// Whether objects come from state, and nothing is planned.
    pub(crate) fn reads_state(self) -> bool {
        matches!(self, Purpose::Inspect { .. })
    }

    /// Whether the state has all objects of the configuration that are not planned. A plan reads the objects outside
    /// its selection from the state.
    pub(crate) fn has_whole_state(self) -> bool {
        matches!(self, Purpose::Inspect { settled: true } | Purpose::Plan(_))
    }

    /// Whether a block waits for everything that it refers to, even for targets that its value does not need.
    pub(crate) fn waits_for_references(self) -> bool {
        !self.is_validation()
    }

    /// Whether the value of a resource with `count` or `for_each` is unknown if it has instances, but none of them is
    /// planned. An import plan contains only the instances that it imports.
    pub(crate) fn hides_unplanned_resources(self) -> bool {
        self == Purpose::Plan(Planning::Import)
    }

    /// Whether arguments of managed resources are evaluated. If managed resources do not change, their arguments are
    /// not needed.
    pub(crate) fn evaluates_arguments(self) -> bool {
        !matches!(self, Purpose::Plan(Planning::RefreshOnly | Planning::Import))
    }

    /// Whether provisioners are planned. Validation checks them instead.
    pub(crate) fn plans_provisioners(self) -> bool {
        !self.is_validation()
    }

    /// Whether conditions are decided and their results recorded. Validation only reports conditions that fail for all
    /// values.
    pub(crate) fn decides_conditions(self) -> bool {
        !self.is_validation()
    }

    /// Whether failed conditions of resources and outputs are warnings, because the plan makes no changes that these
    /// conditions could prevent.
    pub(crate) fn warns_of_failed_conditions(self) -> bool {
        matches!(self, Purpose::Plan(Planning::Destroy | Planning::RefreshOnly | Planning::Import))
    }

    fn is_validation(self) -> bool {
        self == Purpose::Validate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each question, with the purposes for which the answer is yes.
    #[test]
    fn purposes_differ_in_these_ways() {
        let all = [
            ("validate", Purpose::Validate),
            ("normal", Purpose::Plan(Planning::Normal)),
            ("destroy", Purpose::Plan(Planning::Destroy)),
            ("refresh", Purpose::Plan(Planning::RefreshOnly)),
            ("import", Purpose::Plan(Planning::Import)),
            ("inspect", Purpose::Inspect { settled: false }),
            ("settled", Purpose::Inspect { settled: true }),
        ];
        let (plans, not_validate) = ("normal destroy refresh import", "normal destroy refresh import inspect settled");
        for (question, want) in [
            (Purpose::checks_references as fn(Purpose) -> bool, "validate"),
            (Purpose::reports_statements, plans),
            (Purpose::imports, "validate normal import inspect settled"),
            (Purpose::needs_import_targets, "normal import"),
            (Purpose::has_values, not_validate),
            (Purpose::needs_variables, plans),
            (Purpose::repeats, not_validate),
            (Purpose::hides_terraform, "validate inspect settled"),
            (Purpose::runs_impure_functions, "inspect settled"),
            (Purpose::reads_state, "inspect settled"),
            (Purpose::has_whole_state, "normal destroy refresh import settled"),
            (Purpose::hides_unplanned_resources, "import"),
            (Purpose::evaluates_arguments, "validate normal destroy inspect settled"),
            (Purpose::decides_conditions, not_validate),
            (Purpose::warns_of_failed_conditions, "destroy refresh import"),
        ] {
            let yes: Vec<&str> = all.iter().filter(|(_, purpose)| question(*purpose)).map(|(name, _)| *name).collect();
            assert_eq!(yes.join(" "), want);
        }
    }
}
