//! How text may look on a terminal.

/// Columns when the terminal does not say.
const USUAL_WIDTH: usize = 78;

/// Colours and width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Escape sequences are allowed.
    pub colour: bool,
    /// Columns.
    pub width: usize,
    /// Warnings without their details.
    pub compact_warnings: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style { colour: false, width: USUAL_WIDTH, compact_warnings: false }
    }
}

impl Style {
    /// `text` between the escape sequence of `code` and the one that ends it; plain where colours are off.
    pub fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// Bold.
    pub fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }
}
