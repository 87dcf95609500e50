//! The deadlines of individual providers:
//!
//! ```text
//! provider_deadlines "hashicorp/aws" {
//!   apply = "48h"
//!   read  = "10m"
//! }
//! ```

use std::time::Duration;

use weft_providers::CallKind;

/// The maximum deadline, in hours: a month. A longer deadline would have no practical effect.
pub(super) const MOST_HOURS: u64 = 31 * 24;

/// The kinds of call with a deadline that users may set. The deadline of Stop is fixed, because it ensures that the
/// process of the provider ends.
const KINDS: [(&str, CallKind); 10] = [
    ("schema", CallKind::Schema),
    ("validate", CallKind::Validate),
    ("configure", CallKind::Configure),
    ("upgrade", CallKind::Upgrade),
    ("read", CallKind::Read),
    ("plan", CallKind::Plan),
    ("apply", CallKind::Apply),
    ("data", CallKind::Data),
    ("ephemeral", CallKind::Ephemeral),
    ("function", CallKind::Function),
];

/// The kind of call with this name.
pub(super) fn kind(name: &str) -> Option<CallKind> {
    KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// The names of all kinds.
pub(super) fn names() -> String {
    KINDS.map(|(name, _)| name).join(", ")
}

/// Parses a time: a whole number of seconds, minutes or hours.
pub(super) fn limit(text: &str) -> Option<Duration> {
    let unit = text.chars().next_back()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        _ => return None,
    };
    let count: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let limit = count.checked_mul(seconds)?;
    (1..=MOST_HOURS * 3_600).contains(&limit).then(|| Duration::from_secs(limit))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cli_config::CliConfig;

    #[test]
    fn deadlines_are_whole_seconds_minutes_or_hours() {
        assert_eq!(limit("90s"), Some(Duration::from_secs(90)));
        assert_eq!(limit("10m"), Some(Duration::from_secs(600)));
        assert_eq!(limit("744h"), Some(Duration::from_secs(744 * 3_600)));
        for wrong in ["", "0s", "745h", "10", "m", "-1s", "1.5h", "99999999999999999999h", "1é"] {
            assert_eq!(limit(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_provider_has_deadlines_of_its_own() {
        let text = "provider_deadlines \"hashicorp/aws\" {\n  apply = \"48h\"\n  read = \"10m\"\n  wait = \"1s\"\n  plan = \"soon\"\n}\n\
                    provider_deadlines \"a/b/c/d\" {\n}\n";
        let (config, problems) = CliConfig::parse(text, Path::new("cli.tfrc"), Path::new("/"));
        let limits = config.provider_deadlines.values().flatten();
        let limits: Vec<(CallKind, u64)> = limits.map(|(kind, limit)| (*kind, limit.as_secs())).collect();
        assert_eq!(limits, [(CallKind::Read, 600), (CallKind::Apply, 48 * 3_600)]);
        let details: Vec<&str> = problems.iter().map(|problem| problem.detail.as_str()).collect();
        assert_eq!(details.len(), 3, "{details:?}");
        assert!(details[0].contains("\"wait\" is not a kind of call"), "{details:?}");
        assert!(details[1].contains("plan must be a time"), "{details:?}");
        assert!(details[2].contains("must be a provider"), "{details:?}");
    }
}
