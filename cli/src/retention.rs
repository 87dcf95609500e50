//! How long finished runs are stored. Their plans and journals may contain secrets.

use std::time::Duration;

use weft_graph_format::diagnostic::Diagnostic;
use weft_state::RunStore;

use crate::context::{environment, unix_ms};
use crate::problems;
use crate::render::counted::counted;
use crate::view::View;

/// The default number of days: long enough to investigate a failure, but not forever.
const KEPT_DAYS: u64 = 30;
/// The variable that sets another number of days. With 0, a run is removed as soon as it has finished.
const DAYS: &str = "WEFT_KEEP_RUNS_DAYS";
/// The length of a day.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The number of days in the environment, or the default.
///
/// # Errors
/// Returns an error if the variable is not a number.
pub fn days() -> Result<u64, Diagnostic> {
    let Some(text) = environment(DAYS).filter(|text| !text.is_empty()) else { return Ok(KEPT_DAYS) };
    text.parse().map_err(|_| problems::invalid_days(DAYS, &text))
}

/// Removes finished runs that are older than the limit. Failures are only warnings, because the current run has
/// succeeded.
pub async fn prune_by_age(store: &dyn RunStore, view: &View) {
    let pruned = match days() {
        Ok(days) => prune(store, days, view).await.map(drop),
        Err(problem) => Err(problem),
    };
    if let Err(problem) = pruned {
        view.diagnostics(&[Diagnostic::warning(problem.summary, problem.detail)]);
    }
}

/// Removes finished runs that began more than this number of days ago, and reports their number. The state is not
/// changed.
///
/// # Errors
/// Returns an error if the store fails.
pub async fn prune(store: &dyn RunStore, days: u64, view: &View) -> Result<usize, Diagnostic> {
    let kept = u64::try_from(DAY.as_millis()).unwrap_or_default().saturating_mul(days);
    let removed = store.prune(unix_ms().saturating_sub(kept)).await.map_err(|error| crate::store::problem(&error))?;
    match removed.len() {
        0 => {}
        1 => view.aside(&format!("One finished run older than {} was removed.", counted(days, "day"))),
        many => view.aside(&format!("{many} finished runs older than {} were removed.", counted(days, "day"))),
    }
    Ok(removed.len())
}
