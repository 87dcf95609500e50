//! What the user wants planned, as the options say it.

use weft_evaluator::selection::{SelectedAddress, Selection};
use weft_graph_format::address::{ResourceInstance, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::plan_file::UiMode;
use weft_graph_format::source::Position;
use weft_planner::PlanKind;

use crate::addresses::{SELECTED, escaped, invalid_address};
use crate::command::Invocation;
use crate::exit::Exit;
use crate::options::Arguments;

/// Operations at a time unless the user says otherwise.
pub const PARALLELISM: usize = 10;

/// What the user wants planned.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// What for.
    pub mode: UiMode,
    /// Look at real objects first.
    pub refresh: bool,
    /// Take over objects, and nothing else.
    pub importing: bool,
    /// Replace these.
    pub replace: Vec<ResourceInstance>,
    /// Which part, as the options say it: option and address.
    pub selected: Vec<(&'static str, String)>,
    /// Provider calls at a time.
    pub parallelism: usize,
    /// Show nothing of what planning looks at.
    pub quiet: bool,
    /// Put the state that the plan was made from into it: for whoever shows the plan later, and for commands that want
    /// nothing else. It is as large as the state.
    pub prior_state: bool,
    /// Put a document of the configuration into it, for tools that read plans.
    pub configuration: bool,
}

impl Wishes {
    /// The kind of the plan.
    pub fn kind(&self) -> PlanKind {
        match (self.mode, self.importing) {
            (UiMode::Destroy, _) => PlanKind::Destroy,
            (UiMode::RefreshOnly, false) => PlanKind::RefreshOnly,
            (UiMode::RefreshOnly, true) => PlanKind::Import,
            (UiMode::Normal, _) => PlanKind::Normal,
        }
    }

    /// From the options of `plan`, `apply` and `destroy`; what does not go together is refused.
    pub fn read(invocation: &Invocation<'_>, destroy: bool) -> Result<Wishes, Exit> {
        let arguments = &invocation.arguments;
        Wishes::of(arguments, destroy).map_err(|problems| invocation.mistakes(&problems))
    }

    /// All problems count, each on its own.
    fn of(arguments: &Arguments, destroy: bool) -> Result<Wishes, Vec<Diagnostic>> {
        let given = |name: &str| arguments.switch(name, false);
        let refresh_only = given("refresh-only");
        let refresh = arguments.switch("refresh", true);
        let destroying = destroy || given("destroy");
        let (selected, mut problems) = selected(arguments);
        problems.extend(mode_problem(arguments, destroy));
        let mut replace = Vec::new();
        for text in arguments.values("replace") {
            match replaced(text) {
                Ok(address) => replace.push(address),
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() {
            problems.extend(negative_parallelism(arguments));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let parallelism = arguments.count("parallelism");
        let mode = match (destroying, refresh_only) {
            (true, _) => UiMode::Destroy,
            (false, true) => UiMode::RefreshOnly,
            (false, false) => UiMode::Normal,
        };
        let (parallelism, kept) = (parallelism.unwrap_or(PARALLELISM), arguments.has("out"));
        Ok(Wishes {
            mode,
            refresh,
            importing: false,
            quiet: false,
            replace,
            selected,
            parallelism,
            prior_state: kept,
            configuration: kept,
        })
    }
}

/// What is wrong with the options that say what a plan is for.
fn mode_problem(arguments: &Arguments, destroy: bool) -> Option<Diagnostic> {
    let refresh_only = arguments.switch("refresh-only", false);
    if destroy && (arguments.has("destroy") || refresh_only) {
        let option = if arguments.has("destroy") { "destroy" } else { "refresh-only" };
        return Some(Diagnostic::error(
            "Invalid mode option",
            format!("The -{option} option is not valid for \"weft destroy\", which always destroys."),
        ));
    }
    if arguments.switch("destroy", false) && refresh_only {
        return Some(Diagnostic::error(
            "Incompatible plan mode options",
            "The options -destroy and -refresh-only exclude each other.",
        ));
    }
    (refresh_only && !arguments.switch("refresh", true)).then(|| {
        Diagnostic::error(
            "Incompatible refresh options",
            "With -refresh-only and -refresh=false there would be nothing to do.",
        )
    })
}

/// An error for a number of operations at a time below zero.
pub fn negative_parallelism(arguments: &Arguments) -> Option<Diagnostic> {
    let number: i64 = arguments.value("parallelism")?.parse().ok()?;
    (number < 0).then(|| {
        let detail = format!("The greatest number of operations at a time cannot be negative: {number}.");
        Diagnostic::error("Invalid parallelism value", detail)
    })
}

/// Options that name a part of the configuration, and the addresses behind them.
type Selected = Vec<(&'static str, String)>;

/// The addresses of `-target` and `-exclude` and of lists of them, and what is wrong with them.
fn selected(arguments: &Arguments) -> (Selected, Vec<Diagnostic>) {
    let (mut selected, mut problems) = (Vec::new(), Vec::new());
    let targets = arguments.has("target") || arguments.has("target-file");
    if targets && (arguments.has("exclude") || arguments.has("exclude-file")) {
        problems.push(Diagnostic::error(
            "Invalid combination of arguments",
            "The options -target and -exclude exclude each other.",
        ));
        return (selected, problems);
    }
    for (name, list) in [("target", "target-file"), ("exclude", "exclude-file")] {
        for text in arguments.values(name) {
            match check_target(name, text) {
                Ok(()) => selected.push((name, text.to_owned())),
                Err(problem) => problems.push(problem),
            }
        }
        for path in arguments.values(list) {
            let lines = listed(path).unwrap_or_else(|problem| {
                problems.push(problem);
                Vec::new()
            });
            for (text, at) in lines {
                match check_target(name, &text) {
                    Ok(()) => selected.push((name, text)),
                    Err(_) => problems.extend(invalid_address(&text, Some((path, at)), SELECTED)),
                }
            }
        }
    }
    (selected, problems)
}

fn replaced(text: &str) -> Result<ResourceInstance, Diagnostic> {
    let summary = || format!("Invalid force-replace address \"{}\"", escaped(text));
    let address: ResourceInstance = text.parse().map_err(|_| {
        Diagnostic::error(
            summary(),
            "It must name a resource instance, with a type and a name: TYPE.NAME or TYPE.NAME[KEY].",
        )
    })?;
    if address.resource.mode != ResourceMode::Managed {
        return Err(Diagnostic::error(summary(), "Only managed resources can be replaced with -replace."));
    }
    Ok(address)
}

/// The addresses in a file with their places, one a line; lines that begin with `#` are remarks.
fn listed(path: &str) -> Result<Vec<(String, Position)>, Diagnostic> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        match error.kind() {
            // OpenTofu says it in these words alone.
            std::io::ErrorKind::NotFound => Diagnostic::error(
                format!("open {path}: no such file or directory"),
                "There is no such list of addresses.",
            ),
            _ => Diagnostic::error(
                "Unable to read file",
                format!("The list of addresses {path} cannot be read: {error}."),
            ),
        }
    })?;
    let mut addresses = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        let start = Position { line: number, ..Position::START };
        if !line.starts_with('#') {
            addresses.push((line.to_owned(), start));
        }
    }
    Ok(addresses)
}

/// The part of the configuration that options name.
pub fn selection(selected: &[(&'static str, String)]) -> Selection {
    let named = |option: &str| -> Vec<SelectedAddress> {
        let texts = selected.iter().filter(|(name, _)| *name == option);
        texts.filter_map(|(_, text)| SelectedAddress::parse(text)).collect()
    };
    match (named("target"), named("exclude")) {
        (targets, excluded) if targets.is_empty() && excluded.is_empty() => Selection::All,
        (targets, excluded) if targets.is_empty() => Selection::AllBut(excluded),
        (targets, _) => Selection::Only(targets),
    }
}

fn check_target(option: &str, text: &str) -> Result<(), Diagnostic> {
    let module = text.parse::<weft_graph_format::address::ModuleInstance>().is_ok_and(|module| !module.is_root());
    if module || text.parse::<ResourceInstance>().is_ok() {
        return Ok(());
    }
    Err(Diagnostic::error(format!("Invalid {option} \"{}\"", escaped(text)), format!("It must name {SELECTED}.")))
}
