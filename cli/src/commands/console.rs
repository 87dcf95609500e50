//! `weft console`: evaluates expressions. On a terminal it has line editing ([`mod@typed`]). Otherwise it reads
//! expressions from the standard input ([`lines`]). `-eval-json FILE` is for scripts.

mod lines;
mod typed;

use std::io::{BufRead, IsTerminal};
use std::sync::Arc;

use serde::Deserialize;
use weft_evaluator::selection::Selection;
use weft_evaluator::{Session, SessionAnswer};
use weft_expressions::console::{BareScope, evaluate_text};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_planner::planning::PlanInputs;
use weft_planner::{Inspected, PlanKind, PlanOptions, ProgressSender, ProviderSet, inspect, rehearse};
use weft_providers::ProviderPool;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::context::now;
use crate::exit::Exit;
use crate::options::Section::Output;
use crate::options::{switch, text};
use crate::packages::{InstalledPackages, pool_options, require_locked};
use crate::plan::PARALLELISM;
use crate::project::Project;
use crate::render::{events, values};
use crate::runtime::block_on;
use crate::store::StoreLocation;
use crate::variables::{self, Gathered};
use lines::Lines;
use typed::{Typed, Typist};

/// The command.
pub const CONSOLE: Command = Command {
    words: &["console"],
    alias: None,
    operands: "",
    about: "Evaluate expressions at an interactive prompt",
    main: false,
    flags: &[
        command::VIEW_WITH_WARNINGS,
        command::INPUT,
        command::SENSITIVE,
        command::VARIABLES,
        command::LOCK,
        command::STORE,
        &[
            text(
                "eval-json",
                "FILE",
                "Evaluate each {\"expr\": ...} of a JSON array in FILE and print one JSON object per line.",
            ),
            text("json-into", "FILE", "Write results and problems to FILE as JSON, and print text as well.").of(Output),
            switch("plan", "Make a plan first, and use its values instead of those in the state."),
            text("state", "FILE", "Read the state from FILE. [default: terraform.tfstate]"),
        ],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: true,
    run,
};

/// The answer to `help`.
const HELP: &str = "\
Type an expression of the language, and its value is printed. What the state
has can be named as in the configuration: \"aws_instance.foo.id\" is the ID of
\"aws_instance.foo\" if the state has that object.

An expression with open brackets continues on the next line. type(...) around an
expression gives its type.

To leave, type \"exit\", or press Ctrl-C or Ctrl-D.";

/// The message after problems that still allow questions.
const DOUBTFUL: &str = "Due to the problems above, some expressions may produce unexpected results.";

#[derive(Deserialize)]
struct Question {
    expr: String,
}

fn run(invocation: &Invocation<'_>) -> Exit {
    match invocation.arguments.value("eval-json") {
        Some(path) => of_file(invocation, path),
        None => console(invocation).unwrap_or_else(|exit| exit),
    }
}

/// `-eval-json`: evaluates independent expressions, without configuration or state.
fn of_file(invocation: &Invocation<'_>, path: &str) -> Exit {
    let failed = |what: String| invocation.fail(&[problems::expressions_unreadable(path, &what)]);
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return failed(error.to_string()),
    };
    let entries: Vec<Question> = match serde_json::from_slice(&bytes) {
        Ok(entries) => entries,
        Err(error) => return failed(error.to_string()),
    };
    for entry in entries {
        let outcome = evaluate_text(&entry.expr, &BareScope::new());
        invocation.view.document(&(outcome.to_json().to_string() + "\n"));
    }
    Exit::DONE
}

fn console(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, context, view, .. } = invocation;
    let fail = |problems: Vec<Diagnostic>| invocation.fail(&problems);
    invocation.at_most(0, problems::console_arguments)?;
    let project = Project::load(invocation).map_err(fail)?;
    let place = StoreLocation::find(context, arguments, Some(&project.root)).map_err(fail)?;
    require_locked(context).map_err(fail)?;
    let gathered = variables::gather_given(&project.root, arguments);
    view.know(&gathered.sources);
    if has_errors(&gathered.diagnostics) {
        return Err(fail(gathered.diagnostics));
    }
    view.diagnostics(&gathered.diagnostics);
    block_on(asked(invocation, &project, &place, &gathered)).unwrap_or_else(|problem| Err(fail(vec![problem])))
}

/// Opens a session and answers questions until the input ends.
async fn asked(
    invocation: &Invocation<'_>,
    project: &Project,
    place: &StoreLocation,
    gathered: &Gathered,
) -> Result<Exit, Exit> {
    let Invocation { arguments, context, view, .. } = invocation;
    let fail = |problems: Vec<Diagnostic>| invocation.fail(&problems);
    let snapshot = Arc::new(place.snapshot().await.map_err(|problem| fail(vec![problem]))?);
    let configured = project.requirements(None).map_err(fail)?;
    let all = project.requirements(Some(&snapshot)).map_err(fail)?;
    let (packages, said) = InstalledPackages::find_with(context, &configured, &all, false).map_err(fail)?;
    view.diagnostics(&said);
    let workspace = context.workspace().map_err(|problem| fail(vec![problem]))?;
    let pool = ProviderPool::new(pool_options(context));
    let providers = Arc::new(ProviderSet::new(packages.plugins(), pool, PARALLELISM));
    let (root, given) = (project.root.clone(), gathered.given.clone());
    let (session, mut problems) = if arguments.switch("plan", false) {
        let timestamp = now();
        let options = PlanOptions {
            kind: PlanKind::Normal,
            refresh: true,
            selection: Selection::All,
            replace: Vec::new(),
            timestamp: timestamp.clone(),
        };
        let environment = context.environment(workspace, timestamp);
        let providers = providers.clone();
        rehearse(PlanInputs {
            root,
            environment,
            given,
            snapshot,
            providers,
            options,
            progress: ProgressSender::none(),
        })
        .await
    } else {
        let environment = context.environment(workspace, String::new());
        inspect(Inspected { root, environment, given, snapshot, providers: providers.clone(), settled: false }).await
    };
    if session.is_some() && has_errors(&problems) {
        problems.push(problems::console_with_errors(DOUBTFUL));
    }
    view.diagnostics(&problems);
    let exit = match session {
        None => Exit::FAILED,
        Some(session) if std::io::stdin().is_terminal() => typed(invocation, project, &session).await,
        Some(session) => piped(invocation, &session).await,
    };
    providers.close().await;
    Ok(exit)
}

/// The outcome of a question.
enum Reply {
    /// The question was answered, or it was empty.
    Answered,
    /// The question has errors, which were reported.
    Refused,
    /// The user ends the session.
    Leave,
}

async fn reply(invocation: &Invocation<'_>, session: &Session, question: &str) -> Reply {
    let view = &invocation.view;
    let print = |text: &str| {
        view.line(text);
        view.event(events::told(text));
    };
    match question.trim() {
        "" => view.line(""),
        "exit" => return Reply::Leave,
        "help" => print(HELP),
        text => {
            let answer = session.ask(text).await;
            view.know(&answer.sources);
            view.diagnostics(&answer.problems);
            match answer.said {
                None => return Reply::Refused,
                Some(SessionAnswer::Type(text)) => print(&text),
                Some(SessionAnswer::Value(value)) => print(&values::shown(&value, view.style().reveal)),
            }
        }
    }
    Reply::Answered
}

/// Reads questions from the standard input, until the end or the first question with an error.
async fn piped(invocation: &Invocation<'_>, session: &Session) -> Exit {
    let mut lines = Lines::default();
    let mut input = std::io::stdin().lock().lines();
    loop {
        let line = match input.next() {
            None => None,
            Some(Ok(line)) => Some(line),
            Some(Err(error)) => {
                return invocation.fail(&[problems::input_unreadable(&error)]);
            }
        };
        let Some(line) = line else {
            if lines.rest().is_some() {
                // As in OpenTofu, an incomplete expression at the end of the input is reported, but the command
                // succeeds.
                invocation.view.diagnostics(&[problems::input_ends_within()]);
            }
            return Exit::DONE;
        };
        if let Some(question) = lines.push(&line) {
            match reply(invocation, session, &question).await {
                Reply::Answered => {}
                Reply::Refused => return Exit::FAILED,
                Reply::Leave => return Exit::DONE,
            }
        }
    }
}

/// Reads questions from a terminal. A question with an error is reported, and the session continues.
async fn typed(invocation: &Invocation<'_>, project: &Project, session: &Session) -> Exit {
    let unusable = |error: rustyline::error::ReadlineError| invocation.fail(&[problems::terminal_unusable(&error)]);
    let mut typist = match Typist::begin(&project.root) {
        Ok(typist) => typist,
        Err(error) => return unusable(error),
    };
    loop {
        match typist.next() {
            Ok(Typed::Question(text)) if text.trim().is_empty() => {}
            Ok(Typed::Question(text)) => {
                if matches!(reply(invocation, session, &text).await, Reply::Leave) {
                    return Exit::DONE;
                }
            }
            Ok(Typed::Leave) => return Exit::DONE,
            Err(error) => return unusable(error),
        }
    }
}
