//! Where the program's own notes go: nowhere, unless the environment asks for them.

use std::fs::OpenOptions;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::context::environment;

/// Begins to write notes, if `WEFT_LOG` (a filter as of `tracing`) or `TF_LOG` (a level, or `JSON`) is set; to the file
/// of `TF_LOG_PATH`, otherwise to the standard error.
pub fn start() {
    let (filter, json) = match (environment("WEFT_LOG"), environment("TF_LOG")) {
        (Some(filter), _) => (filter, false),
        (None, Some(level)) => match level.to_ascii_uppercase().as_str() {
            "OFF" => return,
            "JSON" => ("trace".to_owned(), true),
            known @ ("TRACE" | "DEBUG" | "INFO" | "WARN" | "ERROR") => (known.to_ascii_lowercase(), false),
            _ => ("trace".to_owned(), false),
        },
        (None, None) => return,
    };
    // The transport's own notes are of no use to anybody but its authors.
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
    // Somebody may have set another one up before; then that one stays.
    let _ = if json { builder.json().try_init() } else { builder.try_init() };
}
