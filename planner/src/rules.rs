//! The properties of the kinds of plans, as plain data. How a kind plans an instance is in `kind`.

use crate::inputs::PlanKind;

/// What a plan shows as drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drift {
    /// Nothing.
    Nothing,
    /// Objects that differ from the state.
    Differences,
    /// Also objects that only moved, because the plan shows no changes of resources.
    DifferencesAndMoves,
}

/// The properties of a kind of plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Validates the configuration first.
    pub(crate) validates: bool,
    /// Accepts `-replace`.
    pub(crate) replaces: bool,
    /// Evaluates nothing if state has no objects and no outputs.
    pub(crate) needs_state: bool,
    /// Apply creates objects, so unknown values become known: it computes named values and reads data sources.
    pub(crate) makes_objects: bool,
    /// Removes data sources and outputs from state, and deletes also what a `removed` block would forget.
    pub(crate) empties_state: bool,
    /// Makes no plan after errors, not even one to show, if it refreshes.
    pub(crate) needs_success: bool,
    /// Warnings of evaluation are reported.
    pub(crate) reports_warnings: bool,
    /// Plans unwanted objects.
    pub(crate) plans_orphans: bool,
    /// Plans unwanted objects even after evaluation failed.
    pub(crate) plans_orphans_after_failure: bool,
    /// Covers the objects that go, and not those that the selection names. See `Facts::going`.
    pub(crate) covers_what_goes: bool,
    /// Data sources and ephemeral objects are read before objects are deleted, so they wait only for objects that
    /// would have to be created.
    pub(crate) reads_first: bool,
    /// Objects are destroyed as they were read. With a refresh, the plan starts from what was read.
    pub(crate) begins_with_found: bool,
    /// What it shows as drift.
    pub(crate) drift: Drift,
    /// Apply evaluates conditions again even if their results are known, and repeats the messages of unknown ones.
    pub(crate) looks_again: bool,
    /// Lists the attributes that the plan depends on.
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

/// The rules of destroy plans. Such a plan reads everything before it decides. Evaluation repeats that, so its warnings
/// about the configuration are not reported.
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

/// The rules of imports. The rest of the configuration may be unfinished, so such a plan depends on no attributes.
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
