//! Diagnostics: boxes with source lines for users, JSON objects for scripts.
//!
//! [`SourceLines`] is a source of lines: files that were read, or the snippets in a plan. `snippet` selects the lines
//! that a diagnostic shows. [`human`] and [`object`] are the two forms. [`consolidated`] joins diagnostics with the
//! same summary.

mod consolidation;
mod human;
mod object;
mod snippet;

pub use consolidation::consolidated;
pub use human::human;
pub use object::object;

/// A source of lines: files that were read, or the snippets of a plan file.
pub trait SourceLines {
    /// One line without its line ending. The first line has the number 1.
    fn line(&self, file: &str, number: u32) -> Option<String>;

    /// The header of the outermost block around a byte of a file: `resource "aws_vpc" "main"`. `None` outside of
    /// blocks, and if only single lines are known.
    fn block(&self, file: &str, byte: u32) -> Option<String> {
        let _ = (file, byte);
        None
    }
}
