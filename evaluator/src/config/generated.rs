//! Resource blocks that commands generate for imported objects.

use std::sync::Arc;

use weft_graph_format::address::{ConfigResource, InstanceKey, Module, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;

use super::compile::compile_module;
use super::{CompiledModule, ImportBlock, ImportKey, SourceFiles, problems};

/// The `import` blocks, in order, for which configuration can be generated: those whose target has no resource block.
///
/// # Errors
/// Returns an error if such a target is in a called module or has a key, or if its `import` block has `for_each`. A
/// resource block cannot be generated in these cases.
pub fn imports_without_block(root: &CompiledModule) -> Result<Vec<&ImportBlock>, Vec<Diagnostic>> {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for block in &root.statements.imports {
        if block.to.resource.mode != ResourceMode::Managed || has_block(root, block) {
            continue;
        }
        let address = || ConfigResource { module: block.to.module_config(), resource: block.to.resource.clone() };
        let single =
            matches!(&block.to.key, ImportKey::Constant(key) if *key == InstanceKey::None) && block.for_each.is_none();
        if !block.to.module.is_empty() {
            problems.push(problems::import::not_generated_in_module(&address(), &block.range));
        } else if !single {
            problems.push(problems::import::not_generated_with_key(&address(), &block.range));
        } else {
            found.push(block);
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

/// Whether the configuration has a resource block for the target of an import.
fn has_block(root: &CompiledModule, block: &ImportBlock) -> bool {
    let mut module = root;
    for (step, _) in &block.to.module {
        let Some(child) = module.children.get(&step.name) else { return false };
        module = child;
    }
    module.resources.contains_key(&block.to.resource)
}

/// Adds the resources of one more file, with this name and text, to the root module. Returns the module, the file, and
/// the problems of the file.
pub fn with_resources(
    root: &Arc<CompiledModule>,
    name: &str,
    text: &str,
) -> (Arc<CompiledModule>, SourceFiles, Vec<Diagnostic>) {
    let (file, mut problems) = weft_syntax::parse_file(name, text.into());
    let (added, together) = compile_module(Module::root(), &root.dir, std::slice::from_ref(&file), &[], &mut problems);
    problems.extend(together);
    let mut whole = CompiledModule::clone(root);
    whole.resources.extend(added.resources);
    (Arc::new(whole), SourceFiles::of(name, &file), problems)
}
