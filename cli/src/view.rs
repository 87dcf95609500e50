//! The output of a command: text, events, and diagnostics. Events go to the standard output or to a file.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::Value as Json;
use weft_evaluator::config::SourceFiles;
use weft_evaluator::{LOCAL_MODULE, REMOTE_MODULE};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::plan_file::SourceSnippets;

use crate::options::Arguments;
use crate::problems;
use crate::render::diagnostics::{self, SourceLines};
use crate::render::events;
use crate::render::style::{Style, wrap};

/// The source lines of all files that a command has read.
#[derive(Debug, Default)]
pub struct SourceTexts {
    files: SourceFiles,
    snippets: SourceSnippets,
}

impl SourceLines for SourceTexts {
    fn line(&self, file: &str, number: u32) -> Option<String> {
        let line = match self.files.has(file) {
            true => self.files.line(file, number),
            false => self.snippets.line(file, number),
        };
        line.map(str::to_owned)
    }

    fn block(&self, file: &str, byte: u32) -> Option<String> {
        self.files.enclosing_block(file, byte)
    }
}

/// The output of a command.
#[derive(Debug)]
pub struct View {
    json: bool,
    /// Whether escape sequences are disabled.
    plain: bool,
    into: Option<Mutex<File>>,
    style: Style,
    /// The UTC offset of times in events, which is determined at the start.
    zone: jiff::tz::TimeZone,
    concise: bool,
    /// Whether lines of text are also events.
    told: AtomicBool,
    /// Whether to consolidate warnings, and whether to consolidate errors: diagnostics with the same summary are shown
    /// once.
    consolidate: (bool, bool),
    /// The buffered events. `None` if each event is written immediately.
    held: Mutex<Option<String>>,
    /// The codes of warnings that the text output omits.
    unwanted: &'static [&'static str],
    /// The standing lines at the bottom of the terminal.
    standing: Mutex<Vec<String>>,
    sources: Mutex<SourceTexts>,
}

impl View {
    /// The output according to the options. `events` is true if `-json` means the stream of events. If `-json-into` is
    /// invalid, the problem is returned with a view that can report it.
    pub fn new(arguments: &Arguments, events: bool) -> (View, Option<Diagnostic>) {
        let json = events && arguments.switch("json", false);
        let plain = arguments.switch("no-color", false) || std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let forced = std::env::var_os("FORCE_COLOR").is_some_and(|v| !v.is_empty() && v != "0");
        let terminal = forced || (std::io::stdout().is_terminal() && std::io::stderr().is_terminal());
        let width = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).or_else(terminal_width);
        let style = Style {
            colour: !json && !plain && terminal,
            width: width.unwrap_or(Style::default().width),
            compact_warnings: arguments.switch("compact-warnings", false),
            compact_changes: arguments.switch("compact", false),
            reveal: arguments.switch("show-sensitive", false),
            boxes: !plain,
        };
        let consolidate =
            (arguments.switch("consolidate-warnings", true), arguments.switch("consolidate-errors", false));
        let concise = arguments.switch("concise", false);
        let mut view = View {
            json,
            plain,
            into: None,
            style,
            held: Mutex::new(None),
            zone: jiff::tz::TimeZone::system(),
            concise,
            told: AtomicBool::new(false),
            consolidate,
            unwanted: match arguments.value("deprecation") {
                Some("module:none") => &[LOCAL_MODULE, REMOTE_MODULE],
                Some("module:local") => &[REMOTE_MODULE],
                _ => &[],
            },
            standing: Mutex::default(),
            sources: Mutex::default(),
        };
        let Some(path) = arguments.value("json-into").filter(|_| events) else {
            return (view, None);
        };
        let problem = match open_into(path) {
            Ok(_) if json => Some(problems::json_twice()),
            Ok(file) => {
                view.into = Some(Mutex::new(file));
                None
            }
            Err(problem) => Some(problem),
        };
        (view, problem)
    }

    /// An output of plain text, without options.
    pub fn plain() -> View {
        View::new(&Arguments::default(), false).0
    }

    /// The same output without events.
    pub fn into_text(self) -> View {
        View { json: false, into: None, ..self }
    }

    /// Whether the standard output is a stream of events.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether progress lines are shown.
    pub fn shows_progress(&self) -> bool {
        !self.json && !self.concise
    }

    /// Colors and width.
    pub fn style(&self) -> &Style {
        &self.style
    }

    /// An escape sequence for texts that OpenTofu colors even if the output is not a terminal. Scripts look for this
    /// sequence. Empty with `-no-color`.
    pub fn escape(&self, code: &str) -> String {
        if self.plain { String::new() } else { format!("\u{1b}[{code}m") }
    }

    /// Adds files to which problems may refer.
    pub fn know(&self, sources: &SourceFiles) {
        self.sources.lock().files.extend(sources.clone());
    }

    /// All files that the view knows.
    pub fn known_files(&self) -> SourceFiles {
        self.sources.lock().files.clone()
    }

    /// Adds the source lines of a plan.
    pub fn know_snippets(&self, snippets: &SourceSnippets) {
        self.sources.lock().snippets.files.extend(snippets.files.iter().map(|(n, l)| (n.clone(), l.clone())));
    }

    /// Makes each following line of text an event, too. This is for commands without their own events.
    pub fn tell_lines(&self) {
        self.told.store(true, Ordering::Relaxed);
        self.event(events::version());
    }

    /// Prints text on the standard output, unless the standard output is a stream of events.
    pub fn line(&self, text: &str) {
        self.line_or_event(text, text);
    }

    /// Prints a sentence with a full stop. The event has no full stop.
    pub fn sentence(&self, text: &str) {
        self.line_or_event(&format!("{text}."), text);
    }

    /// Prints `text`. If lines of text are also events, the message of the event is `message`.
    pub fn line_or_event(&self, text: &str, message: &str) {
        if self.told.load(Ordering::Relaxed) && self.takes_events() {
            let plain = without_escapes(message);
            let words: Vec<&str> = plain.split_whitespace().collect();
            self.event(events::told(&words.join(" ")));
        }
        if !self.json {
            self.above(|| write_line(&mut std::io::stdout().lock(), text));
        }
    }

    /// Prints a warning as part of the output of a command. As in OpenTofu, the warning has a box and colors. With
    /// `-no-color` or `NO_COLOR`, the warning has neither. If the output is a stream of events, the warning is an
    /// event.
    pub fn warning_in_output(&self, warning: Diagnostic) {
        /// The widths of text inside and outside of a box, in columns.
        const WIDTHS: (usize, usize) = (75, 77);
        if self.json {
            return self.diagnostics(&[warning]);
        }
        let Diagnostic { summary, detail, .. } = warning;
        let detail = detail.as_str();
        if self.plain {
            return self.line(&format!("\nWarning: {summary}\n\n{}\n", wrap(detail, WIDTHS.1)));
        }
        let (reset, bold, yellow) = (self.escape("0"), self.escape("1"), self.escape("33"));
        let bar = format!("{yellow}│{reset} {reset}");
        let lines = wrap(detail, WIDTHS.0).replace('\n', &format!("\n{bar}"));
        self.line(&format!(
            "{yellow}╷{reset}{reset}\n{bar}{bold}{yellow}Warning: {reset}{reset}{bold}{summary}{reset}\n{bar}\n\
             {bar}{reset}{lines}\n{yellow}╵{reset}{reset}\n"
        ));
    }

    /// Whether the terminal supports standing lines.
    pub fn has_standing_lines(&self) -> bool {
        let dumb = || std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        self.shows_progress() && self.style.colour && !dumb()
    }

    /// Replaces the standing lines at the bottom of the terminal.
    pub fn stand(&self, lines: Vec<String>) {
        let mut standing = self.standing.lock();
        if *standing != lines {
            erase(&standing);
            draw(&lines);
            *standing = lines;
        }
    }

    /// Runs `write`, whose output appears above the standing lines.
    fn above(&self, write: impl FnOnce()) {
        let standing = self.standing.lock();
        erase(&standing);
        write();
        draw(&standing);
    }

    /// Prints a document on the standard output, unchanged.
    pub fn document(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        // The reader may have closed the pipe, which is not a failure of the command.
        let _ = out.write_all(text.as_bytes());
        let _ = out.flush();
    }

    /// Prints text on the standard error.
    pub fn aside(&self, text: &str) {
        self.above(|| write_line(&mut std::io::stderr().lock(), text));
    }

    /// Whether events are written.
    pub fn takes_events(&self) -> bool {
        self.json || self.into.is_some()
    }

    /// Writes an event, if events are written.
    pub fn event(&self, event: Json) {
        if !self.takes_events() {
            return;
        }
        let mut event = event;
        if let Json::Object(fields) = &mut event {
            let now =
                jiff::Timestamp::now().to_zoned(self.zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%.6f%:z").to_string();
            fields.insert("@timestamp".to_owned(), now.into());
        }
        self.event_document(&event);
    }

    /// Writes a document to the stream of events.
    pub fn event_document(&self, document: &Json) {
        // An event is written for each operation, and `Display` checks each piece of the text again.
        let text = serde_json::to_string(document).unwrap_or_else(|_| document.to_string());
        if let Some(file) = &self.into {
            write_line(&mut *file.lock(), &text);
        }
        if !self.json {
            return;
        }
        let mut held = self.held.lock();
        match held.as_mut() {
            None => write_line(&mut std::io::stdout().lock(), &text),
            Some(lines) => {
                lines.push_str(&text);
                lines.push('\n');
                if lines.len() >= MOST_HELD {
                    write_all(&std::mem::take(lines));
                }
            }
        }
    }

    /// Buffers the events during `work` and writes them together. With many concurrent operations, many events occur at
    /// the same time, and each write would wake the program that reads the output.
    pub fn together<T>(&self, work: impl FnOnce() -> T) -> T {
        *self.held.lock() = Some(String::new());
        let result = work();
        let held = self.held.lock().take().unwrap_or_default();
        if !held.is_empty() {
            write_all(&held);
        }
        result
    }

    /// Reports diagnostics in the format of this output.
    pub fn diagnostics(&self, problems: &[Diagnostic]) {
        self.diagnostics_of(problems, &[]);
    }

    /// Like [`View::diagnostics`], with extra fields for events.
    pub fn diagnostics_of(&self, problems: &[Diagnostic], belong: &[(&str, &str)]) {
        let sources = self.sources.lock();
        let objects: Vec<Json> = if self.json || self.into.is_some() {
            problems.iter().map(|problem| events::diagnostic(diagnostics::object(problem, &*sources))).collect()
        } else {
            Vec::new()
        };
        if !self.json {
            let compact = self.style.compact_warnings && !has_errors(problems);
            let (warnings, errors) = self.consolidate;
            // Programs filter events themselves, so the omitted warnings are still events.
            let wanted = |problem: &&Diagnostic| !self.unwanted.contains(&problem.code.as_str());
            let problems: Vec<Diagnostic> = problems.iter().filter(wanted).cloned().collect();
            self.above(|| {
                let mut err = std::io::stderr().lock();
                for problem in &diagnostics::consolidated(&problems, warnings, errors) {
                    if compact {
                        write_line(&mut err, &format!("Warning: {}", problem.summary));
                    } else {
                        write_line(&mut err, &diagnostics::human(problem, &*sources, &self.style));
                    }
                }
            });
        }
        drop(sources);
        for mut object in objects {
            if let Json::Object(fields) = &mut object {
                fields.extend(belong.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())));
            }
            self.event(object);
        }
    }

    /// Diagnostics as objects, for documents that contain them.
    pub fn objects(&self, problems: &[Diagnostic]) -> Vec<Json> {
        let sources = self.sources.lock();
        problems.iter().map(|problem| diagnostics::object(problem, &*sources)).collect()
    }
}

/// The text without escape sequences for colors.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, sequence)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = sequence.split_once('m').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain
}

/// Opens the file of `-json-into` and removes its content. A file that does not exist is created, and then only its
/// owner may read it. An existing file keeps its permissions.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn open_into(path: &str) -> Result<File, Diagnostic> {
    let opened = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    opened.map_err(|error| problems::document_not_opened(path, &error))
}

/// The maximum number of bytes of buffered events.
const MOST_HELD: usize = 64 * 1024;

/// Removes the standing lines from the terminal.
fn erase(standing: &[String]) {
    if !standing.is_empty() {
        write_all(&format!("\u{1b}[{}A\u{1b}[J", standing.len()));
    }
}

/// Draws the standing lines on the terminal.
fn draw(standing: &[String]) {
    if !standing.is_empty() {
        write_all(&(standing.join("\n") + "\n"));
    }
}

fn write_all(text: &str) {
    let mut out = std::io::stdout().lock();
    // The reader may have closed the pipe, which is not a failure of the command.
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// The width of the terminal on the standard output. `None` if it is not a terminal.
fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

fn write_line(out: &mut dyn Write, text: &str) {
    // The reader may have closed the pipe, which is not a failure of the command.
    let _ = out.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
    let _ = out.flush();
}
