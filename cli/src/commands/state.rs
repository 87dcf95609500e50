//! `weft state ...`: shows the state (`list`, `show`, `pull`), and changes it outside of runs.

mod move_objects;
pub mod problems;
mod push;
mod remove;
mod replace_provider;
mod selection;

pub use move_objects::MOVE;
pub use push::PUSH;
pub use remove::REMOVE;
pub use replace_provider::REPLACE_PROVIDER;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use selection::StateSelector;
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::diagnostic::Diagnostic;
use weft_planner::ProviderSet;
use weft_providers::ProviderPool;
use weft_providers::constraint::Constraints;
use weft_providers::packages::{Requirements, require};
use weft_state::tfstate::StateFile;
use weft_state::{InstanceObject, InstanceRecord, PathStep, Snapshot, StoreError};

use crate::addresses::{escaped, written_instance};
use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::options::text;
use crate::packages::{InstalledPackages, pool_options, require_locked};
use crate::project::Project;
use crate::render::schemas::fitting;
use crate::render::state::{self as render, Schemas};
use crate::render::style::Style;
use crate::render::{events, show_json};
use crate::runtime::block_on;
use crate::store::{self, StoreLocation};

/// The command.
pub const LIST: Command = Command {
    words: &["state", "list"],
    alias: Some("ls"),
    operands: "[ADDRESS...]",
    about: "List the resource instances in the state",
    main: false,
    flags: &[
        command::VIEW,
        command::JSON,
        command::VARIABLES_UNLISTED,
        command::STORE,
        &[
            text("state", "FILE", "Read the state from FILE. [default: terraform.tfstate]"),
            text("id", "ID", "List only the instances with this id."),
        ],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: true,
    run: |invocation| {
        invocation.view.tell_lines();
        list(invocation).unwrap_or_else(|exit| exit)
    },
};

/// The command.
pub const SHOW: Command = Command {
    words: &["state", "show"],
    alias: None,
    operands: "ADDRESS",
    about: "Show a resource instance in the state",
    flags: &[
        command::VIEW,
        command::JSON,
        command::SENSITIVE,
        command::VARIABLES_UNLISTED,
        command::STORE,
        &[text("state", "FILE", "Read the state from FILE. [default: terraform.tfstate]")],
    ],
    run: |invocation| {
        invocation.view.tell_lines();
        show(invocation).unwrap_or_else(|exit| exit)
    },
    events: true,
    ..LIST
};

/// The command.
pub const PULL: Command = Command {
    words: &["state", "pull"],
    alias: None,
    operands: "",
    about: "Print the state in format version 4",
    flags: &[command::VIEW, command::VARIABLES_UNLISTED, command::STORE],
    events: false,
    run: |invocation| pull(invocation).unwrap_or_else(|exit| exit),
    ..LIST
};

/// The current state. `None` if there is none yet.
///
/// # Errors
/// Returns an error if the state cannot be read, or if the configuration that determines its location has errors.
pub fn current(invocation: &Invocation<'_>) -> Result<Option<StateFile>, Vec<Diagnostic>> {
    let Some((bytes, place)) = exported(invocation)? else { return Ok(None) };
    StateFile::parse(&bytes, &place).map(Some).map_err(|error| vec![problems::state_not_loaded(&error)])
}

fn exported(invocation: &Invocation<'_>) -> Result<Option<(Vec<u8>, String)>, Vec<Diagnostic>> {
    let place = StoreLocation::find(&invocation.context, &invocation.arguments, None)?;
    require_locked(&invocation.context)?;
    if let StoreLocation::Embedded(options) = &place {
        let folder = options.state.parent().map(PathBuf::from).unwrap_or_default();
        if !folder.as_os_str().is_empty() && !folder.exists() {
            return Ok(None);
        }
    }
    block_on(async {
        let Some(store) = place.open_existing().await? else { return Ok(None) };
        match store.export().await {
            Ok(bytes) => Ok(bytes.map(|bytes| (bytes, store.place()))),
            Err(StoreError::NoState(_)) => Ok(None),
            Err(error) => Err(store::problem(&error)),
        }
    })
    .and_then(|exported| exported)
    .map_err(|problem| vec![problem])
}

/// The schemas of the providers of the objects in a state.
///
/// # Errors
/// Returns an error if a provider is not installed.
pub fn schemas_of(invocation: &Invocation<'_>, state: &StateFile) -> Result<Schemas, Vec<Diagnostic>> {
    let mut requirements = Requirements::new();
    let of_objects = state.instances.values().filter_map(|record| record.provider.source().cloned());
    let of_bare = state.bare_resources().into_iter().map(|bare| bare.provider.source);
    for source in of_objects.chain(of_bare) {
        require(&mut requirements, source, &Constraints::any());
    }
    let (packages, _) = InstalledPackages::find_with(&invocation.context, &Requirements::new(), &requirements, true)?;
    let sources: Vec<_> = requirements.into_keys().collect();
    let read = block_on(async {
        let pool = ProviderPool::new(pool_options(&invocation.context));
        let providers = Arc::new(ProviderSet::new(packages.plugins(), pool, 1));
        let mut schemas = Schemas::new();
        for source in sources {
            if let Ok(schema) = providers.schema(&source).await {
                schemas.insert(source, schema);
            }
        }
        providers.close().await;
        schemas
    });
    Ok(read.unwrap_or_default())
}

/// Returns an error if there is no state.
pub fn present(snapshot: &Snapshot) -> Result<(), Vec<Diagnostic>> {
    if snapshot.serial == 0 && snapshot.is_empty() { Err(vec![none_found()]) } else { Ok(()) }
}

fn none_found() -> Diagnostic {
    problems::no_state_file()
}

fn list(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, view, .. } = invocation;
    let fail = |problem: Diagnostic| invocation.fail(&[problem]);
    let state = current(invocation).map_err(|problems| invocation.fail(&problems))?;
    let Some(state) = state else {
        return Err(fail(none_found()));
    };
    let mut all: Vec<(&ResourceInstance, &InstanceObject)> = state
        .instances
        .values()
        .filter_map(|record| {
            let object = record.current.as_ref().or_else(|| record.deposed.values().next())?;
            record.address.resource.is_valid().then_some((&record.address, object))
        })
        .collect();
    all.sort_by(|(a, _), (b, _)| a.in_lists().cmp(&b.in_lists()));
    let wanted = arguments.positionals.iter().map(|text| StateSelector::parse(text)).collect::<Result<Vec<_>, _>>();
    let wanted = wanted.map_err(|problems| invocation.fail(&problems))?;
    let id = arguments.value("id");
    let has_id = |object: &InstanceObject| id.is_none_or(|id| has_id(object, id));
    let mut lines = String::new();
    let mut print = |address: &ResourceInstance, object: &InstanceObject| {
        if has_id(object) {
            lines.push_str(&format!("{address}\n"));
            view.event(events::resource_address(address));
        }
    };
    if wanted.is_empty() {
        all.iter().for_each(|(address, object)| print(address, object));
    }
    for wanted in wanted {
        let mut found = all.iter().filter(|(address, _)| wanted.matches(address)).peekable();
        if found.peek().is_none() {
            return Err(fail(wanted.missing()));
        }
        found.for_each(|(address, object)| print(address, object));
    }
    if !view.is_json() {
        view.document(&lines);
    }
    Ok(Exit::DONE)
}

fn has_id(object: &InstanceObject, id: &str) -> bool {
    let attributes: serde_json::Value = serde_json::from_str(object.attributes.as_str()).unwrap_or_default();
    let hidden = object.sensitive_paths.iter().any(|path| path.first() == Some(&PathStep::Attribute("id".to_owned())));
    !hidden && attributes.get("id").and_then(serde_json::Value::as_str) == Some(id)
}

fn show(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, view, .. } = invocation;
    let fail = |problem: Diagnostic| invocation.fail(&[problem]);
    let [text] = arguments.positionals.as_slice() else {
        return Err(invocation.mistake(&super::problems::one_argument()));
    };
    let address =
        written_instance(text).ok_or_else(|| fail(problems::invalid_instance_address(text, &escaped(text))))?;
    let state = current(invocation).map_err(|problems| invocation.fail(&problems))?;
    let state = state.ok_or_else(|| fail(none_found()))?;
    // `weft show` also prints deposed objects. This command prints only the current object.
    let record = state.instances.get(&address.to_string()).filter(|record| record.current.is_some());
    let Some(record) = record.map(|record| InstanceRecord { deposed: BTreeMap::new(), ..record.clone() }) else {
        return Err(fail(problems::no_instance()));
    };
    Project::refuse_wrong(invocation).map_err(|problems| invocation.fail(&problems))?;
    let schemas = schemas_of(invocation, &state).map_err(|problems| invocation.fail(&problems))?;
    fitting(&schemas, std::iter::once(&record)).map_err(fail)?;
    if view.takes_events() {
        let instances = [(address.to_string(), record.clone())].into_iter().collect();
        let alone = StateFile { instances, terraform_version: state.terraform_version.clone(), ..StateFile::default() };
        view.event_document(&show_json::state(Some(&alone), &schemas));
    }
    if !view.is_json() {
        // As in OpenTofu, the output has colors even if the standard output is not a terminal.
        let style = Style { colour: !view.escape("0").is_empty(), ..*view.style() };
        let text = render::instance(&record, &schemas, &style);
        view.document(&format!("{}\n", text.trim_end_matches('\n')));
    }
    Ok(Exit::DONE)
}

fn pull(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    invocation.at_most(0, crate::commands::problems::too_many_arguments)?;
    let exported = exported(invocation).map_err(|problems| invocation.fail(&problems))?;
    Project::refuse_wrong(invocation).map_err(|problems| invocation.fail(&problems))?;
    let doubts = block_on(async {
        let place = StoreLocation::find(&invocation.context, &invocation.arguments, None).ok()?;
        Some(place.snapshot().await.ok()?.doubts)
    });
    for doubt in doubts.ok().flatten().unwrap_or_default().values() {
        invocation.view.diagnostics(&[problems::instance_in_doubt(doubt)]);
    }
    if let Some((bytes, _)) = exported {
        invocation.view.document(&String::from_utf8_lossy(&bytes));
    }
    Ok(Exit::DONE)
}
