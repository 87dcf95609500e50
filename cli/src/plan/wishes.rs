//! What the user wants planned, as the options say it.

use weft_evaluator::selection::{SelectedAddress, Selection};
use weft_graph_format::address::{ResourceInstance, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::plan_file::UiMode;
use weft_graph_format::source::{Position, SourceRange};

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
    /// From the options of `plan`, `apply` and `destroy`; what does not go together is refused.
    pub fn read(invocation: &Invocation<'_>, destroy: bool) -> Result<Wishes, Exit> {
        let arguments = &invocation.arguments;
        match Wishes::of(arguments, destroy) {
            Ok(wishes) => Ok(wishes),
            Err(problem) => Err(invocation.mistake(&problem)),
        }
    }

    fn of(arguments: &Arguments, destroy: bool) -> Result<Wishes, Diagnostic> {
        let given = |name: &str| arguments.switch(name, false);
        let refresh_only = given("refresh-only");
        let refresh = arguments.switch("refresh", true);
        if destroy && arguments.has("destroy") {
            return Err(Diagnostic::error(
                "Invalid mode option",
                "The -destroy option is not valid for \"weft destroy\", which always destroys.",
            ));
        }
        if destroy && refresh_only {
            return Err(Diagnostic::error(
                "Invalid mode option",
                "The -refresh-only option is not valid for \"weft destroy\", which always destroys.",
            ));
        }
        let destroying = destroy || given("destroy");
        if destroying && refresh_only {
            return Err(Diagnostic::error(
                "Incompatible plan mode options",
                "The options -destroy and -refresh-only exclude each other.",
            ));
        }
        if refresh_only && !refresh {
            return Err(Diagnostic::error(
                "Incompatible refresh options",
                "With -refresh-only and -refresh=false there would be nothing to do.",
            ));
        }
        let mut replace = Vec::new();
        for text in arguments.values("replace") {
            replace.push(replaced(text)?);
        }
        let targets = arguments.has("target") || arguments.has("target-file");
        if targets && (arguments.has("exclude") || arguments.has("exclude-file")) {
            return Err(Diagnostic::error(
                "Invalid combination of arguments",
                "The options -target and -exclude exclude each other.",
            ));
        }
        let mut selected = Vec::new();
        for (name, list) in [("target", "target-file"), ("exclude", "exclude-file")] {
            for text in arguments.values(name) {
                check_target(name, text)?;
                selected.push((name, text.to_owned()));
            }
            for path in arguments.values(list) {
                for (text, at) in listed(path)? {
                    if check_target(name, &text).is_err() {
                        let mut problems = invalid_address(&text, Some((path, at)), SELECTED);
                        return Err(problems.swap_remove(0));
                    }
                    selected.push((name, text));
                }
            }
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
        if line.is_empty() {
            let at = SourceRange { file: path.into(), start, end: start };
            let detail = "Each line of the list holds an address, or a remark that begins with #.";
            return Err(Diagnostic::error("Variable name required", detail).at(at));
        }
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
