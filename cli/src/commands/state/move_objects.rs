//! `weft state mv`: moves objects to other addresses, in the same state or in another file.

use std::path::PathBuf;

use weft_graph_format::address::{
    AbsResource, ConfigResource, InstanceKey, Module, ModuleInstance, Resource, ResourceInstance, ResourceMode,
};
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::InstanceRecord;
use weft_state::tfstate::StateFile;

use super::selection::StateSelector;
use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::commands::state::problems as state_problems;
use crate::edits::{Change, change, file_of};
use crate::exit::Exit;
use crate::options::{switch, text};
use crate::project::Project;
use crate::store::StoreLocation;

/// The command.
pub const MOVE: Command = Command {
    words: &["state", "mv"],
    alias: Some("move"),
    operands: "FROM TO",
    about: "Move objects to another address",
    main: false,
    flags: &[
        command::VIEW,
        command::JSON,
        command::VARIABLES_UNLISTED,
        command::LOCK,
        command::STATE,
        command::STORE,
        &[
            switch("dry-run", "Only print what would be moved."),
            switch("ignore-remote-version", ""),
            text("backup-out", "FILE", "Back up the previous state of -state-out to FILE."),
        ],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: true,
    run: |invocation| {
        invocation.view.tell_lines();
        run(invocation).unwrap_or_else(|exit| exit)
    },
};

/// One move: its source, its target, and the moved instances.
#[derive(Debug)]
struct Move {
    from: StateSelector,
    to: StateSelector,
    instances: Vec<(ResourceInstance, ResourceInstance)>,
}

fn run(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, view, .. } = invocation;
    let [from, to] = arguments.positionals.as_slice() else {
        return Err(invocation.mistake(&problems::two_arguments()));
    };
    let parse = |text: &str| StateSelector::parse(text).map_err(|problems| invocation.fail(&problems));
    let (from, to) = (parse(from)?, parse(to)?);
    let dry = arguments.switch("dry-run", false);
    let source = StoreLocation::for_edit(invocation, "state-mv", true)?;
    let target = arguments
        .value("state-out")
        .filter(|out| Some(*out) != arguments.value("state"))
        .map(|path| StoreLocation::other_file(invocation, PathBuf::from(path), arguments.value("backup-out")))
        .transpose()
        .map_err(|problems| invocation.fail(&problems))?;
    let moves = match target {
        None => change(invocation, &source, |snapshot| {
            super::present(snapshot)?;
            Project::refuse_wrong(invocation)?;
            let mut file = file_of(snapshot);
            let moves = plan(&from, &to, &file, &file)?;
            let taken = take(&mut file, &moves);
            put(&mut file, taken, &from);
            Ok((if dry { Change::Nothing } else { Change::Content(Box::new(file)) }, moves))
        })?,
        Some(target) => {
            // The target is written before the source. So an interruption can leave the objects in both states, but the
            // objects are never lost.
            let seen = change(invocation, &source, |snapshot| {
                super::present(snapshot)?;
                Project::refuse_wrong(invocation)?;
                Ok((Change::Nothing, file_of(snapshot)))
            })?;
            let moves = change(invocation, &target, |snapshot| {
                let mut file = file_of(snapshot);
                let moves = plan(&from, &to, &seen, &file)?;
                let taken = take(&mut seen.clone(), &moves);
                put(&mut file, taken, &from);
                Ok((if dry { Change::Nothing } else { Change::Content(Box::new(file)) }, moves))
            })?;
            change(invocation, &source, |snapshot| {
                let mut file = file_of(snapshot);
                take(&mut file, &moves);
                Ok((if dry { Change::Nothing } else { Change::Content(Box::new(file)) }, ()))
            })?;
            moves
        }
    };
    let word = if dry { "Would move" } else { "Move" };
    for moved in &moves {
        view.line(&format!("{word} {} to {}", quoted(&moved.from), quoted(&moved.to)));
    }
    if !dry {
        view.sentence(&format!("Successfully moved {} object(s)", moves.len()));
    }
    Ok(Exit::DONE)
}

fn quoted(selection: &StateSelector) -> String {
    let text = match selection {
        StateSelector::Module(module) => module.to_string(),
        StateSelector::Resource(resource) => resource.to_string(),
        StateSelector::Instance(instance) => instance.to_string(),
    };
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The moves, after checks against both states.
fn plan(
    from: &StateSelector,
    to: &StateSelector,
    source: &StateFile,
    target: &StateFile,
) -> Result<Vec<Move>, Vec<Diagnostic>> {
    let invalid_target = |what: String| vec![state_problems::invalid_move_target(what)];
    let mut found = from.of(source);
    if let StateSelector::Module(module) = from {
        // Only the module instance with this address is moved. An address without a key means the only instance of a
        // call that has neither `count` nor `for_each`.
        found.retain(|address| address.module.0.starts_with(&module.0));
    }
    if found.is_empty() {
        return Err(vec![state_problems::invalid_move_source(&quoted(from).to_string())]);
    }
    let cannot = |why: &str| invalid_target(format!("Cannot move {} to {}: {why}.", quoted(from), quoted(to)));
    let moves = match (from, to) {
        (StateSelector::Module(outer), StateSelector::Module(goal)) => modules(outer, goal, &found),
        (StateSelector::Module(_), _) => return Err(cannot("the target must also be a module")),
        (StateSelector::Resource(resource), _) if found.iter().any(|address| address.key == InstanceKey::None) => {
            // The resource has neither `count` nor `for_each`, so it has one instance. Only this instance is moved, so
            // that its target can have a key.
            vec![instance(&one(resource, InstanceKey::None), to).ok_or_else(|| cannot("the target is a module"))?]
        }
        (StateSelector::Resource(_), StateSelector::Resource(goal)) => {
            let rename = |address: &ResourceInstance| {
                let key = address.key.clone();
                (address.clone(), one(goal, key))
            };
            let instances = found.iter().map(rename).collect();
            vec![Move { from: from.clone(), to: to.clone(), instances }]
        }
        (StateSelector::Resource(_), _) => {
            return Err(cannot(
                "the source is a whole resource (not a resource instance) so the target must also be a whole resource",
            ));
        }
        (StateSelector::Instance(address), _) => {
            vec![instance(address, to).ok_or_else(|| cannot("the target must also be a resource instance"))?]
        }
    };
    for moved in &moves {
        keeps_type(moved).map_err(|problem| vec![problem])?;
        let occupied = |selection: &StateSelector| match selection {
            // Only objects of exactly this module instance count. For the same call, a state can contain instances with
            // keys and an instance without a key.
            StateSelector::Module(module) => {
                let mut addresses = target.instances.values().map(|record| &record.address);
                addresses.any(|address| address.resource.is_valid() && address.module == *module)
            }
            other => !other.of(target).is_empty(),
        };
        let kind = match &moved.to {
            StateSelector::Module(_) => "module",
            StateSelector::Resource(_) => "resource",
            StateSelector::Instance(_) => "resource instance",
        };
        let single = matches!(moved.to, StateSelector::Instance(_));
        let taken = if single {
            moved.instances.iter().any(|(_, after)| target.instances.contains_key(&after.to_string()))
        } else {
            occupied(&moved.to)
        };
        if taken {
            return Err(cannot(&format!("there is already a {kind} at that address in the current state")));
        }
    }
    Ok(moves)
}

/// Checks that each instance keeps its mode and type.
fn keeps_type(moved: &Move) -> Result<(), Diagnostic> {
    for (before, after) in &moved.instances {
        if before.resource.mode != after.resource.mode {
            let word = |mode| if mode == ResourceMode::Managed { "managed resource" } else { "data resource" };
            return Err(state_problems::invalid_move_request(format!(
                "Cannot move {before} to {after}: a {} cannot become a {}.",
                word(before.resource.mode),
                word(after.resource.mode)
            )));
        }
        if before.resource.type_name != after.resource.type_name {
            let what = format!("Cannot move {before} to {after}: resource types don't match.");
            return Err(state_problems::invalid_move_request(what));
        }
    }
    Ok(())
}

fn one(resource: &AbsResource, key: InstanceKey) -> ResourceInstance {
    ResourceInstance { module: resource.module.clone(), resource: resource.resource.clone(), key }
}

/// The move of one instance. `None` if the target is a module.
fn instance(address: &ResourceInstance, goal: &StateSelector) -> Option<Move> {
    let after = match goal {
        StateSelector::Module(_) => return None,
        StateSelector::Resource(resource) => one(resource, InstanceKey::None),
        StateSelector::Instance(instance) => instance.clone(),
    };
    let shown = |address: &ResourceInstance| StateSelector::Instance(address.clone());
    Some(Move { from: shown(address), to: shown(&after), instances: vec![(address.clone(), after)] })
}

/// The moves of module instances, outermost first.
fn modules(outer: &ModuleInstance, goal: &ModuleInstance, found: &[ResourceInstance]) -> Vec<Move> {
    let mut moves: Vec<Move> = Vec::new();
    for address in found {
        let module = &address.module;
        let below = module.0.get(outer.0.len()..).unwrap_or_default();
        let after = ModuleInstance(goal.0.iter().chain(below).cloned().collect());
        let moved = (address.clone(), ResourceInstance { module: after.clone(), ..address.clone() });
        let from = StateSelector::Module(module.clone());
        match moves.iter_mut().find(|known| known.from == from) {
            Some(known) => known.instances.push(moved),
            None => moves.push(Move { from, to: StateSelector::Module(after), instances: vec![moved] }),
        }
    }
    moves
}

/// Removes the records of all moved instances from a state. Returns them with their new addresses.
fn take(file: &mut StateFile, moves: &[Move]) -> Vec<(ResourceInstance, InstanceRecord)> {
    let instances = moves.iter().flat_map(|moved| &moved.instances);
    instances.filter_map(|(before, after)| Some((after.clone(), file.instances.remove(&before.to_string())?))).collect()
}

/// Adds records at their new addresses. Clears recorded dependencies on the moved objects.
fn put(file: &mut StateFile, records: Vec<(ResourceInstance, InstanceRecord)>, from: &StateSelector) {
    for (address, mut record) in records {
        let resource = Resource { mode: record.mode(), ..address.resource };
        record.address = ResourceInstance { resource, ..address };
        file.instances.insert(record.address.to_string(), record);
    }
    for record in file.instances.values_mut() {
        for object in record.current.iter_mut() {
            let stale =
                |text: &String| text.parse::<ConfigResource>().is_ok_and(|dependency| touches(from, &dependency));
            if object.dependencies.iter().any(stale) {
                object.dependencies.clear();
            }
        }
    }
}

/// Whether a recorded dependency is the moved resource, or in the moved module. Dependencies have no keys, so they
/// never refer to a single instance of a module.
fn touches(selection: &StateSelector, dependency: &ConfigResource) -> bool {
    let of = |module: &ModuleInstance, resource: &Resource| {
        dependency.module == unkeyed(module) && dependency.resource == *resource
    };
    match selection {
        StateSelector::Module(module) => {
            module.0.iter().all(|step| step.key == InstanceKey::None)
                && dependency.module.0.starts_with(&unkeyed(module).0)
        }
        StateSelector::Resource(resource) => of(&resource.module, &resource.resource),
        StateSelector::Instance(instance) => of(&instance.module, &instance.resource),
    }
}

fn unkeyed(module: &ModuleInstance) -> Module {
    Module(module.0.iter().map(|step| step.name.clone()).collect())
}
