//! Override files. Their content replaces content of the other files of the module.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::explain::code;
use weft_graph_format::source::SourceRange;

use super::compiling::Compiling;
use super::content::{FoundBlock, OverrideBody};
use super::literal::literal_string;
use super::locals::local;
use super::{CompiledModule, problems, terraform, top_level};

/// The block types whose override blocks apply to one block of another file.
const OVERRIDING: &[&str] = &["variable", "output", "module", "resource", "data", "ephemeral", "provider"];

/// The alias of a provider block.
fn alias_of(block: &FoundBlock) -> Option<SmolStr> {
    let attribute = block.tree.argument(block.body, "alias")?;
    literal_string(&block.tree.expression(attribute.expression))
}

impl Compiling<'_> {
    /// Applies override blocks to the blocks that they override. Returns the override blocks of other types.
    pub(super) fn lay_over(&mut self, base: &mut Vec<FoundBlock>, above: Vec<FoundBlock>) -> Vec<FoundBlock> {
        let mut rest = Vec::new();
        let name = |block: &FoundBlock| {
            let labels: Vec<SmolStr> = block.labels.iter().map(|(text, _)| text.clone()).collect();
            let alias = if block.block_type == "provider" { alias_of(block) } else { None };
            (block.block_type, labels, alias)
        };
        let places: BTreeMap<_, usize> = base.iter().enumerate().rev().map(|(at, block)| (name(block), at)).collect();
        for block in above {
            if !OVERRIDING.contains(&block.block_type) {
                rest.push(block);
                continue;
            }
            let key = name(&block);
            match places.get(&key).and_then(|at| base.get_mut(*at)) {
                Some(below) => {
                    if let Some(found) = block.tree.argument(block.body, "depends_on")
                        && let Some(items) = block.tree.expression(found.expression).as_list()
                        && let Some(first) = items.first()
                    {
                        self.report_together(problems::overrides::depends_on(first.range()));
                    }
                    self.incomplete(&block);
                    let (tree, range) = (block.tree.clone(), block.range.clone());
                    below.layers.push(OverrideBody { tree, body: block.body, range });
                }
                // A default configuration can be declared in an override file only.
                None if block.block_type == "provider" && key.2.is_none() => base.push(block),
                None => {
                    self.incomplete(&block);
                    let problem = problems::overrides::missing_base(block.block_type, &key.1.join("."), &block.range);
                    match block.block_type {
                        "variable" => self.report(problem),
                        _ => self.report_together(problem),
                    }
                }
            }
        }
        rest
    }

    /// Reads a block with its overrides.
    ///
    /// Each block must also be valid on its own, even if it is overridden. Problems that were reported for single
    /// blocks are not repeated for the combined block.
    pub(super) fn overridden(&mut self, block: &FoundBlock) {
        if !block.layers.is_empty() {
            self.aside(&FoundBlock { layers: Vec::new(), ..block.clone() });
        }
        let known = self.diagnostics.len();
        top_level::block(self, block);
        if !block.layers.is_empty() {
            let found = self.diagnostics.split_off(known);
            let is_same =
                |one: &Diagnostic, other: &Diagnostic| one.subject == other.subject && code(one) == code(other);
            let is_new = |problem: &Diagnostic| !self.diagnostics.iter().any(|one| is_same(one, problem));
            let new: Vec<Diagnostic> = found.into_iter().filter(is_new).collect();
            self.diagnostics.extend(new);
        }
    }

    /// Reads an override block on its own, to report its problems. The block may be incomplete.
    fn incomplete(&mut self, block: &FoundBlock) {
        self.overriding = true;
        self.aside(block);
        self.overriding = false;
    }

    /// Reads a block on its own, to report its problems.
    fn aside(&mut self, block: &FoundBlock) {
        let (path, dir) = (self.module.path.clone(), self.module.dir.clone());
        let kept = std::mem::replace(&mut self.module, CompiledModule { path, dir, ..CompiledModule::default() });
        let together = std::mem::take(&mut self.together);
        let unfinished = std::mem::take(&mut self.unfinished);
        top_level::block(self, block);
        (self.module, self.together, self.unfinished) = (kept, together, unfinished);
    }

    /// Applies override blocks that replace parts of other blocks.
    pub(super) fn override_rest(&mut self, rest: &[FoundBlock]) {
        for block in rest {
            match block.block_type {
                "locals" => self.override_locals(block),
                "terraform" => {
                    let content = block.tree.content(block.body, &|name| terraform::RULES.role(name));
                    let body = &content.body;
                    if body.attribute("required_version").is_some() {
                        self.module.settings.required_versions.clear();
                    }
                    if body.blocks.iter().any(|inner| matches!(inner.block_type.text.as_str(), "backend" | "cloud")) {
                        // Blocks of earlier files are replaced. Two blocks in one file are duplicates.
                        let is_earlier = |range: &SourceRange| range.file != block.range.file;
                        let settings = &mut self.module.settings;
                        settings.backend.take_if(|backend| is_earlier(&backend.range));
                        settings.cloud.take_if(|cloud| is_earlier(&cloud.range));
                    }
                    // A `required_providers` block in an override file replaces single entries. Without this reset, it
                    // would be reported as a duplicate.
                    self.requirements = None;
                    // As in OpenTofu, `provider_meta` blocks of an override file have no effect.
                    let metas = std::mem::take(&mut self.module.settings.provider_metas);
                    self.overriding = true;
                    top_level::block(self, block);
                    self.overriding = false;
                    self.module.settings.provider_metas = metas;
                }
                other => {
                    // These blocks are read only to report their problems.
                    if matches!(other, "moved" | "removed" | "import") {
                        self.aside(block);
                    }
                    self.report_together(problems::overrides::unsupported_block(other, &block.range));
                }
            }
        }
    }

    fn override_locals(&mut self, block: &FoundBlock) {
        let tree = &block.tree;
        for attribute in &self.only_arguments(tree, block.body, "locals").attributes {
            let name = &attribute.name.text;
            if self.module.locals.remove(name).is_none() {
                self.report(problems::overrides::missing_local(name, tree.range(attribute.span)));
                continue;
            }
            local(self, tree, attribute);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    #[test]
    fn arguments_of_an_override_file_are_merged() {
        let dir = tempfile::tempdir().expect("a directory");
        let main = "locals {\n a = 1\n b = 2\n}\nresource \"a\" \"b\" {\n x = 1\n lifecycle {\n  prevent_destroy = true\n }\n}\n";
        let over = "locals {\n a = 3\n}\nresource \"a\" \"b\" {\n y = 2\n lifecycle {\n  create_before_destroy = true\n }\n}\n";
        std::fs::write(dir.path().join("main.tf"), main).expect("written");
        std::fs::write(dir.path().join("x_override.tf"), over).expect("written");
        let (root, _, problems) = crate::config::load_tree(dir.path(), &BTreeMap::new());
        assert_eq!(problems, Vec::new());
        assert_eq!(["a", "b"].map(|name| root.locals[name].value.text().to_owned()), ["3", "2"]);
        let block = root.resources.values().next().expect("the resource");
        let attributes = block.body.arguments().attributes;
        let names: Vec<&str> = attributes.iter().map(|(_, attribute)| attribute.name.text.as_str()).collect();
        assert_eq!(names, ["x", "y"]);
        assert!(block.lifecycle.prevent_destroy.is_some());
    }
}
