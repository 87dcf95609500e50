//! The blocks at the top level of a file.

use std::sync::Arc;

use weft_syntax::Tree;

use super::compiling::Compiling;
use super::content::{ContentRules, FoundBlock, read_content, rule};
use super::problems;
use super::{call, check, import, locals, moved, output, provider, removed, resource, terraform, variable};

const TOP_LEVEL: ContentRules = ContentRules {
    attributes: &[],
    blocks: &[
        rule("terraform", &[]),
        rule("required_providers", &[]),
        rule("provider", &["name"]),
        rule("variable", &["name"]),
        rule("locals", &[]),
        rule("output", &["name"]),
        rule("module", &["name"]),
        rule("resource", &["type", "name"]),
        rule("data", &["type", "name"]),
        rule("ephemeral", &["type", "name"]),
        rule("moved", &[]),
        rule("removed", &[]),
        rule("import", &[]),
        rule("check", &["name"]),
        rule("language", &[]),
    ],
    open: false,
};

/// The blocks of a file. Unsupported blocks are reported.
pub(super) fn blocks_of(compiling: &mut Compiling<'_>, tree: &Arc<Tree>) -> Vec<FoundBlock> {
    let start = tree.range(weft_syntax::Span { start: 0, end: 0 });
    read_content(tree, tree.root_id(), &TOP_LEVEL, &start, compiling.diagnostics).blocks
}

/// Reads a block of any type.
pub(super) fn block(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    match block.block_type {
        "terraform" => terraform::terraform(compiling, block),
        "locals" => locals::locals(compiling, block),
        "required_providers" => {
            compiling.report(problems::declarations::required_providers_outside(&block.range));
        }
        "variable" => variable::variable(compiling, block),
        "output" => output::output(compiling, block),
        "module" => call::module_call(compiling, block),
        "provider" => provider::provider(compiling, block),
        "resource" | "data" | "ephemeral" => resource::resource(compiling, block),
        "moved" => moved::moved(compiling, block),
        "removed" => removed::removed(compiling, block),
        "import" => import::import(compiling, block),
        "check" => check::check(compiling, block),
        "language" => terraform::language(compiling, block),
        _ => {}
    }
}
