//! How long finished runs are kept: their plans and journals may hold secrets.

use std::time::Duration;

use weft_graph_format::diagnostic::Diagnostic;
use weft_state::RunStore;

use crate::context::{environment, unix_ms};
use crate::view::View;

/// Days for which a finished run is kept: long enough to look into what went wrong, and not for good.
const KEPT_DAYS: u64 = 30;
/// Sets another number of days; 0 keeps nothing of a finished run.
const DAYS: &str = "WEFT_KEEP_RUNS_DAYS";
/// A day.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The days that the environment gives, or the usual ones.
///
/// # Errors
/// When the environment has something else than a number.
pub fn days() -> Result<u64, Diagnostic> {
    let Some(text) = environment(DAYS).filter(|text| !text.is_empty()) else { return Ok(KEPT_DAYS) };
    text.parse().map_err(|_| {
        Diagnostic::error(
            "Invalid number of days",
            format!("{DAYS} is {text:?}. Give the days for which finished runs are kept, for example 30."),
        )
    })
}

/// Removes what is older than the days that are set. What goes wrong with that is a warning: the run has ended well.
pub async fn prune_by_age(store: &dyn RunStore, view: &View) {
    let pruned = match days() {
        Ok(days) => prune(store, days, view).await.map(drop),
        Err(problem) => Err(problem),
    };
    if let Err(problem) = pruned {
        view.diagnostics(&[Diagnostic::warning(problem.summary, problem.detail)]);
    }
}

/// Removes finished runs that began more than this many days ago, and says how many. The state is not touched.
///
/// # Errors
/// When the store does not answer.
pub async fn prune(store: &dyn RunStore, days: u64, view: &View) -> Result<usize, Diagnostic> {
    let kept = u64::try_from(DAY.as_millis()).unwrap_or_default().saturating_mul(days);
    let removed = store.prune(unix_ms().saturating_sub(kept)).await.map_err(|error| crate::store::problem(&error))?;
    match removed.len() {
        0 => {}
        1 => view.aside(&format!("One finished run older than {days} days was removed.")),
        many => view.aside(&format!("{many} finished runs older than {days} days were removed.")),
    }
    Ok(removed.len())
}
