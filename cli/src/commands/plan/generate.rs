//! `-generate-config-out`: writes configuration for imported objects whose resources have no block.
//!
//! The command makes two plans. The first plan only imports the objects into blocks without arguments. The arguments of
//! the generated blocks come from these objects. The second plan is the plan of the whole configuration with these
//! blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use weft_evaluator::config::{CompiledModule, ImportBlock, ProviderReference, imports_without_block, with_resources};
use weft_evaluator::selection::{SelectedAddress, Selection};
use weft_graph_format::address::{InstanceKey, ModuleInstance, ResourceInstance};
use weft_graph_format::changes::Importing;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::plan_file::{PlanFile, UiMode};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_state::Snapshot;
use weft_state::tfstate::StateFile;

use super::Loaded;
use crate::command::Invocation;
use crate::commands::state::schemas_of;
use crate::commands::validate::problems_of;
use crate::packages::InstalledPackages;
use crate::plan::{Wishes, selection};
use crate::problems;
use crate::render::schemas::{schema_of_record, stored_value};
use crate::runtime::block_on;

mod resource_block;

const HEADER: &str = "# __generated__ by OpenTofu\n\
    # Please review these resources and move them into your main configuration files.\n";

/// The generated blocks in the order of the `import` blocks, and the problems of objects without a generated block.
#[derive(Debug, Default)]
pub struct Generated {
    blocks: Vec<(ResourceInstance, String)>,
    /// The ids with which the objects were imported, as far as a plan has them.
    ids: BTreeMap<ResourceInstance, String>,
    problems: Vec<Diagnostic>,
}

/// Checks whether configuration can be generated into this file.
///
/// # Errors
/// Returns an error if the mode of the plan is not the normal one, or if the file already exists.
pub fn check(path: &str, mode: UiMode) -> Result<(), Diagnostic> {
    if mode != UiMode::Normal {
        return Err(problems::generation_in_other_mode());
    }
    if Path::new(path).exists() {
        return Err(problems::generated_file_exists(path));
    }
    Ok(())
}

impl Generated {
    /// Generates the missing blocks, and adds them to the configuration. If an object cannot be imported, the plan
    /// reports a problem, and the `import` block of the object is omitted.
    ///
    /// # Errors
    /// Returns an error if the first plan cannot be made, or if a block cannot be written.
    pub fn add(
        invocation: &Invocation<'_>,
        loaded: &mut Loaded,
        snapshot: &Arc<Snapshot>,
        wishes: &Wishes,
        path: &str,
    ) -> Result<Generated, Vec<Diagnostic>> {
        let mut root = CompiledModule::clone(&loaded.project.root);
        let without: Vec<ImportBlock> = imports_without_block(&root)?.into_iter().cloned().collect();
        let (wanted, others): (Vec<_>, Vec<_>) =
            without.into_iter().partition(|block| is_selected(&selection(&wishes.selected), &address_of(block)));
        // Objects outside of the selected part are not imported.
        root.statements.imports.retain(|block| !others.iter().any(|other| other.to.resource == block.to.resource));
        let root = Arc::new(root);
        loaded.project.root = root.clone();
        if wanted.is_empty() {
            return Ok(Generated::default());
        }
        // The configuration must be valid without the generated blocks, so it cannot refer to them.
        let (packages, _) = InstalledPackages::find(&invocation.context, &loaded.project.requirements(None)?, true)?;
        let found = block_on(problems_of(&invocation.context, vec![root.clone()], &packages));
        let found = found.map_err(|problem| vec![problem])?;
        if has_errors(&found) {
            let files = invocation.view.known_files();
            let advised = |problem: Diagnostic| {
                let text = problem.subject.as_ref().and_then(|range| files.part(range)).unwrap_or_default();
                let named = wanted.iter().map(|block| address_of(block).to_string());
                match named.into_iter().find(|address| is_reference_to(text, address)) {
                    Some(address) => problems::about_generated(problem, &address, path),
                    None => problem,
                }
            };
            return Err(found.into_iter().map(advised).collect());
        }
        let (found, problems) = imported(invocation, loaded, snapshot, wishes, &wanted)?;
        let schemas = schemas_of(invocation, &found)?;
        let mut generated = Generated { problems, ..Generated::default() };
        for block in &wanted {
            let address = address_of(block);
            let Some(record) = found.instances.get(&address.to_string()) else { continue };
            let Some(schema) = schema_of_record(&schemas, record) else { continue };
            let object = record.current.as_ref().and_then(|object| stored_value(object, Some(schema)));
            let object = object.unwrap_or_else(|| Value::null(Type::Dynamic));
            let provider = block.provider.as_ref().map(|provider| written(provider, invocation));
            let text = resource_block::text(&address.resource, provider.as_deref(), &schema.block, &object);
            generated.blocks.push((address, text));
        }
        let mut root = CompiledModule::clone(&root);
        let written = |block: &ImportBlock| generated.blocks.iter().any(|(address, _)| *address == address_of(block));
        let wanted: BTreeSet<_> = wanted.iter().map(|block| block.to.resource.clone()).collect();
        root.statements.imports.retain(|block| !wanted.contains(&block.to.resource) || written(block));
        let text = generated.text();
        loaded.project.root = with_text(invocation, &Arc::new(root), path, &text)?;
        Ok(generated)
    }

    /// Whether the generated blocks, in the file `path`, are the only cause of these errors.
    pub fn is_refused(&self, path: &str, problems: &[Diagnostic]) -> bool {
        let is_here = |problem: &Diagnostic| problem.subject.as_ref().is_some_and(|range| *range.file == *path);
        let mut errors = problems.iter().filter(|problem| problem.is_error()).peekable();
        !self.blocks.is_empty() && errors.peek().is_some() && errors.all(is_here)
    }

    /// Writes the file, and records the blocks in the plan, if there is one. Returns a warning if the file has any
    /// blocks, and the errors of objects that could not be imported.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written. Without the file, an apply of the plan would import objects that
    /// have no block, and the next plan would destroy these objects.
    pub fn save(mut self, path: &str, plan: Option<&mut PlanFile>) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        for change in plan.iter().flat_map(|plan| &plan.changes.resources) {
            if let Some(Importing::Id(id)) = change.importing.as_deref() {
                self.ids.insert(change.address.clone(), id.to_string());
            }
        }
        let mut said = self.problems.clone();
        if !self.blocks.is_empty() {
            let file = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
            if let Err(error) = file.and_then(|mut file| file.write_all(self.text().as_bytes())) {
                said.push(problems::generated_file_not_written(path, &error));
                return Err(said);
            }
            said.push(problems::generation_is_experimental());
        }
        let Some(plan) = plan else { return Ok(said) };
        plan.manifest.errored |= has_errors(&said);
        let texts = self.blocks.iter().map(|(address, text)| (address.to_string(), text.clone()));
        plan.manifest.generated = texts.collect();
        Ok(said)
    }

    /// The contents of the file.
    fn text(&self) -> String {
        let mut text = HEADER.to_owned();
        for (address, block) in &self.blocks {
            let from = self.ids.get(address).map(|id| format!(" from {id:?}")).unwrap_or_default();
            text.push_str(&format!("\n# __generated__ by OpenTofu{from}\n{block}\n"));
        }
        text
    }
}

/// Imports the objects of `wanted`. Returns a state with the objects, and the errors of objects that could not be
/// imported.
fn imported(
    invocation: &Invocation<'_>,
    loaded: &mut Loaded,
    snapshot: &Arc<Snapshot>,
    wishes: &Wishes,
    wanted: &[ImportBlock],
) -> Result<(StateFile, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut text = String::new();
    for block in wanted {
        let empty = Value::null(Type::Dynamic);
        let provider = block.provider.as_ref().map(|provider| written(provider, invocation));
        let schema = Default::default();
        text.push_str(&resource_block::text(&block.to.resource, provider.as_deref(), &schema, &empty));
        text.push('\n');
    }
    let mut root = CompiledModule::clone(&loaded.project.root);
    root.statements.imports = wanted.to_vec();
    loaded.project.root = with_text(invocation, &Arc::new(root), "<imported objects>", &text)?;
    let wishes = Wishes {
        mode: UiMode::RefreshOnly,
        importing: true,
        prior_state: true,
        configuration: false,
        quiet: true,
        selected: wanted.iter().map(|block| ("target", address_of(block).to_string())).collect(),
        parallelism: wishes.parallelism,
        ..Wishes::default()
    };
    let made = block_on(loaded.plan(invocation, snapshot.clone(), &wishes)).map_err(|problem| vec![problem])??;
    let problems = made.diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    let state = made.file.and_then(|file| file.manifest.prior_state);
    let found =
        state.map_or(Ok(StateFile::default()), |text| StateFile::parse(text.as_bytes(), "the imported objects"));
    let found = found.map_err(|error| vec![problems::imported_objects_unreadable(&error)])?;
    Ok((found, problems))
}

fn with_text(
    invocation: &Invocation<'_>,
    root: &Arc<CompiledModule>,
    name: &str,
    text: &str,
) -> Result<Arc<CompiledModule>, Vec<Diagnostic>> {
    let (root, sources, problems) = with_resources(root, name, text);
    invocation.view.know(&sources);
    if has_errors(&problems) { Err(problems) } else { Ok(root) }
}

/// Whether a text of the configuration is a reference to an object, or to a part of it.
fn is_reference_to(text: &str, address: &str) -> bool {
    text.strip_prefix(address).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn is_selected(selection: &Selection, address: &ResourceInstance) -> bool {
    let covered = |selected: &[SelectedAddress]| selected.iter().any(|one| one.covers(address));
    match selection {
        Selection::All => true,
        Selection::Only(targets) => covered(targets),
        Selection::AllBut(excluded) => !covered(excluded),
    }
}

fn address_of(block: &ImportBlock) -> ResourceInstance {
    ResourceInstance { module: ModuleInstance::root(), resource: block.to.resource.clone(), key: InstanceKey::None }
}

/// A reference to a provider in the syntax of the configuration.
fn written(provider: &ProviderReference, invocation: &Invocation<'_>) -> String {
    let files = invocation.view.known_files();
    let found = files.part(&provider.range);
    let alias = || provider.alias.as_ref().map(|alias| format!(".{alias}")).unwrap_or_default();
    found.map_or_else(|| format!("{}{}", provider.local_name, alias()), str::to_owned)
}
