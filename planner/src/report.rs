//! What there is to say about a plan.

use parking_lot::{Mutex, MutexGuard};
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};

/// Diagnostics of one planning, by where they come from.
#[derive(Default)]
pub(crate) struct Report {
    said: Mutex<Said>,
}

#[derive(Default)]
struct Said {
    /// About the configuration and its objects.
    all: Vec<Diagnostic>,
    /// What evaluation says, until its kind of plan decides what of it is kept.
    by_evaluation: Vec<Diagnostic>,
    /// Warnings about this plan alone, not about the configuration.
    remarks: Vec<Diagnostic>,
    /// Changes that were planned and must not be carried out.
    refused: Vec<(ResourceInstance, Diagnostic)>,
}

impl Report {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock()
    }

    /// Takes diagnostics.
    pub(crate) fn add(&self, problems: Vec<Diagnostic>) {
        if !problems.is_empty() {
            self.said().all.extend(problems);
        }
    }

    /// Reports what is not an error, and fails with all when something is.
    pub(crate) fn accept(&self, said: Vec<Diagnostic>) -> Result<(), Vec<Diagnostic>> {
        if has_errors(&said) {
            return Err(said);
        }
        self.add(said);
        Ok(())
    }

    /// Takes what evaluation says.
    pub(crate) fn evaluated(&self, diagnostic: Diagnostic) {
        self.said().by_evaluation.push(diagnostic);
    }

    /// Keeps what evaluation said so far, without its warnings where `errors_only`.
    pub(crate) fn keep_evaluated(&self, errors_only: bool) {
        let mut said = self.said();
        let found = std::mem::take(&mut said.by_evaluation);
        said.all.extend(found.into_iter().filter(|problem| problem.is_error() || !errors_only));
    }

    /// Takes a warning about this plan alone.
    pub(crate) fn remark(&self, warning: Diagnostic) {
        self.said().remarks.push(warning);
    }

    /// Takes a change that must not be carried out, and why.
    pub(crate) fn refuse(&self, address: &ResourceInstance, problem: Diagnostic) {
        self.said().refused.push((address.clone(), problem));
    }

    /// Whether a change of this instance must not be carried out.
    pub(crate) fn refuses(&self, address: &ResourceInstance) -> bool {
        self.said().refused.iter().any(|(refused, _)| refused == address)
    }

    /// Whether anything is an error, refused changes aside.
    pub(crate) fn has_errors(&self) -> bool {
        let said = self.said();
        has_errors(&said.all) || has_errors(&said.by_evaluation)
    }

    /// Puts other problems in the place of all that were reported.
    pub(crate) fn replace(&self, problems: Vec<Diagnostic>) {
        let mut said = self.said();
        (said.all, said.by_evaluation) = (problems, Vec::new());
    }

    /// The changes that must not be carried out, taken out.
    pub(crate) fn take_refused(&self) -> Vec<(ResourceInstance, Diagnostic)> {
        std::mem::take(&mut self.said().refused)
    }

    /// Everything that was reported, taken out: what is about the configuration, and the remarks.
    pub(crate) fn take(&self) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        self.keep_evaluated(false);
        let said = std::mem::take(&mut *self.said());
        let mut remarks = said.remarks;
        remarks.extend(said.refused.into_iter().map(|(_, problem)| problem));
        (said.all, remarks)
    }
}

/// By place, then as they came; equal ones once.
pub(crate) fn sort(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|a, b| {
        (a.is_error(), &a.subject, &a.address, &a.summary).cmp(&(b.is_error(), &b.subject, &b.address, &b.summary))
    });
    diagnostics.dedup();
}
