//! The metrics of a worker.

use std::time::SystemTime;

use weft_executor::WorkerFigures;

use super::{Kind, Metrics};

/// The metrics of a worker. `expires` is the expiry of its own certificate.
pub fn worker_metrics(figures: &WorkerFigures, expires: Option<SystemTime>) -> String {
    let mut metrics = Metrics::default();
    metrics.build();
    let help = "Whether a coordinator is connected.";
    metrics.one("weft_worker_connected", Kind::Gauge, help, u8::from(figures.connected));
    let help = "The maximum number of concurrent operations.";
    metrics.one("weft_worker_capacity", Kind::Gauge, help, figures.capacity);
    metrics.one("weft_worker_running_calls", Kind::Gauge, "Operations that are prepared or running.", figures.calls);
    let help = "Results that no coordinator has acknowledged.";
    metrics.one("weft_worker_unacknowledged_results", Kind::Gauge, help, figures.results);
    let help = "Results of operations since the start.";
    metrics.one("weft_worker_finished_operations_total", Kind::Counter, help, figures.finished);
    metrics.certificate(expires);
    metrics.into_text()
}
