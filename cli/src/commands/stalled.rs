//! Runs that have stopped before their end, and that no process carries out.

use weft_coordinator::listing::stalled;
use weft_state::{RunHeader, RunStatus, Snapshot};

use crate::view::View;

/// Whether a run waits for the user.
pub fn stands_still(header: &RunHeader) -> bool {
    matches!(header.status, RunStatus::Stopped | RunStatus::InDoubt)
}

/// Reports such runs, with the two ways to continue.
pub fn report_stalled(view: &View, headers: &[RunHeader], snapshot: &Snapshot) {
    for header in headers.iter().filter(|header| stands_still(header)) {
        let of_run: Vec<_> = snapshot.doubts.values().filter(|doubt| doubt.run == header.id).cloned().collect();
        view.aside(&stalled(header, &of_run));
    }
}
