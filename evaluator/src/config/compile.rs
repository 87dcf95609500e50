//! From the files of one module to what it declares.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{Module, ProviderSource};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_syntax::{Expression, Tree};

use super::blocks;
use super::content::{AttributeRule, BlockRule, Content, ContentRules, FoundBlock, read_content};
use super::meta::{literal_string, references_of};
use super::{BodySource, CompiledModule, Local, RequiredProvider};

const fn rule(name: &'static str, labels: &'static [&'static str]) -> BlockRule {
    BlockRule { name, labels }
}

const TOP_LEVEL: ContentRules = ContentRules {
    attributes: &[],
    blocks: &[
        rule("terraform", &[]),
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

const TERRAFORM: ContentRules = ContentRules {
    attributes: &[
        AttributeRule { name: "required_version", required: false },
        AttributeRule { name: "experiments", required: false },
    ],
    blocks: &[
        rule("required_providers", &[]),
        rule("backend", &["type"]),
        rule("cloud", &[]),
        rule("provider_meta", &["provider"]),
        rule("encryption", &[]),
    ],
    open: false,
};

/// Top-level blocks that a later version will know: using one is an error that names it, never ignored.
const NOT_YET: &[&str] = &["ephemeral", "moved", "removed", "import", "check", "language"];

/// What is filled while the blocks of a module are read.
pub(super) struct Compiling<'a> {
    pub(super) tree: Arc<Tree>,
    pub(super) module: CompiledModule,
    pub(super) diagnostics: &'a mut Vec<Diagnostic>,
    requirements: Option<SourceRange>,
}

impl Compiling<'_> {
    pub(super) fn error(&mut self, summary: &str, detail: impl Into<String>, at: &SourceRange) {
        self.diagnostics.push(Diagnostic::error(summary, detail.into()).at(at.clone()));
    }

    pub(super) fn content(&mut self, block: &FoundBlock, rules: &ContentRules) -> Content {
        let tree = self.tree.clone();
        let body = tree.body(block.body);
        let missing = missing_range(&tree, block);
        read_content(&tree, body, rules, &missing, self.diagnostics)
    }

    pub(super) fn body_source(
        &self,
        block: &FoundBlock,
        taken_attributes: &'static [&'static str],
        taken_blocks: &'static [&'static str],
    ) -> BodySource {
        BodySource {
            tree: self.tree.clone(),
            body: block.body,
            taken_attributes,
            taken_blocks,
            missing: missing_range(&self.tree, block),
        }
    }

    /// A name that must be an identifier.
    pub(super) fn identifier(&mut self, label: &(SmolStr, SourceRange), what: &str) -> bool {
        let valid = weft_syntax::is_identifier(&label.0);
        if !valid {
            self.error(
                &format!("Invalid {what} name"),
                "A name must start with a letter or underscore and may contain only letters, digits, underscores, and dashes.",
                &label.1,
            );
        }
        valid
    }

    /// A second declaration of the same name.
    pub(super) fn duplicate(&mut self, what: &str, name: &str, first: &SourceRange, second: &SourceRange) {
        self.error(
            &format!("Duplicate {what}"),
            format!(
                "{name:?} is declared at {}:{} already. Each name can be declared once in a module.",
                first.file, first.start.line
            ),
            second,
        );
    }

    pub(super) fn references(&mut self, expression: &Expression) -> Vec<crate::reference::Reference> {
        references_of(expression, self.diagnostics)
    }
}

/// Where a missing argument is reported: the opening line of the block.
pub(super) fn missing_range(_tree: &Tree, block: &FoundBlock) -> SourceRange {
    block.range.clone()
}

/// Reads all files of a module. Children are filled in by the loader.
pub(super) fn compile_module(
    path: Module,
    dir: &str,
    trees: &[Arc<Tree>],
    diagnostics: &mut Vec<Diagnostic>,
) -> CompiledModule {
    let Some(first) = trees.first() else {
        return CompiledModule { path, dir: dir.to_string(), ..CompiledModule::default() };
    };
    let mut compiling = Compiling {
        tree: first.clone(),
        module: CompiledModule { path, dir: dir.to_string(), ..CompiledModule::default() },
        diagnostics,
        requirements: None,
    };
    for tree in trees {
        compiling.tree = tree.clone();
        let start = tree.range(weft_syntax::Span { start: 0, end: 0 });
        let content = read_content(tree, tree.root_body(), &TOP_LEVEL, &start, compiling.diagnostics);
        for block in &content.blocks {
            compiling.block(block);
        }
    }
    compiling.module
}

impl Compiling<'_> {
    fn block(&mut self, block: &FoundBlock) {
        match block.block_type {
            "terraform" => self.terraform(block),
            "locals" => self.locals(block),
            "variable" => blocks::variable(self, block),
            "output" => blocks::output(self, block),
            "module" => blocks::module_call(self, block),
            "provider" => blocks::provider(self, block),
            "resource" | "data" => blocks::resource(self, block),
            other if NOT_YET.contains(&other) => self.error(
                "Block not supported yet",
                format!("Blocks of type {other:?} are part of the language, but this version of Weft cannot carry them out yet."),
                &block.range,
            ),
            _ => {}
        }
    }

    fn locals(&mut self, block: &FoundBlock) {
        let tree = self.tree.clone();
        let body = tree.body(block.body);
        for inner in &body.blocks {
            self.error(
                &format!("Unexpected {:?} block", inner.block_type.text.as_str()),
                "A locals block has no nested blocks: each local value is an argument.",
                &tree.range(inner.block_type.span),
            );
        }
        for attribute in &body.attributes {
            let name = attribute.name.text.clone();
            let range = tree.range(attribute.span);
            if let Some(first) = self.module.locals.get(&name) {
                let first = first.range.clone();
                self.duplicate("local value definition", &name, &first, &range);
                continue;
            }
            let value = tree.expression(attribute.expression);
            let references = self.references(&value);
            self.module.locals.insert(name.clone(), Arc::new(Local { name, value, references, range }));
        }
    }

    fn terraform(&mut self, block: &FoundBlock) {
        let content = self.content(block, &TERRAFORM);
        for inner in &content.blocks {
            match inner.block_type {
                "required_providers" => self.required_providers(inner),
                "backend" => self.backend(inner),
                other => self.error(
                    "Block not supported yet",
                    format!(
                        "A {other:?} block is part of the language, but this version of Weft does not know it yet."
                    ),
                    &inner.range,
                ),
            }
        }
        // `required_version` in .tf files speaks of another product; .tofu files are checked when that comes.
    }

    fn backend(&mut self, block: &FoundBlock) {
        let kind = block.labels[0].0.as_str();
        if !self.module.path.is_root() {
            self.diagnostics.push(
                Diagnostic::warning(
                    "Backend configuration ignored",
                    "Only the backend of the root module counts. A module that is called may be a root module \
                     elsewhere, so this is allowed, but it does nothing here.",
                )
                .at(block.range.clone()),
            );
            return;
        }
        if kind != "local" {
            self.error(
                "Backend not supported yet",
                format!(
                    "The backend {kind:?} is not one that this version of Weft can use. Use \"local\", or keep state in \
                     Redis with -store=redis://HOST/DB?state=NAME."
                ),
                &block.labels[0].1,
            );
            return;
        }
        if self.module.local_backend.is_some() {
            self.error("Duplicate backend configuration", "A module may have only one backend.", &block.range);
            return;
        }
        self.module.local_backend = Some(Arc::new(self.body_source(block, &[], &[])));
    }

    fn required_providers(&mut self, block: &FoundBlock) {
        if let Some(first) = &self.requirements {
            let place = format!("{}:{}", first.file, first.start.line);
            self.error(
                "Duplicate required providers configuration",
                format!("A module may have only one required_providers block; the first is at {place}."),
                &block.range,
            );
            return;
        }
        self.requirements = Some(block.range.clone());
        let tree = self.tree.clone();
        let body = tree.body(block.body);
        for attribute in &body.attributes {
            let name = attribute.name.text.clone();
            let range = tree.range(attribute.name.span);
            let value = tree.expression(attribute.expression);
            if let Some(required) = self.required_provider(&name, &value, range) {
                self.module.required_providers.insert(name, required);
            }
        }
    }

    fn required_provider(
        &mut self,
        name: &SmolStr,
        value: &Expression,
        range: SourceRange,
    ) -> Option<RequiredProvider> {
        if let Some(version) = value.as_string_literal() {
            return Some(RequiredProvider {
                source: ProviderSource::default_for(name),
                version: Some(version),
                configuration_aliases: Vec::new(),
                range,
            });
        }
        let Some(entries) = value.as_map() else {
            self.error(
                "Invalid required_providers object",
                "An entry of required_providers must be an object with source and version, or a version constraint.",
                &value.range(),
            );
            return None;
        };
        let mut required = RequiredProvider {
            source: if name == "terraform" {
                ProviderSource::builtin("terraform")
            } else {
                ProviderSource::default_for(name)
            },
            version: None,
            configuration_aliases: Vec::new(),
            range,
        };
        let mut seen: BTreeMap<SmolStr, ()> = BTreeMap::new();
        for (key, entry) in entries {
            let key_text = key.as_keyword().map(SmolStr::new).or_else(|| key.as_string_literal());
            let key_text = key_text.unwrap_or_default();
            seen.insert(key_text.clone(), ());
            match key_text.as_str() {
                "source" => {
                    let Some(text) = literal_string(&entry) else {
                        self.error(
                            "Invalid source",
                            "The source of a provider must be a quoted string.",
                            &entry.range(),
                        );
                        return None;
                    };
                    match text.parse::<ProviderSource>() {
                        Ok(source) => required.source = source,
                        Err(problem) => {
                            self.error("Invalid provider source string", format!("{problem}."), &entry.range());
                            return None;
                        }
                    }
                }
                "version" => match literal_string(&entry) {
                    Some(text) => required.version = Some(text),
                    None => {
                        self.error(
                            "Invalid version constraint",
                            "The version must be a quoted string.",
                            &entry.range(),
                        );
                    }
                },
                "configuration_aliases" => {
                    for alias in entry.as_list().unwrap_or_default() {
                        match super::meta::provider_name(&alias) {
                            Some((local, alias_name, None)) => {
                                required.configuration_aliases.push((local, alias_name));
                            }
                            _ => self.error(
                                "Invalid configuration_aliases value",
                                "Each entry must be a provider's local name and an alias, such as aws.west.",
                                &alias.range(),
                            ),
                        }
                    }
                }
                other => {
                    let at = key.range();
                    self.error(
                        "Invalid required_providers object",
                        format!(
                            "required_providers objects have source, version and configuration_aliases, not {other:?}."
                        ),
                        &at,
                    );
                }
            }
        }
        Some(required)
    }
}
