//! The properties of the kinds of plans, as plain data. `kind` has their behaviour.

use crate::inputs::PlanKind;

/// What a plan shows as drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drift {
    /// Nothing.
    Nothing,
    /// Objects that differ from the state.
    Differences,
    /// Objects that differ from the state, and objects that only moved. For plans that show no changes of resources.
    DifferencesAndMoves,
}

/// The properties of a kind of plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Whether the configuration is validated first.
    pub(crate) validates: bool,
    /// Whether `-replace` is accepted.
    pub(crate) replaces: bool,
    /// Whether nothing is evaluated if the state has no objects and no outputs.
    pub(crate) needs_state: bool,
    /// Whether apply creates objects. If so, unknown values become known at apply, and apply computes named values and
    /// reads data sources.
    pub(crate) makes_objects: bool,
    /// Whether the plan removes data sources and outputs from the state, and deletes even objects that a `removed`
    /// block would forget.
    pub(crate) empties_state: bool,
    /// Whether a plan is shown only if it has no errors. A plan that evaluates only the providers of objects is always
    /// shown.
    pub(crate) needs_success: bool,
    /// Whether warnings of evaluation are reported.
    pub(crate) reports_warnings: bool,
    /// Whether unwanted objects are planned.
    pub(crate) plans_orphans: bool,
    /// Whether unwanted objects are planned even after evaluation failed.
    pub(crate) plans_orphans_after_failure: bool,
    /// Whether a partial plan covers the objects in `Facts::going`, which follow from the selection and the
    /// dependencies in the state. Otherwise, it covers the objects that the selection names.
    pub(crate) covers_what_goes: bool,
    /// Whether data sources and ephemeral objects are read before objects are deleted. If so, data sources and
    /// ephemeral objects wait only for resources that the normal plan would change.
    pub(crate) reads_first: bool,
    /// Whether a plan with a refresh starts from the refreshed objects instead of the state, and destroys the refreshed
    /// objects.
    pub(crate) begins_with_found: bool,
    /// The drift that the plan shows.
    pub(crate) drift: Drift,
    /// Whether apply evaluates conditions again even if their results are known. If so, apply also repeats the warnings
    /// of the plan about assertions of check blocks with unknown results.
    pub(crate) looks_again: bool,
    /// Whether the plan lists the attributes that it depends on.
    pub(crate) rests_on_attributes: bool,
}

/// The rules of the normal plan.
const NORMAL: Rules = Rules {
    validates: true,
    replaces: true,
    needs_state: false,
    makes_objects: true,
    empties_state: false,
    needs_success: false,
    reports_warnings: true,
    plans_orphans: true,
    plans_orphans_after_failure: true,
    covers_what_goes: false,
    reads_first: false,
    begins_with_found: false,
    drift: Drift::Differences,
    looks_again: false,
    rests_on_attributes: true,
};

/// The rules of destroy plans. Such a plan evaluates and reads everything before it decides what to destroy. The
/// validation before the plan has already reported warnings about the configuration, so this evaluation does not report
/// them again.
const DESTROY: Rules = Rules {
    replaces: false,
    needs_state: true,
    makes_objects: false,
    empties_state: true,
    needs_success: true,
    reports_warnings: false,
    plans_orphans_after_failure: false,
    covers_what_goes: true,
    reads_first: true,
    begins_with_found: true,
    drift: Drift::Nothing,
    ..NORMAL
};

/// The rules of refresh-only plans.
const REFRESH_ONLY: Rules =
    Rules { replaces: false, makes_objects: false, drift: Drift::DifferencesAndMoves, looks_again: true, ..NORMAL };

/// The rules of import plans. The configuration may be unfinished, apart from the imported resources. So an import plan
/// does not list the attributes that the plan depends on.
const IMPORT: Rules = Rules {
    validates: false,
    plans_orphans: false,
    drift: Drift::Differences,
    rests_on_attributes: false,
    ..REFRESH_ONLY
};

impl Rules {
    /// The rules of a kind of plan.
    pub(crate) fn of(kind: PlanKind) -> Rules {
        match kind {
            PlanKind::Normal => NORMAL,
            PlanKind::Destroy => DESTROY,
            PlanKind::RefreshOnly => REFRESH_ONLY,
            PlanKind::Import => IMPORT,
        }
    }
}
