//! The log of the program. It is off by default, and environment variables turn it on.

use std::fs::OpenOptions;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::context::environment;

/// The levels of OpenTofu's variables, from the most verbose one.
const LEVELS: [&str; 6] = ["trace", "debug", "info", "warn", "error", "off"];

/// Starts logging if an environment variable requests it: `WEFT_LOG` (a filter for `tracing`), `TF_LOG` (a level, or
/// `JSON`), `TF_LOG_CORE` for Weft itself, or `TF_LOG_PROVIDER` for providers. The log goes to the file in
/// `TF_LOG_PATH`, or to the standard error.
pub fn start() {
    let asked = |name: &str| environment(name).or_else(|| environment("TF_LOG"));
    let (core, provider) = (asked("TF_LOG_CORE"), asked("TF_LOG_PROVIDER"));
    let json = [&core, &provider].iter().any(|level| level.as_ref().is_some_and(|l| l.eq_ignore_ascii_case("json")));
    let filter = match environment("WEFT_LOG") {
        Some(filter) => filter,
        None => match (level(core.as_deref()), level(provider.as_deref())) {
            ("off", "off") => return,
            (core, provider) => format!("{core},plugin={provider}"),
        },
    };
    // The logs of the transport libraries are useful only to their authors.
    let filter = format!("{filter},h2=warn,hyper=warn,tower=warn,tonic=warn,rustls=warn");
    let Ok(filter) = EnvFilter::try_new(filter) else {
        eprintln!("WEFT_LOG is not a filter such as \"debug\" or \"weft_planner=trace\"; nothing is logged");
        return;
    };
    let file = environment("TF_LOG_PATH").and_then(|path| OpenOptions::new().create(true).append(true).open(path).ok());
    let writer = match file {
        Some(file) => BoxMakeWriter::new(std::sync::Mutex::new(file)),
        None => BoxMakeWriter::new(std::io::stderr),
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(false);
    // A subscriber that was set earlier is not replaced.
    let _ = if json { builder.json().try_init() } else { builder.try_init() };
}

/// The level in a variable. An unknown level means everything.
fn level(asked: Option<&str>) -> &'static str {
    let Some(asked) = asked else { return "off" };
    let known = LEVELS.into_iter().find(|level| level.eq_ignore_ascii_case(asked));
    known.unwrap_or_else(|| {
        if !asked.eq_ignore_ascii_case("json") {
            let all = LEVELS.join(", ");
            eprintln!("The log level {asked:?} is not known, so everything is logged. Levels are: {all} and JSON.");
        }
        "trace"
    })
}

#[cfg(test)]
mod tests {
    use super::level;

    #[test]
    fn an_unknown_level_means_everything() {
        assert_eq!(level(None), "off");
        assert_eq!(level(Some("WARN")), "warn");
        assert_eq!(level(Some("JSON")), "trace");
        assert_eq!(level(Some("bogus")), "trace");
    }
}
