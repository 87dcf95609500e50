//! `weft show`: shows a plan file or the state, as text or JSON.

mod problems;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value as Json;
use weft_evaluator::document::{DocumentInputs, document};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::plan_file::{PlanFile, PlanFileError};
use weft_planner::ProviderSet;
use weft_providers::ProviderPool;
use weft_sealing::Sealing;
use weft_state::tfstate::StateFile;

use super::state::{current, schemas_of};
use crate::command::{self, Command, Invocation, OnMistake};
use crate::context::is_directory;
use crate::exit::Exit;
use crate::options::text;
use crate::packages::{InstalledPackages, pool_options, require_for_plan};
use crate::plan::configuration;
use crate::project::Project;
use crate::render::schemas::fitting;
use crate::render::state::Schemas;
use crate::render::{plan, show_json, state};
use crate::root::read_alone;
use crate::runtime::block_on;
use crate::sealing::{PlanUnread, plan_reader, read_state};

/// The command.
pub const SHOW: Command = Command {
    words: &["show"],
    alias: None,
    operands: "[PATH]",
    about: "Show the state or a plan file",
    main: false,
    flags: &[
        command::VIEW,
        command::DOCUMENT,
        command::COMPACT,
        command::SENSITIVE,
        command::VARIABLES,
        command::STORE,
        &[
            crate::options::switch("state", "Show the state (the default)."),
            text("plan", "FILE", "Show the plan in FILE."),
            text("module", "DIR", "Describe the module in DIR. Only with -json."),
            crate::options::switch("config", "Describe the configuration. Only with -json."),
        ],
    ],
    mixed: false,
    on_mistake: OnMistake::Hint,
    check: command::unchecked,
    events: false,
    run: |invocation| show(invocation).unwrap_or_else(|exit| exit),
};

/// The contents of a file that the command shows.
enum ShownFile {
    /// A plan, with the digest of its file.
    Plan(Box<PlanFile>, String),
    State(Option<StateFile>),
}

fn show(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, view, .. } = invocation;
    invocation.at_most(1, crate::commands::problems::show_arguments)?;
    let fail = |problem: Diagnostic| invocation.fail(&[problem]);
    let forms = [arguments.positionals.first().map(String::as_str), arguments.value("plan")];
    let config = arguments.switch("config", false);
    let module = arguments.value("module");
    let switches = usize::from(config) + usize::from(arguments.switch("state", false));
    let options = forms.iter().skip(1).flatten().count() + switches + usize::from(module.is_some());
    if options > 0 && forms[0].is_some() {
        return Err(invocation.mistake(&problems::argument_with_show_option()));
    }
    if options > 1 {
        return Err(invocation.mistake(&problems::conflicting_show_options()));
    }
    if let Some(directory) = module {
        return module_alone(invocation, directory);
    }
    if config {
        return configured(invocation);
    }
    let content = match forms {
        [None, None] => ShownFile::State(current(invocation).map_err(|problems| invocation.fail(&problems))?),
        [Some(path), _] => of_file(invocation, path)?,
        [_, Some(path)] => match of_file(invocation, path)? {
            ShownFile::State(_) => {
                return Err(fail(problems::state_instead_of_plan(path)));
            }
            plan => plan,
        },
    };
    if matches!(content, ShownFile::State(Some(_))) {
        Project::refuse_wrong(invocation).map_err(|problems| invocation.fail(&problems))?;
    }
    let schemas = match &content {
        ShownFile::State(Some(file)) if !file.is_empty() => {
            schemas_of(invocation, file).map_err(|problems| invocation.fail(&problems))?
        }
        _ => Schemas::new(),
    };
    if let ShownFile::State(Some(file)) = &content {
        fitting(&schemas, file.instances.values()).map_err(fail)?;
    }
    let document = || match &content {
        ShownFile::Plan(file, digest) => described(file, digest).to_string() + "\n",
        ShownFile::State(file) => show_json::state(file.as_ref(), &schemas).to_string() + "\n",
    };
    if invocation.document(document)? {
        return Ok(Exit::DONE);
    }
    match content {
        ShownFile::Plan(file, digest) => {
            view.line(&plan::human(&file, view.style()));
            view.aside(&plan::digest_line(&digest));
        }
        ShownFile::State(None) => view.line("No state."),
        ShownFile::State(Some(file)) => {
            let text = state::human(&file, &schemas, view.style());
            // Resources without instances have no text.
            if !text.is_empty() {
                view.line(&text);
            }
        }
    }
    Ok(Exit::DONE)
}

/// A plan as a document, with the digest of its file.
fn described(plan: &PlanFile, digest: &str) -> Json {
    let mut document = show_json::plan(plan);
    if let Some(fields) = document.as_object_mut() {
        fields.insert("plan_digest".to_owned(), digest.into());
    }
    document
}

/// Prints one module as a document, without the modules that it calls and without values.
fn module_alone(invocation: &Invocation<'_>, directory: &str) -> Result<Exit, Exit> {
    if !invocation.arguments.switch("json", false) {
        return Err(invocation.mistake(&problems::module_without_json()));
    }
    // As in OpenTofu, the settings for encryption are read, so errors in the current directory count.
    sealing(invocation)?;
    if !is_directory(Path::new(directory)) {
        return Err(invocation.fail(&[problems::no_directory(directory)]));
    }
    let (root, sources, problems) = read_alone(&invocation.context, &invocation.arguments, Path::new(directory));
    invocation.view.know(&sources);
    if has_errors(&problems) {
        return Err(invocation.fail(&problems));
    }
    let schemas = BTreeMap::new();
    let constraints = |module: &_| configuration::constraints(module);
    let inputs = DocumentInputs { schemas: &schemas, sources: &sources, constraints: &constraints, alone: true };
    invocation.view.document(&(document(&root, &inputs).to_string() + "\n"));
    Ok(Exit::DONE)
}

/// Prints the configuration of the current directory as a document.
fn configured(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    if !invocation.arguments.switch("json", false) {
        return Err(invocation.mistake(&problems::configuration_without_json()));
    }
    let fail = |problems: Vec<Diagnostic>| invocation.fail(&problems);
    let project = Project::load(invocation).map_err(fail)?;
    let requirements = project.requirements(None).map_err(fail)?;
    let (packages, _) = InstalledPackages::find(&invocation.context, &requirements, true).map_err(fail)?;
    let sources = invocation.view.known_files();
    let text = block_on(async {
        let pool = ProviderPool::new(pool_options(&invocation.context));
        let providers = ProviderSet::new(packages.plugins(), pool, 1);
        let text = configuration::text(&project.root, &sources, &providers).await;
        providers.close().await;
        text
    });
    invocation.view.document(&(text.map_err(|problem| invocation.fail(&[problem]))? + "\n"));
    Ok(Exit::DONE)
}

fn sealing(invocation: &Invocation<'_>) -> Result<Arc<Sealing>, Exit> {
    invocation.context.sealing(&invocation.arguments, None).map_err(|problems| invocation.fail(&problems))
}

fn of_file(invocation: &Invocation<'_>, path: &str) -> Result<ShownFile, Exit> {
    let fail = |problem: Diagnostic| Err(invocation.fail(&[problem]));
    let sealing = sealing(invocation)?;
    match plan_reader(&sealing, path).and_then(|reader| Ok((reader.whole()?, reader.digest()?))) {
        Ok((plan, digest)) => {
            let usable = require_for_plan(&invocation.context, &plan.manifest, false);
            usable.map_err(|problems| invocation.fail(&problems))?;
            Ok(ShownFile::Plan(Box::new(plan), digest.to_string()))
        }
        Err(PlanUnread::File(PlanFileError::NotAPlan)) => {
            match state_file(&sealing, path).map_err(|problem| invocation.fail(&[problem]))? {
                Some(state) => Ok(ShownFile::State(Some(state))),
                None => fail(problems::no_state_in_file(path)),
            }
        }
        Err(PlanUnread::File(error)) => fail(problems::neither_state_nor_plan(path, &error)),
        Err(PlanUnread::Sealed(error)) => fail(problems::plan_not_opened(path, &error)),
    }
}

fn state_file(sealing: &Sealing, path: &str) -> Result<Option<StateFile>, Diagnostic> {
    read_state(sealing, path).map_err(|error| problems::neither_state_nor_plan(path, &error))
}
