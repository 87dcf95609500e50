//! The metrics of a coordinator.

use std::collections::BTreeMap;
use std::time::SystemTime;

use weft_coordinator::figures::{Figures, MOST_NAMES, RunFigures};
use weft_coordinator::fleet::WorkerListing;
use weft_state::RunStatus;

use super::{Kind, Metrics};

/// All statuses of runs, so that each of them has a value from the beginning.
const RUN_STATUSES: [RunStatus; 5] =
    [RunStatus::Running, RunStatus::Stopped, RunStatus::Done, RunStatus::Failed, RunStatus::InDoubt];
/// The statuses of workers, as in `weft workers list`.
const WORKER_STATUSES: [&str; 3] = ["ready", "draining", "leaving"];

/// The metrics of a coordinator. `expires` is the expiry of its own certificate.
pub fn coordinator_metrics(figures: &Figures, expires: Option<SystemTime>) -> String {
    let mut metrics = Metrics::default();
    metrics.build();
    runs(&mut metrics, figures);
    operations(&mut metrics, &figures.active);
    workers(&mut metrics, &figures.workers);
    let counted = &figures.counted;
    let help = "From the moment when an operation could start to its dispatch to a worker.";
    metrics.histogram("weft_dispatch_seconds", help, &counted.dispatch);
    let help = "From sending a batch of steps to the durable response of the store.";
    metrics.histogram("weft_store_write_seconds", help, &counted.store);
    let renewals = "weft_lease_renewals_total";
    metrics.begin(renewals, Kind::Counter, "Renewals of the leases of runs, by result.");
    metrics.sample(renewals, &[("result", "ok")], counted.renewals);
    metrics.sample(renewals, &[("result", "failed")], counted.failed_renewals);
    let help = "Connections and requests that were refused, by reason.";
    metrics.named("weft_refused_connections_total", Kind::Counter, help, "reason", &counted.refused);
    budgets(&mut metrics, figures);
    metrics.certificate(expires);
    metrics.into_text()
}

fn runs(metrics: &mut Metrics, figures: &Figures) {
    let name = "weft_runs";
    metrics.begin(name, Kind::Gauge, "Runs in the store, by status.");
    for status in RUN_STATUSES {
        let number = figures.runs.get(&status).copied().unwrap_or_default();
        metrics.sample(name, &[("status", status.word())], number);
    }
    metrics.one("weft_active_runs", Kind::Gauge, "Runs that this coordinator carries out.", figures.active_runs);
}

fn operations(metrics: &mut Metrics, active: &RunFigures) {
    let name = "weft_operations";
    metrics.begin(name, Kind::Gauge, "Operations of the active runs, by status.");
    let counts = &active.counts;
    for (status, number) in [
        ("pending", counts.pending),
        ("running", counts.running),
        ("done", counts.done),
        ("failed", counts.failed),
        ("skipped", counts.skipped),
        ("in-doubt", counts.in_doubt),
    ] {
        metrics.sample(name, &[("status", status)], number);
    }
    let name = "weft_queue_operations";
    metrics.begin(name, Kind::Gauge, "Operations between the queue and their result.");
    for (stage, number) in [("ready", active.ready), ("leased", active.leased), ("running", u64::from(counts.running))]
    {
        metrics.sample(name, &[("stage", stage)], number);
    }
    let help = "Operations that can start and do not wait for tokens, by the labels that their worker needs.";
    let name = "weft_ready_operations";
    metrics.begin(name, Kind::Gauge, help);
    for (labels, ready) in &active.ready_by_labels {
        let labels: BTreeMap<String, &str> =
            labels.iter().map(|(label, value)| (label_name(label), value.as_str())).collect();
        let labels: Vec<(&str, &str)> = labels.iter().map(|(label, value)| (label.as_str(), *value)).collect();
        metrics.sample(name, &labels, ready);
    }
}

/// The name of a placement label in a metric: `label_`, then the name with only letters, digits and underscores.
fn label_name(label: &str) -> String {
    let fits = |character: char| if character.is_ascii_alphanumeric() { character } else { '_' };
    format!("label_{}", label.chars().map(fits).collect::<String>())
}

fn workers(metrics: &mut Metrics, workers: &[WorkerListing]) {
    let mut by_status: BTreeMap<&str, u64> = WORKER_STATUSES.into_iter().map(|status| (status, 0)).collect();
    workers.iter().for_each(|worker| *by_status.entry(&worker.status).or_default() += 1);
    let name = "weft_workers";
    metrics.begin(name, Kind::Gauge, "Connected workers, by status.");
    for (status, number) in by_status {
        metrics.sample(name, &[("status", status)], number);
    }
    let shown = || workers.iter().take(MOST_NAMES);
    let name = "weft_worker_operations";
    metrics.begin(name, Kind::Gauge, "Operations at a worker.");
    shown().for_each(|worker| metrics.sample(name, &[("worker", &worker.name)], worker.tasks));
    let name = "weft_worker_capacity";
    metrics.begin(name, Kind::Gauge, "The maximum number of concurrent operations of a worker.");
    shown().for_each(|worker| metrics.sample(name, &[("worker", &worker.name)], worker.capacity));
}

fn budgets(metrics: &mut Metrics, figures: &Figures) {
    let (counted, active) = (&figures.counted, &figures.active);
    let help = "Tokens of call budgets that were used.";
    metrics.named("weft_budget_tokens_total", Kind::Counter, help, "budget", &counted.tokens);
    let help = "Tokens that are reserved for calls that are about to begin.";
    metrics.named("weft_budget_reserved_tokens", Kind::Gauge, help, "budget", &active.reserved);
    let help = "Operations that wait for tokens of a budget.";
    metrics.named("weft_budget_waiting_operations", Kind::Gauge, help, "budget", &active.waiting);
    let help = "Attempts that a provider refused for now, and that are followed by another one.";
    metrics.one("weft_refused_calls_total", Kind::Counter, help, counted.refused_calls);
    let help = "Operations that wait for their next attempt after a refusal.";
    metrics.one("weft_refused_operations", Kind::Gauge, help, active.refused);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_coordinator_shows_what_it_does() {
        let mut figures = Figures::default();
        figures.runs.insert(RunStatus::InDoubt, 1);
        let pool = [("pool".to_owned(), "eu".to_owned()), ("a.b".to_owned(), "x".to_owned())].into();
        figures.active.ready_by_labels.insert(pool, 7);
        figures.active.ready_by_labels.insert(BTreeMap::new(), 2);
        figures.active.waiting.add("hashicorp/aws region=eu", 3);
        figures.counted.refused.add("tls", 4);
        figures.counted.dispatch.add(Duration::from_millis(20));
        figures.workers.push(WorkerListing {
            name: "w1".to_owned(),
            labels: BTreeMap::new(),
            version: String::new(),
            status: "ready".to_owned(),
            tasks: 5,
            capacity: 9,
            identity: "spiffe://example.org/secret".to_owned(),
        });
        let text = coordinator_metrics(&figures, None);
        for line in [
            "weft_runs{status=\"in-doubt\"} 1",
            "weft_runs{status=\"done\"} 0",
            "weft_ready_operations{label_a_b=\"x\",label_pool=\"eu\"} 7",
            "weft_ready_operations 2",
            "weft_budget_waiting_operations{budget=\"hashicorp/aws region=eu\"} 3",
            "weft_refused_connections_total{reason=\"tls\"} 4",
            "weft_dispatch_seconds_count 1",
            "weft_workers{status=\"ready\"} 1",
            "weft_worker_operations{worker=\"w1\"} 5",
            "weft_worker_capacity{worker=\"w1\"} 9",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(!text.contains("spiffe"), "identities are not shown");
    }
}
