//! What to plan, according to the options of a command.

use weft_evaluator::selection::{SelectedAddress, Selection};
use weft_graph_format::address::{ResourceInstance, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::plan_file::UiMode;
use weft_graph_format::source::Position;
use weft_planner::{PlanKind, PlanOptions};

use crate::addresses::{SELECTED, compact, escaped, invalid_address, written_instance, written_module};
use crate::command::Invocation;
use crate::exit::Exit;
use crate::options::Arguments;
use crate::plan::placing::Placing;
use crate::plan::problems;

/// The default maximum number of concurrent operations.
pub const PARALLELISM: usize = 10;

/// What to plan.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// The mode of the plan.
    pub mode: UiMode,
    /// Whether to refresh real objects first.
    pub refresh: bool,
    /// Whether to import objects and do nothing else.
    pub importing: bool,
    /// The instances to replace.
    pub replace: Vec<ResourceInstance>,
    /// The options that select a part of the configuration, with their addresses as given.
    pub selected: Vec<(&'static str, String)>,
    /// The maximum number of concurrent provider calls.
    pub parallelism: usize,
    /// Whether to hide the progress of planning.
    pub quiet: bool,
    /// Whether to store the prior state in the plan. Commands that show the plan need this state, and some commands
    /// need nothing else from the plan. The stored prior state is as large as the state itself.
    pub prior_state: bool,
    /// Whether to store the configuration document in the plan, for tools that read plans.
    pub configuration: bool,
    /// The placement rules.
    pub placing: Option<Placing>,
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

    /// The options for the planner. `timestamp` is the time of the plan.
    pub fn options(&self, timestamp: &str) -> PlanOptions {
        PlanOptions {
            kind: self.kind(),
            refresh: self.refresh,
            selection: selection(&self.selected),
            replace: self.replace.clone(),
            timestamp: timestamp.to_owned(),
        }
    }

    /// The problems of invalid options and of invalid combinations of options.
    pub fn mistakes(arguments: &Arguments, destroy: bool) -> Vec<Diagnostic> {
        let (_, mut problems) = selected(arguments);
        problems.extend(arguments.values("replace").filter_map(|text| replaced(text).err()));
        problems.extend(mode_problems(arguments, destroy));
        problems
    }

    /// Reads the options of `plan`, `apply` and `destroy`. The options must have no [`Wishes::mistakes`].
    pub fn read(invocation: &Invocation<'_>, destroy: bool) -> Result<Wishes, Exit> {
        let arguments = &invocation.arguments;
        Wishes::of(arguments, destroy).map_err(|problems| invocation.mistakes(&problems))
    }

    fn of(arguments: &Arguments, destroy: bool) -> Result<Wishes, Vec<Diagnostic>> {
        let given = |name: &str| arguments.switch(name, false);
        let refresh_only = given("refresh-only");
        let refresh = arguments.switch("refresh", true);
        let destroying = destroy || given("destroy");
        let (selected, _) = selected(arguments);
        let replace = arguments.values("replace").filter_map(|text| replaced(text).ok()).collect();
        if let Some(problem) = negative_parallelism(arguments) {
            return Err(vec![problem]);
        }
        let placing = Placing::read(arguments).map_err(|problem| vec![problem])?;
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
            placing,
        })
    }
}

/// The problems of the options that select the mode.
fn mode_problems(arguments: &Arguments, destroy: bool) -> Vec<Diagnostic> {
    let (to_destroy, refresh_only) = (arguments.switch("destroy", false), arguments.switch("refresh-only", false));
    if to_destroy && refresh_only {
        return vec![problems::destroy_and_refresh_only()];
    }
    let unrefreshed = refresh_only && !arguments.switch("refresh", true);
    let mut found: Vec<Diagnostic> = unrefreshed.then(problems::refresh_only_without_refresh).into_iter().collect();
    if destroy && (to_destroy || refresh_only) {
        found.push(problems::destroy_with_mode(if to_destroy { "destroy" } else { "refresh-only" }));
    }
    found
}

/// The error for a negative number of concurrent operations.
pub fn negative_parallelism(arguments: &Arguments) -> Option<Diagnostic> {
    let number: i64 = arguments.value("parallelism")?.parse().ok()?;
    (number < 0).then(|| problems::negative_parallelism(number))
}

/// Options that select a part of the configuration, with their addresses.
type Selected = Vec<(&'static str, String)>;

/// The addresses of `-target`, `-exclude` and of files of addresses, with their problems.
fn selected(arguments: &Arguments) -> (Selected, Vec<Diagnostic>) {
    let (mut selected, mut problems) = (Vec::new(), Vec::new());
    let targets = arguments.has("target") || arguments.has("target-file");
    if targets && (arguments.has("exclude") || arguments.has("exclude-file")) {
        problems.push(problems::target_and_exclude());
        return (selected, problems);
    }
    for (name, list) in [("target", "target-file"), ("exclude", "exclude-file")] {
        for text in arguments.values(name) {
            match check_target(name, text) {
                Ok(address) => selected.push((name, address)),
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
                    Ok(address) => selected.push((name, address)),
                    Err(_) => problems.extend(invalid_address(&text, Some((path, at)), SELECTED)),
                }
            }
        }
    }
    (selected, problems)
}

fn replaced(text: &str) -> Result<ResourceInstance, Diagnostic> {
    let address = written_instance(text).ok_or_else(|| problems::invalid_replace(&escaped(text)))?;
    if address.resource.mode != ResourceMode::Managed {
        return Err(problems::replace_of_unmanaged(&escaped(text)));
    }
    Ok(address)
}

/// The addresses in a file with their positions, one per line. Lines that begin with `#` are comments.
fn listed(path: &str) -> Result<Vec<(String, Position)>, Diagnostic> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        match error.kind() {
            // As in OpenTofu, a missing file has its own message.
            std::io::ErrorKind::NotFound => problems::no_address_file(path),
            _ => problems::address_file_unreadable(path, &error),
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

/// The part of the configuration that options select.
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

/// Checks the address of `-target` or `-exclude`. Returns it in compact form.
fn check_target(option: &str, text: &str) -> Result<String, Diagnostic> {
    if written_module(text).is_some() || written_instance(text).is_some() {
        return Ok(compact(text).into_owned());
    }
    Err(problems::invalid_selection(option, &escaped(text), SELECTED))
}
