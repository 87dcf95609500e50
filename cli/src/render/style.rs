//! Colors and width of the text output.

use unicode_width::UnicodeWidthStr;

/// The width if the terminal does not report one.
const USUAL_WIDTH: usize = 78;

/// Colors and width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether escape sequences are allowed.
    pub colour: bool,
    /// The width in columns.
    pub width: usize,
    /// Whether to show warnings without details (`-compact-warnings`).
    pub compact_warnings: bool,
    /// Whether to show equal changes of a plan once (`-compact`).
    pub compact_changes: bool,
    /// Whether to show sensitive values (`-show-sensitive`).
    pub reveal: bool,
    /// Whether to show diagnostics in boxes. With `-no-color`, there are no boxes, because scripts look for lines that
    /// begin with `Error:`.
    pub boxes: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style {
            colour: false,
            width: USUAL_WIDTH,
            compact_warnings: false,
            compact_changes: false,
            reveal: false,
            boxes: true,
        }
    }
}

impl Style {
    /// `text` with the escape sequence of `code` before it and a reset after it. Returns `text` unchanged if colors are
    /// off.
    pub fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// `text` in bold.
    pub fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    /// `text` wrapped to the width, with one column to spare. Lines that begin with a space are lists or code, and stay
    /// as they are. Words are never split.
    pub fn wrapped(&self, text: &str) -> String {
        wrap(text, self.width.saturating_sub(1))
    }
}

/// `text` wrapped to lines of at most `width` columns. A longer word has its own line.
pub fn wrap(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for (place, line) in text.split('\n').enumerate() {
        if place > 0 {
            out.push('\n');
        }
        if line.starts_with(' ') || line.width() <= width {
            out.push_str(line);
            continue;
        }
        let mut column = 0;
        for word in line.split(' ') {
            let wide = word.width();
            if column > 0 && column + 1 + wide > width {
                out.push('\n');
                column = 0;
            } else if column > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += wide;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_not_split_and_width_counts_columns() {
        assert_eq!(wrap("aa bb cc\n  code that is long\n世界 世界", 5), "aa bb\ncc\n  code that is long\n世界\n世界");
    }
}
