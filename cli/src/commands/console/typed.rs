//! Questions that are typed on a terminal, with editing, history and completion.
//!
//! rustyline does the editing. It is plain Rust over termios and escape sequences, well maintained and widely used. Its
//! only native dependency is the C library. The history stays in memory, because questions may contain secrets.

use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, Editor, Helper};
use weft_evaluator::config::CompiledModule;
use weft_expressions::functions;
use weft_graph_format::address::ResourceMode;

use super::lines::Lines;

/// The prompt.
const PROMPT: &str = "> ";
/// The capacity of the history. Users do not scroll further back.
const MAX_HISTORY: usize = 1_000;

/// A user at a terminal.
pub struct Typist {
    editor: Editor<Words, MemHistory>,
}

/// What the user typed.
pub enum Typed {
    /// A question.
    Question(String),
    /// The end of the session.
    Leave,
}

impl Typist {
    /// Opens the terminal of this process. Completes names that can begin an expression of the module.
    ///
    /// # Errors
    /// Returns an error if the terminal cannot be used.
    pub fn begin(module: &CompiledModule) -> Result<Typist, ReadlineError> {
        let config = Config::builder().max_history_size(MAX_HISTORY)?.auto_add_history(true).build();
        let mut editor = Editor::with_history(config.clone(), MemHistory::with_config(&config))?;
        editor.set_helper(Some(Words(names(module))));
        Ok(Typist { editor })
    }

    /// Reads what the user types next: a question to the console, or the end of the session.
    ///
    /// # Errors
    /// Returns an error if the terminal cannot be read.
    pub fn next(&mut self) -> Result<Typed, ReadlineError> {
        match self.editor.readline(PROMPT) {
            Ok(text) => Ok(Typed::Question(joined(&text))),
            Err(ReadlineError::Eof | ReadlineError::Interrupted) => Ok(Typed::Leave),
            Err(error) => Err(error),
        }
    }
}

/// Joins the lines of a question.
fn joined(text: &str) -> String {
    let mut lines = Lines::default();
    let mut whole = None;
    for line in text.lines() {
        whole = lines.push(line);
    }
    whole.or_else(|| lines.rest()).unwrap_or_default()
}

/// Every name that can begin an expression of a module, in order.
fn names(module: &CompiledModule) -> Vec<String> {
    let mut found: Vec<String> =
        ["path.module", "path.root", "path.cwd", "terraform.workspace", "exit", "help", "type("]
            .map(str::to_owned)
            .to_vec();
    found.extend(functions::all().iter().map(|function| format!("{}(", function.name)));
    found.extend(module.variables.keys().map(|name| format!("var.{name}")));
    found.extend(module.locals.keys().map(|name| format!("local.{name}")));
    for (name, child) in &module.children {
        found.push(format!("module.{name}"));
        found.extend(child.outputs.keys().map(|output| format!("module.{name}.{output}")));
    }
    let resources = module.resources.keys().filter(|resource| resource.mode != ResourceMode::Ephemeral);
    found.extend(resources.map(ToString::to_string));
    found.sort();
    found.dedup();
    found
}

/// Completes names.
struct Words(Vec<String>);

impl Words {
    /// The start of the name that ends at `position`, and its completions.
    fn complete_at(&self, line: &str, position: usize) -> (usize, Vec<&str>) {
        let before = line.get(..position).unwrap_or_default();
        let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let start = before.char_indices().rev().take_while(|(_, c)| part(*c)).last().map_or(position, |(at, _)| at);
        let word = before.get(start..).unwrap_or_default();
        let first = self.0.partition_point(|name| name.as_str() < word);
        let fits = self.0.get(first..).unwrap_or_default().iter().take_while(|name| name.starts_with(word));
        (start, if word.is_empty() { Vec::new() } else { fits.map(String::as_str).collect() })
    }
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, names) = self.complete_at(line, position);
        let pair = |name: &str| Pair { display: name.to_owned(), replacement: name.to_owned() };
        Ok((start, names.into_iter().map(pair).collect()))
    }
}

impl Validator for Words {
    /// Enter continues the question on the next line while a construct is open.
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let mut lines = Lines::default();
        let mut whole = true;
        for line in context.input().lines() {
            whole = lines.push(line).is_some();
        }
        Ok(if whole { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {}

impl Helper for Words {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed() {
        let words = Words(["lower(", "var.a", "var.ab", "var.b"].map(str::to_owned).to_vec());
        assert_eq!(words.complete_at("1 + var.a", 9), (4, vec!["var.a", "var.ab"]));
        assert_eq!(words.complete_at("upper(lo", 8), (6, vec!["lower("]));
        assert_eq!(words.complete_at("1 + ", 4), (4, vec![]));
        assert_eq!(words.complete_at("é.var.b", 8), (0, vec![]));
    }

    #[test]
    fn an_open_bracket_continues_the_line() {
        assert_eq!(joined("[1,\n2]"), "[1,\n2]");
        assert_eq!(joined(""), "");
    }
}
