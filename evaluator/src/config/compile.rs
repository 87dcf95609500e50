//! Compiles the files of one module.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_graph_format::address::Module;
use weft_graph_format::diagnostic::Diagnostic;
use weft_syntax::Tree;

use super::CompiledModule;
use super::compiling::Compiling;
use super::content::FoundBlock;
use super::top_level::blocks_of;

/// Compiles all files of a module. The loader adds the called modules. The second part of the result contains the
/// problems that only appear when all blocks are combined.
pub(super) fn compile_module(
    path: Module,
    dir: &str,
    trees: &[Arc<Tree>],
    overrides: &[Arc<Tree>],
    diagnostics: &mut Vec<Diagnostic>,
) -> (CompiledModule, Vec<Diagnostic>) {
    let mut compiling = Compiling {
        module: CompiledModule { path, dir: dir.to_string(), ..CompiledModule::default() },
        diagnostics,
        together: Vec::new(),
        overriding: false,
        requirements: None,
        unfinished: BTreeMap::new(),
    };
    let mut base: Vec<FoundBlock> = trees.iter().flat_map(|tree| blocks_of(&mut compiling, tree)).collect();
    let above: Vec<FoundBlock> = overrides.iter().flat_map(|tree| blocks_of(&mut compiling, tree)).collect();
    let rest = compiling.lay_over(&mut base, above);
    compiling.note_experiments(&base);
    if compiling.module.settings.experiments.provider_values {
        // `terraform` blocks come first, because types can refer to providers.
        base.sort_by_key(|block| block.block_type != "terraform");
    }
    for block in &base {
        compiling.overridden(block);
    }
    compiling.override_rest(&rest);
    (compiling.module, compiling.together)
}
