//! Metrics of coordinators and workers in the text format of Prometheus (version 0.0.4), for `-metrics ADDRESS`.
//!
//! `docs/operate.md` describes each metric. The labels of a metric contain statuses, names of budgets and workers, and
//! placement labels, and the number of these is bounded. The labels of a metric never contain values of a plan or a
//! state.

mod coordinator;
mod endpoint;
mod worker;

use std::fmt::{Display, Write as _};
use std::time::SystemTime;

use weft_coordinator::figures::{BOUNDS_MS, Histogram, Named};
use weft_graph_format::diagnostic::Diagnostic;

use crate::command::Invocation;
use crate::exit::Exit;
use crate::problems;
use crate::view::View;

pub use coordinator::coordinator_metrics;
pub use endpoint::MetricsAddress;
pub use worker::worker_metrics;

/// The forms of addresses, for messages.
const FORMS: &str = "PORT on this machine, IP:PORT such as 0.0.0.0:9464, or unix:PATH";

/// The address in `-metrics`.
///
/// # Errors
/// Returns the exit code if the text is not an address. The problem has been reported.
pub fn address(invocation: &Invocation<'_>) -> Result<Option<MetricsAddress>, Exit> {
    let Some(text) = invocation.arguments.value("metrics") else { return Ok(None) };
    let address = MetricsAddress::parse(text);
    address.map(Some).ok_or_else(|| invocation.mistake(&problems::invalid_metrics_address(text, FORMS)))
}

/// Begins to serve metrics, and prints the address. The metrics are served until the process ends.
///
/// # Errors
/// Returns an error if the address cannot be used, for example because it is in use.
pub async fn begin(
    view: &View,
    address: &MetricsAddress,
    render: impl Fn() -> String + Send + Sync + 'static,
) -> Result<(), Diagnostic> {
    let (address, _) = endpoint::serve(address, render).await.map_err(|error| problems::metrics_not_served(&error))?;
    if address.is_public() {
        tracing::warn!(
            "other machines can read the metrics at {address}: names of workers, budgets and labels, and numbers"
        );
    }
    view.line(&format!("metrics at {address}"));
    Ok(())
}

/// Builds a text of metrics.
#[derive(Debug, Default)]
pub struct Metrics {
    text: String,
}

/// The type of a metric.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Metrics {
    /// The text.
    pub fn into_text(self) -> String {
        self.text
    }

    fn begin(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing to a string does not fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(name);
        if !labels.is_empty() {
            self.text.push('{');
            for (index, (label, text)) in labels.iter().enumerate() {
                let comma = if index > 0 { "," } else { "" };
                let _ = write!(self.text, "{comma}{label}=\"{}\"", escaped(text));
            }
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }

    /// Adds a metric with one value.
    fn one(&mut self, name: &str, kind: Kind, help: &str, value: impl Display) {
        self.begin(name, kind, help);
        self.sample(name, &[], value);
    }

    /// Adds a metric with one value for each name.
    fn named(&mut self, name: &str, kind: Kind, help: &str, label: &str, values: &Named) {
        self.begin(name, kind, help);
        for (text, value) in &values.0 {
            self.sample(name, &[(label, text)], value);
        }
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.begin(name, Kind::Histogram, help);
        let (bucket, mut below) = (format!("{name}_bucket"), 0);
        for (part, number) in histogram.parts.iter().enumerate() {
            below += number;
            let bound = BOUNDS_MS.get(part).map_or("+Inf".to_owned(), |ms| (*ms as f64 / 1000.0).to_string());
            self.sample(&bucket, &[("le", &bound)], below);
        }
        self.sample(&format!("{name}_sum"), &[], histogram.sum_us as f64 / 1e6);
        self.sample(&format!("{name}_count"), &[], histogram.count());
    }

    /// Adds the version of this program.
    fn build(&mut self) {
        let name = "weft_build_info";
        self.begin(name, Kind::Gauge, "The version of Weft.");
        self.sample(name, &[("version", env!("CARGO_PKG_VERSION"))], 1);
    }

    /// Adds the days until our own certificate expires. The value is negative after the certificate has expired.
    fn certificate(&mut self, expires: Option<SystemTime>) {
        let Some(expires) = expires else { return };
        let now = SystemTime::now();
        let days = match expires.duration_since(now) {
            Ok(left) => left.as_secs_f64(),
            Err(past) => -past.duration().as_secs_f64(),
        } / 86_400.0;
        let help = "The days until the certificate of this process expires.";
        self.one("weft_certificate_expires_days", Kind::Gauge, help, format!("{days:.3}"));
    }
}

/// Escapes backslashes, quotes and line feeds in the value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn metrics_have_the_format_of_prometheus() {
        let mut metrics = Metrics::default();
        metrics.one("weft_a", Kind::Gauge, "Of a.", 1.5);
        let mut named = Named::default();
        named.add("quo\"te\\\n", 7);
        metrics.named("weft_b_total", Kind::Counter, "Of b.", "name", &named);
        assert_eq!(
            metrics.into_text(),
            "# HELP weft_a Of a.\n# TYPE weft_a gauge\nweft_a 1.5\n\
             # HELP weft_b_total Of b.\n# TYPE weft_b_total counter\nweft_b_total{name=\"quo\\\"te\\\\\\n\"} 7\n"
        );
    }

    #[test]
    fn the_parts_of_a_histogram_add_up() {
        let mut histogram = Histogram::default();
        histogram.add(Duration::from_millis(3));
        histogram.add(Duration::from_secs(900));
        let mut metrics = Metrics::default();
        metrics.histogram("weft_h_seconds", "Of h.", &histogram);
        let text = metrics.into_text();
        assert!(
            text.contains("weft_h_seconds_bucket{le=\"0.002\"} 0\nweft_h_seconds_bucket{le=\"0.005\"} 1\n"),
            "{text}"
        );
        assert!(text.contains("{le=\"300\"} 1\nweft_h_seconds_bucket{le=\"+Inf\"} 2\n"), "{text}");
        assert!(text.ends_with("weft_h_seconds_sum 900.003\nweft_h_seconds_count 2\n"), "{text}");
    }

    #[test]
    fn an_expired_certificate_has_negative_days() {
        let mut metrics = Metrics::default();
        metrics.certificate(Some(SystemTime::now() - Duration::from_secs(86_400)));
        assert!(metrics.into_text().contains("weft_certificate_expires_days -1.0"));
        let mut none = Metrics::default();
        none.certificate(None);
        assert_eq!(none.into_text(), "");
    }
}
