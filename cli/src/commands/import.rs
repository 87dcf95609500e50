//! `weft import`: adds an existing object to the state.
//!
//! The command works like an `import` block. Planning reads the object, and the result is written to the state,
//! together with the data sources and outputs of the plan. The rest of the plan is not used.

mod problems;

use std::sync::Arc;

use weft_evaluator::config::{CompiledModule, ImportBlock};
use weft_graph_format::address::{ResourceInstance, ResourceMode};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::graph::Action;
use weft_graph_format::plan_file::UiMode;
use weft_graph_format::source::Position;
use weft_state::tfstate::StateFile;
use weft_state::{Edit, EditAnswer};

use super::plan::Loaded;
use crate::addresses::{ONE_INSTANCE, invalid_address, written_instance};
use crate::command::{self, Command, Invocation, OnMistake};
use crate::edits::{refusal, writes};
use crate::exit::Exit;
use crate::options::{switch, text};
use crate::plan::{PARALLELISM, Wishes, negative_parallelism, prior_state};
use crate::runtime::block_on;
use crate::store::{self, Access};

/// The command.
pub const IMPORT: Command = Command {
    words: &["import"],
    alias: None,
    operands: "ADDRESS ID",
    about: "Add an existing object to the state",
    main: false,
    flags: &[
        command::VIEW_WITH_WARNINGS,
        command::JSON,
        command::INPUT,
        command::VARIABLES,
        command::LOCK,
        command::STATE,
        command::STORE,
        command::PARALLELISM,
        &[text("config", "DIR", "Directory of the configuration. [default: .]"), switch("ignore-remote-version", "")],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: true,
    run: |invocation| {
        invocation.view.tell_lines();
        import(invocation).unwrap_or_else(|exit| exit)
    },
};

fn import(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, view, .. } = invocation;
    let fail = |problem: Diagnostic| invocation.fail(&[problem]);
    let [address, id] = arguments.positionals.as_slice() else {
        return Err(invocation.mistake(&problems::import_arguments()));
    };
    if let Some(problem) = negative_parallelism(arguments) {
        return Err(invocation.mistake(&problem));
    }
    let address = parse(address).map_err(|problems| invocation.fail(&problems))?;
    if let Some(directory) = arguments.value("config")
        && let Err(error) = std::env::set_current_dir(directory)
    {
        return Err(fail(crate::commands::problems::directory_unusable(directory, &error)));
    }
    let mut loaded = Loaded::load(invocation, "Import", false)?;
    loaded.place.check_version(invocation)?;
    loaded.project.root = with_import(&loaded.project.root, &address, id).map_err(fail)?;
    let outcome = block_on(imported(invocation, &loaded, &address));
    let said = outcome.unwrap_or_else(|problem| Err(vec![problem])).map_err(|problems| invocation.fail(&problems))?;
    view.diagnostics(&said);
    view.line(&view.style().paint(
        "1;32",
        "\nImport successful!\n\nThe object is in the state now. The next apply changes it to match the configuration.",
    ));
    Ok(Exit::DONE)
}

fn parse(text: &str) -> Result<ResourceInstance, Vec<Diagnostic>> {
    let address = written_instance(text)
        .ok_or_else(|| invalid_address(text, Some(("<import-address>", Position::START)), ONE_INSTANCE))?;
    if address.resource.mode != ResourceMode::Managed {
        return Err(vec![problems::import_of_data()]);
    }
    Ok(address)
}

/// The configuration with this import instead of its own `import` blocks.
fn with_import(
    root: &Arc<CompiledModule>,
    address: &ResourceInstance,
    id: &str,
) -> Result<Arc<CompiledModule>, Diagnostic> {
    let mut module = root;
    for step in address.module.0.iter() {
        module = module.children.get(&step.name).ok_or_else(|| problems::no_module(&address.module))?;
    }
    let Some(block) = module.resources.get(&address.resource) else {
        return Err(problems::no_block(address));
    };
    let import = ImportBlock::of_object(address, id, block.range.clone())?;
    let mut changed = CompiledModule::clone(root);
    changed.statements.imports = vec![import];
    Ok(Arc::new(changed))
}

/// Reads the object and writes it to the state. Returns warnings.
async fn imported(
    invocation: &Invocation<'_>,
    loaded: &Loaded,
    address: &ResourceInstance,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let one = |problem: Diagnostic| vec![problem];
    let of_store = |error| vec![store::problem(&error)];
    let store = loaded.place.open(Access::Change).await.map_err(one)?;
    let snapshot = Arc::new(store.snapshot().await.map_err(of_store)?);
    let name = address.to_string();
    if snapshot.instances.get(address).is_some_and(|stored| stored.record.current.is_some()) {
        return Err(one(problems::already_managed(&name)));
    }
    let parallelism = invocation.arguments.count("parallelism");
    let parallelism = parallelism.unwrap_or(PARALLELISM);
    let mode = UiMode::RefreshOnly;
    let wishes = Wishes { mode, importing: true, parallelism, prior_state: true, ..Wishes::default() };
    let made = loaded.plan(invocation, snapshot.clone(), &wishes).await?;
    if has_errors(&made.diagnostics) {
        return Err(made.diagnostics);
    }
    let (text, outputs) = match made.file {
        Some(file) => (file.manifest.prior_state.unwrap_or_default(), file.changes.outputs),
        None => Default::default(),
    };
    let found = StateFile::parse(text.as_bytes(), "the imported state")
        .map_err(|error| one(crate::commands::problems::state_not_saved(&error)))?;
    if !found.instances.contains_key(&name) {
        return Err(one(problems::no_instance(&name)));
    }
    // The plan has also read data sources and evaluated outputs, and the edit stores both. The results of checks in the
    // plan are not stored, because they are about the objects before the import.
    let mut file = StateFile { checks: None, ..found };
    for (name, change) in &outputs {
        if change.action == Action::Delete {
            file.outputs.remove(name.as_str());
        } else if !change.after.is_wholly_known() {
            let record = prior_state::unsettled_output(&change.after, change.sensitive_after);
            file.outputs.extend(record.map(|record| (name.to_string(), record)));
        }
    }
    let edit = Edit { seen: snapshot.serial, writes: writes(&snapshot, &file), identity: None };
    match store.edit(edit).await.map_err(of_store)? {
        EditAnswer::Edited => Ok(made.diagnostics),
        refused => Err(one(refusal(&refused))),
    }
}
