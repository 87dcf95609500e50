//! `weft plan`, and the parts that it shares with `apply`: making and showing a plan.

mod generate;

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_evaluator::config::SourceFiles;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::plan_file::{self, PlanFile, UiMode};
use weft_sealing::TargetName;
use weft_state::{Digest, Snapshot};

use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::exit::Exit;
use crate::options::{switch, text};
use crate::packages::{InstalledPackages, unlocked};
use crate::plan::{Basis, Made, ReadBudgets, Wishes, make};
use crate::project::{Project, of_configuration};
use crate::prompt::Prompt;
use crate::render::events::{self, ChangeCounts};
use crate::render::plan as render;
use crate::runtime::block_on;
use crate::store::{StoreLocation, no_key};
use crate::variables::{self, Gathered};
use crate::view::View;
use generate::Generated;

/// The command.
pub const PLAN: Command = Command {
    words: &["plan"],
    alias: None,
    operands: "",
    about: "Show the changes that an apply would make",
    main: true,
    flags: &[
        command::VIEW_WITH_PROGRESS,
        command::JSON,
        command::INPUT,
        command::COMPACT,
        command::SENSITIVE,
        command::VARIABLES,
        command::LOCK,
        command::STATE_TO_READ,
        command::STORE,
        command::PLANNING,
        command::SELECTION,
        command::PARALLELISM,
        &[
            text("out", "FILE", "Save the plan to FILE."),
            switch("detailed-exitcode", "Exit with 0 for no changes, 1 for errors, 2 for changes."),
            text("generate-config-out", "FILE", "Write configuration for imported objects that have none to FILE."),
        ],
    ],
    mixed: false,
    on_mistake: OnMistake::Hint,
    check: |arguments| {
        let operands = (!arguments.positionals.is_empty()).then(problems::plan_arguments);
        operands.into_iter().chain(Wishes::mistakes(arguments, false)).collect()
    },
    events: true,
    run,
};

fn run(invocation: &Invocation<'_>) -> Exit {
    match planned(invocation) {
        Ok(exit) | Err(exit) => exit,
    }
}

fn planned(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, view, .. } = invocation;
    view.event(events::version());
    let wishes = Wishes::read(invocation, false)?;
    let generating = arguments.value("generate-config-out").filter(|path| !path.is_empty());
    if let Some(path) = generating {
        generate::check(path, wishes.mode).map_err(|problem| invocation.fail(&[problem]))?;
    }
    let mut loaded = Loaded::load(invocation, "Plan", wishes.mode == UiMode::Destroy)?;
    let made = made(invocation, &mut loaded, &wishes, generating).map_err(|problems| invocation.fail(&problems))?;
    // The process ends with the command. Freeing a large plan would only take time.
    let made = std::mem::ManuallyDrop::new(made);
    // An empty path means that the plan is not saved.
    let out = arguments.value("out").filter(|path| !path.is_empty());
    let mut saved = None;
    if let (Some(path), Some(file)) = (out, &made.file) {
        saved = Some(save(invocation, file, path).map_err(|problems| invocation.fail(&problems))?);
    }
    if let Some(file) = &made.file {
        show(view, file, saved);
    }
    view.diagnostics(&made.diagnostics);
    if has_errors(&made.diagnostics) {
        return Ok(Exit::FAILED);
    }
    // As in OpenTofu, an object that was only moved does not count as a change.
    let drifted = |file: &PlanFile| file.changes.drift.iter().any(|change| !change.action.is_no_op());
    let differs = |file: &PlanFile| made.differs_without_drift || drifted(file);
    let found = |file: &PlanFile| wishes.mode == UiMode::RefreshOnly && differs(file);
    let changed = made.file.as_ref().is_some_and(|file| !file.changes.is_empty() || found(file));
    // As in OpenTofu, there is no hint about a plan without changes, even if its apply would store refreshed objects.
    let recorded = |file: &PlanFile| made.records(wishes.mode, file);
    if (changed || made.file.as_ref().is_some_and(recorded)) && !invocation.context.automation {
        view.line(&render::next_steps(out, arguments.value("store"), view.style()));
    }
    // With -json, the digest is in an event.
    if let Some(digest) = saved.filter(|_| !view.is_json()) {
        view.aside(&render::digest_line(&digest.to_string()));
    }
    Ok(if changed && arguments.switch("detailed-exitcode", false) { Exit::CHANGES } else { Exit::DONE })
}

/// Makes the plan, and writes generated configuration if requested.
fn made(
    invocation: &Invocation<'_>,
    loaded: &mut Loaded,
    wishes: &Wishes,
    generating: Option<&str>,
) -> Result<Made, Vec<Diagnostic>> {
    let one = |problem: Diagnostic| vec![problem];
    let overview = block_on(loaded.place.overview()).map_err(one)?;
    let (snapshot, headers) = overview.map_err(one)?;
    super::stalled::report_stalled(&invocation.view, &headers);
    let snapshot = Arc::new(snapshot);
    let generated = match generating {
        Some(path) => Some((path, Generated::add(invocation, loaded, &snapshot, wishes, path)?)),
        None => None,
    };
    let mut made = block_on(loaded.plan(invocation, snapshot, wishes)).map_err(one)??;
    if let Some((path, generated)) = generated {
        // If validation refuses only generated blocks, the user needs the file to repair them.
        let refused = made.file.is_none() && generated.is_refused(path, &made.diagnostics);
        if refused {
            invocation.view.event(events::change_summary(&ChangeCounts::default(), "plan"));
        }
        if refused || made.file.is_some() {
            made.diagnostics.extend(generated.save(path, made.file.as_mut())?);
        }
    }
    Ok(made)
}

/// A configuration with everything that planning needs, except the state.
pub struct Loaded {
    /// The configuration.
    pub project: Project,
    /// The variables of the configuration, with their values.
    pub gathered: Gathered,
    /// The location of the state of the configuration.
    pub place: StoreLocation,
}

impl Loaded {
    /// Loads the configuration of the current directory. Reports problems.
    pub fn load(invocation: &Invocation<'_>, doing: &str, destroying: bool) -> Result<Loaded, Exit> {
        let Invocation { arguments, context, view, .. } = invocation;
        let fail = |problems: Vec<Diagnostic>| invocation.fail(&problems);
        let project = match invocation.command.words {
            ["import"] => Project::load_whole(invocation).and_then(|project| match project.empty {
                true => Err(vec![problems::nothing_to_import_into()]),
                false => Ok(project),
            }),
            _ if destroying => Project::load(invocation),
            _ => Project::load_present(invocation, doing),
        };
        let project = project.map_err(fail)?;
        let place = StoreLocation::find(context, arguments, Some(&project.root)).map_err(fail)?;
        // An import only changes the state, so it is allowed even if a remote service carries out runs.
        if invocation.command.words != ["import"] {
            let asked = place.clone();
            block_on(async move { asked.runs_here().await })
                .and_then(|here| here)
                .map_err(|problem| fail(vec![problem]))?;
        }
        let (configured, wrong) = of_configuration(&project.root);
        let mut said = unlocked(context, &configured).map_err(fail)?;
        if !has_errors(&said) && has_errors(&wrong) {
            return Err(fail(wrong));
        }
        let prompt = invocation.asks().then(Prompt::new);
        let gathered = match &prompt {
            // Nothing is asked for a plan that cannot be made.
            Some(_) if has_errors(&said) => variables::gather_given(&project.root, arguments),
            prompt => variables::gather(&project.root, arguments, prompt.as_ref()),
        };
        view.know(&gathered.sources);
        if has_errors(&said) || has_errors(&gathered.diagnostics) {
            said.extend(gathered.diagnostics);
            return Err(fail(said));
        }
        Ok(Loaded { project, gathered, place })
    }

    /// Makes a plan for this state.
    ///
    /// # Errors
    /// Returns an error if planning could not begin.
    pub async fn plan(
        &self,
        invocation: &Invocation<'_>,
        snapshot: Arc<Snapshot>,
        wishes: &Wishes,
    ) -> Result<Made, Vec<Diagnostic>> {
        let context = &invocation.context;
        let configured = self.project.requirements(None)?;
        let all = self.project.requirements(Some(&snapshot))?;
        let (packages, mut said) = InstalledPackages::find_with(context, &configured, &all, false)?;
        said.extend(self.gathered.diagnostics.iter().cloned());
        let sources: SourceFiles = invocation.view.known_files();
        let basis = Basis {
            context,
            workspace: context.workspace().map_err(|problem| vec![problem])?,
            root: self.project.root.clone(),
            warnings: &self.project.warnings,
            given: self.gathered.given.clone(),
            snapshot,
            backend: self.place.recorded(context, &invocation.arguments, &self.project.root),
            packages: &packages,
            sources,
            view: &invocation.view,
            reads: ReadBudgets::of(wishes.placing.as_ref(), &self.place).await.map_err(|problem| vec![problem])?,
        };
        let mut made = make(basis, wishes).await;
        said.append(&mut made.diagnostics);
        Ok(Made { diagnostics: said, ..made })
    }
}

/// The bytes of a plan file, and their digest.
///
/// # Errors
/// Returns an error if the plan cannot be encoded.
pub fn bytes(file: &PlanFile) -> Result<(Vec<u8>, Digest), Diagnostic> {
    let mut bytes = Vec::new();
    let digest = plan_file::write(file, &mut bytes).map_err(|error| problems::plan_not_encoded(&error))?;
    Ok((bytes, Digest(digest.0)))
}

fn save(invocation: &Invocation<'_>, file: &PlanFile, path: &str) -> Result<Digest, Vec<Diagnostic>> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let failed = |error: &dyn std::fmt::Display| vec![problems::plan_file_not_written(path, error)];
    let sealing = invocation.context.sealing(&invocation.arguments, None)?;
    let (bytes, digest) = bytes(file).map_err(|problem| vec![problem])?;
    let bytes = match sealing.covers(&TargetName::Plan) {
        true => sealing.seal_plan(&bytes).map_err(|error| match error.lacks_key() {
            true => vec![no_key(&error)],
            false => failed(&error),
        })?,
        false => bytes,
    };
    // A plan contains the same secrets as the state, so only its owner may read the file.
    let out = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    out.and_then(|mut out| out.write_all(&bytes)).map_err(|error| failed(&error))?;
    Ok(digest)
}

/// Shows a plan as events and as text. `saved` is the digest of the plan file, if there is one.
pub fn show(view: &View, plan: &PlanFile, saved: Option<Digest>) {
    for change in &plan.changes.drift {
        view.event(events::resource_drift(change));
    }
    announce(view, plan, true);
    let mut summary = events::change_summary(&ChangeCounts::of_plan(&plan.changes), "plan");
    if let (Some(digest), Some(fields)) = (saved, summary.as_object_mut()) {
        fields.insert("plan_digest".to_owned(), digest.to_string().into());
    }
    view.event(summary);
    if !plan.changes.outputs.is_empty() {
        let outputs: BTreeMap<&str, _> =
            plan.changes.outputs.iter().map(|(name, change)| (name.as_str(), change)).collect();
        view.event(events::planned_outputs(outputs));
    }
    view.line(&render::human(plan, view.style()));
}

/// Sends the changes of a plan as events. With `state`, this includes moves and imports that change nothing else.
pub fn announce(view: &View, plan: &PlanFile, state: bool) {
    if !view.takes_events() {
        return;
    }
    for change in &plan.changes.resources {
        let in_state = change.previous_address.is_some() || change.importing.is_some();
        if !change.action.is_no_op() || state && in_state {
            view.event(events::planned_change(change));
        }
    }
}
