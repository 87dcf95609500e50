//! The diary of a history: text, and a digest that is equal for equal histories.

use std::cell::RefCell;
use std::fmt::{self, Write};
use std::rc::Rc;

use crate::Summary;

/// The diary of one history. Clones share it, so that it survives a panic in the history.
#[derive(Clone, Debug)]
pub(crate) struct Diary(Rc<RefCell<Pages>>);

#[derive(Debug)]
struct Pages {
    summary: Summary,
    text: Option<String>,
}

impl Diary {
    fn new(text: Option<String>) -> Diary {
        let summary = Summary { history: 0, ended_ms: 0, terms: 0 };
        Diary(Rc::new(RefCell::new(Pages { summary, text })))
    }

    /// A diary without text.
    pub(crate) fn quiet() -> Diary {
        Diary::new(None)
    }

    /// A diary with text.
    pub(crate) fn traced() -> Diary {
        Diary::new(Some(String::new()))
    }

    /// Adds a number to the digest.
    pub(crate) fn count(&self, what: u64) {
        let history = &mut self.0.borrow_mut().summary.history;
        *history = history.wrapping_mul(31).wrapping_add(what);
    }

    /// Writes a line.
    pub(crate) fn write(&self, now: u64, line: impl FnOnce() -> String) {
        if let Some(text) = &mut self.0.borrow_mut().text {
            // Writing to text does not fail.
            let _ = writeln!(text, "{now:>6} ms  {}", line());
        }
    }

    /// Marks the end of the history.
    pub(crate) fn ended(&self, now: u64, terms: u64) {
        let summary = &mut self.0.borrow_mut().summary;
        (summary.ended_ms, summary.terms) = (now, terms);
    }

    pub(crate) fn summary(&self) -> Summary {
        self.0.borrow().summary
    }

    pub(crate) fn text(&self) -> String {
        self.0.borrow().text.clone().unwrap_or_default()
    }
}

/// Formats a value with a limited number of characters.
pub(crate) fn brief(what: &dyn fmt::Debug) -> String {
    const MOST: usize = 400;
    let text = format!("{what:?}");
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
