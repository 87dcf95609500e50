//! `moved` blocks: renamed objects.

use weft_graph_format::address::ResourceMode;
use weft_graph_format::source::SourceRange;
use weft_syntax::Expression;

use super::compiling::Compiling;
use super::content::{ContentRules, FoundBlock};
use super::literal::required;
use super::problems;
use super::relative_address::{RelativeAddress, read_address};

const MOVED: ContentRules = ContentRules { attributes: &[required("from"), required("to")], blocks: &[], open: false };

/// A `moved` block.
#[derive(Clone, Debug)]
pub struct MovedBlock {
    /// The old address.
    pub from: RelativeAddress,
    /// The new address.
    pub to: RelativeAddress,
    /// The header of the block.
    pub range: SourceRange,
}

/// Reads a `moved` block.
pub(super) fn moved(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let content = compiling.content(block, &MOVED);
    let from = endpoint(compiling, content.get("from"));
    let to = endpoint(compiling, content.get("to"));
    // As in OpenTofu, both addresses are parsed before either is checked.
    let from = movable(compiling, from, "from", block);
    let to = movable(compiling, to, "to", block);
    let (Some(from), Some(to)) = (from, to) else { return };
    if from.resource.is_some() != to.resource.is_some() {
        compiling.report(problems::moved::unlike_addresses(&block.range));
        return;
    }
    compiling.module.statements.moved.push(MovedBlock { from, to, range: block.range.clone() });
}

/// The address in an argument.
fn endpoint(compiling: &mut Compiling<'_>, expression: Option<&Expression>) -> Option<RelativeAddress> {
    let given = expression?;
    match read_address(given).unwrap_or_else(|| Err(problems::references::not_static(given.range()))) {
        Ok(found) => Some(found),
        Err(problem) => {
            compiling.report(problem);
            None
        }
    }
}

/// Checks that the object of an address can be moved. Returns the address if it can.
fn movable(
    compiling: &mut Compiling<'_>,
    found: Option<RelativeAddress>,
    name: &str,
    block: &FoundBlock,
) -> Option<RelativeAddress> {
    let movable = found
        .filter(|found| found.resource.as_ref().is_none_or(|(resource, _)| resource.mode != ResourceMode::Ephemeral));
    if movable.is_none() {
        compiling.report(problems::moved::unmovable(name, &block.range));
    }
    movable
}
