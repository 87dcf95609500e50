//! Lines about the workers that get the operations of a run.

use std::collections::{BTreeMap, BTreeSet};

use super::{Progress, ShownEvent};
use crate::render::events;

/// The maximum number of label sets in a message.
const SETS_LISTED: usize = 10;

/// What has been printed. Each line is printed once.
#[derive(Default)]
pub(super) struct PlacementLines {
    /// Whether the lack of a suitable worker has been reported.
    waiting: bool,
    /// The provider instances that moved to another worker, with the worker that could not open them.
    moved: BTreeSet<(String, String)>,
}

impl Progress<'_> {
    /// Handles an operation that a worker gave back. If the worker could not open the provider, the user sees why
    /// another worker gets the operation.
    pub(super) fn returned(&mut self, happening: &ShownEvent) {
        self.underway.operations.remove(&happening.operation);
        let Some(error) = happening.diagnostics.iter().find(|problem| problem.is_error()) else { return };
        let moved = (happening.provider_instance.clone(), happening.worker.clone());
        if self.lines.placed.moved.insert(moved) {
            self.aside(&moves(happening, &error.summary));
        }
    }

    /// Reports an operation without a suitable worker.
    pub(super) fn waits(&mut self, happening: &ShownEvent) {
        if std::mem::replace(&mut self.lines.placed.waiting, true) {
            return;
        }
        let wanted = self.known.wanted_by(&happening.provider_instance);
        let with = if wanted.is_empty() { String::new() } else { format!(" with the labels {wanted}") };
        self.aside(&format!(
            "Waiting for a worker{with} that may carry out {} ({}).",
            happening.address, happening.provider_instance
        ));
    }

    /// Reports that no worker is connected, and which labels the run needs.
    pub(super) fn has_no_worker(&mut self, happening: &ShownEvent) {
        self.aside(&no_worker(&happening.address, &self.known.labels));
    }

    /// Prints a line that does not belong to the progress of an operation.
    fn aside(&self, text: &str) {
        self.view.event(events::log(text));
        self.view.aside(text);
    }
}

/// The message when a worker could not open a provider, for this reason.
fn moves(happening: &ShownEvent, reason: &str) -> String {
    let ShownEvent { worker, provider_instance, .. } = happening;
    format!("Worker {worker} cannot open {provider_instance} ({reason}), so another worker takes over.")
}

/// The message when no worker is connected. `labels` are the required labels by provider instance.
fn no_worker(address: &str, labels: &BTreeMap<String, String>) -> String {
    let sets: BTreeSet<&str> = labels.values().map(String::as_str).collect();
    let mut listed: Vec<&str> = sets.iter().take(SETS_LISTED).copied().collect();
    if sets.len() > SETS_LISTED {
        listed.push("...");
    }
    let wanted = match listed.as_slice() {
        [] => "Start any worker: weft worker".to_owned(),
        sets => format!("The plan needs workers with these labels: {}", sets.join("; ")),
    };
    format!("No worker is connected, so nothing happens yet. {address} waits. {wanted}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lack_of_workers_names_the_labels_that_are_wanted() {
        assert_eq!(
            no_worker("a.b", &BTreeMap::new()),
            "No worker is connected, so nothing happens yet. a.b waits. Start any worker: weft worker"
        );
        let labels = [("p[\"eu\"]", "region=eu"), ("p[\"us\"]", "region=us"), ("q[\"eu\"]", "region=eu")];
        let labels = labels.map(|(instance, labels)| (instance.to_owned(), labels.to_owned())).into();
        assert_eq!(
            no_worker("a.b", &labels),
            "No worker is connected, so nothing happens yet. a.b waits. The plan needs workers with these labels: \
             region=eu; region=us"
        );
    }
}
