//! A plugin's output as entries of Weft's log.

use serde_json::Value as Json;

/// The environment variables that set the log level of plugin SDKs. By default, plugins log everything, and Weft would
/// have to discard most entries. Such logging takes a third of the time of a cheap call.
pub(crate) const LEVEL_VARIABLES: [&str; 2] = ["TF_LOG_SDK", "TF_LOG_PROVIDER"];

/// The value of [`LEVEL_VARIABLES`] that makes plugins log exactly the entries that Weft's log shows.
pub(crate) fn wanted_level() -> &'static str {
    macro_rules! shown {
        ($level:ident) => {
            tracing::enabled!(target: "plugin", tracing::Level::$level)
        };
    }
    match () {
        () if shown!(TRACE) => "TRACE",
        () if shown!(DEBUG) => "DEBUG",
        () if shown!(INFO) => "INFO",
        () if shown!(WARN) => "WARN",
        () if shown!(ERROR) => "ERROR",
        () => "OFF",
    }
}

/// Logs one line of a plugin's standard error. Returns whether the line was plain text, as in a crash, and not a log
/// entry.
pub(crate) fn relay(plugin: &str, line: &str) -> bool {
    let Some(entry) = LogEntry::parse(line) else {
        if !line.is_empty() {
            tracing::debug!(target: "plugin", plugin, "{line}");
        }
        return !line.is_empty();
    };
    let LogEntry { level, module, message, rest } = entry;
    match level {
        Level::Trace => tracing::trace!(target: "plugin", plugin, module, fields = rest, "{message}"),
        Level::Debug => tracing::debug!(target: "plugin", plugin, module, fields = rest, "{message}"),
        Level::Info => tracing::info!(target: "plugin", plugin, module, fields = rest, "{message}"),
        Level::Warn => tracing::warn!(target: "plugin", plugin, module, fields = rest, "{message}"),
        Level::Error => tracing::error!(target: "plugin", plugin, module, fields = rest, "{message}"),
    }
    false
}

/// Logs one line that a plugin printed to standard output after the handshake.
pub(crate) fn relay_stdout(plugin: &str, line: &str) {
    if !line.is_empty() {
        tracing::warn!(target: "plugin", plugin, "on standard output: {line}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

/// An entry of hclog's JSON format.
#[derive(Debug, PartialEq)]
struct LogEntry {
    level: Level,
    module: String,
    message: String,
    /// All other fields as JSON; empty if there are none.
    rest: String,
}

impl LogEntry {
    fn parse(line: &str) -> Option<LogEntry> {
        if !line.starts_with('{') {
            return None;
        }
        let Ok(Json::Object(mut fields)) = serde_json::from_str(line) else { return None };
        let mut text = |key: &str| match fields.remove(key) {
            Some(Json::String(s)) => Some(s),
            _ => None,
        };
        let message = text("@message")?;
        let level = match text("@level").as_deref() {
            Some("trace") => Level::Trace,
            Some("info") => Level::Info,
            Some("warn") => Level::Warn,
            Some("error") => Level::Error,
            _ => Level::Debug,
        };
        let module = text("@module").unwrap_or_default();
        fields.remove("@timestamp");
        let rest = if fields.is_empty() { String::new() } else { Json::Object(fields).to_string() };
        Some(LogEntry { level, module, message, rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_entries_are_parsed_and_other_lines_kept() {
        let line = r#"{"@level":"warn","@message":"careful","@module":"sdk","@timestamp":"now","n":1}"#;
        let expected =
            LogEntry { level: Level::Warn, module: "sdk".into(), message: "careful".into(), rest: r#"{"n":1}"#.into() };
        assert_eq!(LogEntry::parse(line), Some(expected));
        assert_eq!(LogEntry::parse("panic: runtime error"), None);
        assert_eq!(LogEntry::parse("{not json"), None);
        assert!(relay("p", "panic: runtime error"));
        assert!(!relay("p", line));
    }
}
