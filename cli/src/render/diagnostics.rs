//! Problems: boxed with their source lines for people, as objects for scripts.
//!
//! Where the source lines come from is [`SourceLines`]: files that were read, or the snippets that travel with a plan.
//! `snippet` cuts them to what a problem shows; [`human`] and [`object`] are the two forms; [`consolidated`] makes one
//! of many that say the same.

mod consolidation;
mod human;
mod object;
mod snippet;

pub use consolidation::consolidated;
pub use human::human;
pub use object::object;
pub use snippet::enclosing_block;

/// Where source lines come from: files that were read, or the snippets of a plan file.
pub trait SourceLines {
    /// One line without its end; the first is 1.
    fn line(&self, file: &str, number: u32) -> Option<String>;

    /// The header of the outermost block that a byte of a file stands in: `resource "aws_vpc" "main"`. None where there
    /// is none, or only lines are known.
    fn block(&self, file: &str, byte: u32) -> Option<String> {
        let _ = (file, byte);
        None
    }
}
