//! The diagnostics of a plan.

use parking_lot::{Mutex, MutexGuard};
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};

/// Diagnostics by their source.
#[derive(Default)]
pub(crate) struct Report {
    said: Mutex<CollectedDiagnostics>,
}

#[derive(Default)]
struct CollectedDiagnostics {
    /// Diagnostics about the configuration and its objects.
    all: Vec<Diagnostic>,
    /// Diagnostics of evaluation, until the kind of plan decides which of these are kept.
    by_evaluation: Vec<Diagnostic>,
    /// Warnings about this plan, not about the configuration.
    remarks: Vec<Diagnostic>,
    /// Warnings about moves that other objects block.
    moves: Vec<Diagnostic>,
    /// Refused changes, with the reasons.
    refused: Vec<(ResourceInstance, Diagnostic)>,
}

impl Report {
    fn said(&self) -> MutexGuard<'_, CollectedDiagnostics> {
        self.said.lock()
    }

    /// Adds diagnostics.
    pub(crate) fn add(&self, problems: Vec<Diagnostic>) {
        if !problems.is_empty() {
            self.said().all.extend(problems);
        }
    }

    /// Adds warnings. Returns all diagnostics as an error if one of them is an error.
    pub(crate) fn accept(&self, said: Vec<Diagnostic>) -> Result<(), Vec<Diagnostic>> {
        if has_errors(&said) {
            return Err(said);
        }
        self.add(said);
        Ok(())
    }

    /// Like `accept`, for diagnostics of a provider about the configuration of a resource, or about an object of the
    /// prior state. These diagnostics count as diagnostics of evaluation.
    pub(crate) fn accept_evaluated(&self, said: Vec<Diagnostic>) -> Result<(), Vec<Diagnostic>> {
        if has_errors(&said) {
            return Err(said);
        }
        if !said.is_empty() {
            self.said().by_evaluation.extend(said);
        }
        Ok(())
    }

    /// Adds a diagnostic of evaluation.
    pub(crate) fn evaluated(&self, diagnostic: Diagnostic) {
        self.said().by_evaluation.push(diagnostic);
    }

    /// The number of diagnostics of evaluation since they were last kept.
    pub(crate) fn length(&self) -> usize {
        self.said().by_evaluation.len()
    }

    /// Removes the diagnostics of evaluation after the first `kept`.
    pub(crate) fn forget_evaluated(&self, kept: usize) {
        self.said().by_evaluation.truncate(kept);
    }

    /// Keeps the diagnostics of evaluation so far, without warnings if `errors_only`.
    pub(crate) fn keep_evaluated(&self, errors_only: bool) {
        let mut said = self.said();
        let found = std::mem::take(&mut said.by_evaluation);
        said.all.extend(found.into_iter().filter(|problem| problem.is_error() || !errors_only));
    }

    /// Adds a warning about this plan.
    pub(crate) fn remark(&self, warning: Diagnostic) {
        self.said().remarks.push(warning);
    }

    /// Adds warnings about moves that other objects block.
    pub(crate) fn blocked_moves(&self, warnings: Vec<Diagnostic>) {
        self.said().moves.extend(warnings);
    }

    /// Refuses a change.
    pub(crate) fn refuse(&self, address: &ResourceInstance, problem: Diagnostic) {
        self.said().refused.push((address.clone(), problem));
    }

    /// Whether the change of this instance is refused.
    pub(crate) fn refuses(&self, address: &ResourceInstance) -> bool {
        self.said().refused.iter().any(|(refused, _)| refused == address)
    }

    /// Whether there is an error, apart from refused changes.
    pub(crate) fn has_errors(&self) -> bool {
        let said = self.said();
        has_errors(&said.all) || has_errors(&said.by_evaluation)
    }

    /// Replaces everything that was reported, apart from remarks.
    pub(crate) fn replace(&self, problems: Vec<Diagnostic>) {
        let mut said = self.said();
        (said.all, said.by_evaluation, said.moves) = (problems, Vec::new(), Vec::new());
    }

    /// Takes the refused changes.
    pub(crate) fn take_refused(&self) -> Vec<(ResourceInstance, Diagnostic)> {
        std::mem::take(&mut self.said().refused)
    }

    /// Takes all diagnostics: those about the configuration, and the remarks.
    pub(crate) fn take(&self) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        self.keep_evaluated(false);
        let said = std::mem::take(&mut *self.said());
        let mut remarks = said.remarks;
        remarks.extend(said.moves);
        remarks.extend(said.refused.into_iter().map(|(_, problem)| problem));
        (said.all, remarks)
    }
}

/// Sorts diagnostics by source range, with a stable sort, and removes duplicates.
pub(crate) fn sort(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|a, b| {
        (a.is_error(), &a.subject, &a.address, &a.summary).cmp(&(b.is_error(), &b.subject, &b.address, &b.summary))
    });
    diagnostics.dedup();
}
