//! `weft graph`: prints dependencies in the language of Graphviz. The source is the configuration or a plan file. For
//! the graph of a destroy, the source is the state.

mod applied;
mod destroy;
mod dot;
mod orphans;
mod planned;
mod problems;

use weft_evaluator::config;
use weft_evaluator::drawing::Drawing;
use weft_graph_format::diagnostic::Diagnostic;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::options::{switch, text};
use crate::packages::{InstalledPackages, require_locked};
use crate::project::Project;
use crate::runtime::block_on;
use crate::sealing::plan_reader;
use crate::store::StoreLocation;

/// The command.
pub const GRAPH: Command = Command {
    words: &["graph"],
    alias: None,
    operands: "",
    about: "Print the graph of operations for Graphviz",
    main: false,
    flags: &[
        command::VIEW,
        command::VARIABLES,
        command::STORE,
        &[
            text("type", "TYPE", "plan, plan-refresh-only, plan-destroy or apply. [default: plan]"),
            text("plan", "FILE", "Print the graph of the plan in FILE."),
            switch("draw-cycles", "Mark cycles with colors instead of failing."),
            text("module-depth", "N", ""),
            switch("verbose", ""),
        ],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: false,
    run: |invocation| graph(invocation).unwrap_or_else(|exit| exit),
};

fn graph(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, view, .. } = invocation;
    invocation.at_most(0, crate::commands::problems::too_many_arguments)?;
    let one = |problem: Diagnostic| invocation.fail(&[problem]);
    let with_circles = arguments.switch("draw-cycles", false);
    let kind = arguments.value("type").filter(|kind| !kind.is_empty());
    let drawing = match (arguments.value("plan"), kind) {
        (Some(path), None | Some("apply")) => of_plan(invocation, path)?,
        (Some(_), Some(kind)) => {
            return Err(one(problems::graph_of_plan(kind)));
        }
        (None, None | Some("plan" | "plan-refresh-only")) => of_configuration(invocation, with_circles, false)?,
        (None, Some("apply")) => of_configuration(invocation, with_circles, true)?,
        (None, Some("plan-destroy")) => of_state(invocation)?,
        (None, Some(gone @ ("validate" | "input" | "eval"))) => {
            return Err(one(problems::former_graph(gone)));
        }
        (None, Some(_)) => {
            return Err(one(problems::unknown_graph()));
        }
    };
    view.document(&dot::text(&drawing, with_circles));
    Ok(Exit::DONE)
}

/// The graph of a plan of the configuration, or of an apply without changes if `applied`.
fn of_configuration(invocation: &Invocation<'_>, with_circles: bool, applied: bool) -> Result<Drawing, Exit> {
    let project = Project::load(invocation).map_err(|problems| invocation.fail(&problems))?;
    // As in OpenTofu, the command requires an initialized configuration.
    let requirements = project.requirements(None);
    requirements
        .and_then(|requirements| InstalledPackages::find(&invocation.context, &requirements, false))
        .map_err(|problems| invocation.fail(&problems))?;
    let fail = |problems: Vec<Diagnostic>| invocation.fail(&problems);
    let place = StoreLocation::find(&invocation.context, &invocation.arguments, Some(&project.root)).map_err(fail)?;
    let snapshot = block_on(place.snapshot()).unwrap_or_else(Err).map_err(|problem| fail(vec![problem]))?;
    let mut drawing = config::draw(&project.root);
    match applied {
        true => drawing = applied::draw(&drawing),
        false => orphans::add(&mut drawing, &project.root, &snapshot),
    }
    if !with_circles {
        let circles = circles(&drawing);
        if !circles.is_empty() {
            return Err(invocation.fail(&circles));
        }
    }
    drawing.reduce();
    Ok(drawing)
}

/// An error for each cycle.
fn circles(drawing: &Drawing) -> Vec<Diagnostic> {
    let circle = |members: Vec<usize>| {
        let mut names: Vec<&str> = members
            .iter()
            .filter_map(|index| drawing.vertices().get(*index).map(|vertex| vertex.name.as_str()))
            .collect();
        names.sort_unstable();
        problems::cycle(&names)
    };
    drawing.circles().into_iter().map(circle).collect()
}

fn of_state(invocation: &Invocation<'_>) -> Result<Drawing, Exit> {
    let fail = |problems: Vec<Diagnostic>| invocation.fail(&problems);
    let project = Project::load(invocation).map_err(fail)?;
    let place = StoreLocation::find(&invocation.context, &invocation.arguments, Some(&project.root)).map_err(fail)?;
    require_locked(&invocation.context).map_err(fail)?;
    let snapshot = block_on(place.snapshot()).unwrap_or_else(Err).map_err(|problem| fail(vec![problem]))?;
    let mut drawing = destroy::draw(&project.root, &snapshot);
    drawing.reduce();
    Ok(drawing)
}

fn of_plan(invocation: &Invocation<'_>, path: &str) -> Result<Drawing, Exit> {
    let sealing = invocation.context.sealing(&invocation.arguments, None);
    let sealing = sealing.map_err(|problems| invocation.fail(&problems))?;
    let read = plan_reader(&sealing, path).and_then(|reader| Ok(reader.whole()?));
    let plan = read.map_err(|error| {
        let problem = crate::commands::problems::not_a_plan(path, &error);
        invocation.fail(&[problem])
    })?;
    let mut drawing = planned::draw(&plan);
    drawing.reduce();
    Ok(drawing)
}
