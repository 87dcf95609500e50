//! A command: its name, its options, its help and its function. The table of all commands is in [`crate::commands`].

mod usage;

use std::io::Write as _;

use weft_graph_format::diagnostic::Diagnostic;

use crate::context::Context;
use crate::exit::Exit;
use crate::options::Section::{self, Output, State};
use crate::options::{Arguments, Flag, Takes, option, switch, switch_on, text};
use crate::problems;
use crate::render::events;
use crate::view::{View, open_into};

#[cfg(test)]
pub use usage::{COLUMNS, TEXTS};

/// A command.
#[derive(Clone, Copy)]
pub struct Command {
    /// The words of the name: `["state", "list"]`.
    pub words: &'static [&'static str],
    /// An alias of the last word of the name.
    pub alias: Option<&'static str>,
    /// The operands in the usage line.
    pub operands: &'static str,
    /// A summary in one line, for lists of commands.
    pub about: &'static str,
    /// Whether the help lists the command among the main commands.
    pub main: bool,
    /// The options of the command.
    pub flags: &'static [&'static [Flag]],
    /// Whether options may follow positional arguments.
    pub mixed: bool,
    /// The response to a mistake in the arguments.
    pub on_mistake: OnMistake,
    /// Checks the arguments. The returned problems are reported together with the problem of an option that cannot be
    /// parsed.
    pub check: fn(&Arguments) -> Vec<Diagnostic>,
    /// Whether `-json` selects the stream of events.
    pub events: bool,
    /// Runs the command.
    pub run: fn(&Invocation<'_>) -> Exit,
}

/// The response to a mistake in the arguments, in addition to the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMistake {
    /// The help text on the standard output.
    Usage,
    /// Like `Usage`, but nothing if `-json` asks for a document.
    UsageUnlessJson,
    /// A hint about how to get help, on the standard error.
    Hint,
}

/// The result of a command: how the process exits, or the problems that the command reports.
pub type CommandResult = Result<Exit, Vec<Diagnostic>>;

/// A call of a command.
pub struct Invocation<'a> {
    /// The command.
    pub command: &'a Command,
    /// The arguments of the command.
    pub arguments: Arguments,
    /// The directory and environment in which the command runs.
    pub context: Context,
    /// The output.
    pub view: View,
}

impl Invocation<'_> {
    /// Reports the lost records of stores that were not reported yet. A command asks for approval of a plan only after
    /// this report, because the answer may depend on the losses.
    pub fn report_losses(&self) {
        for lost in self.context.notices.unreported() {
            self.view.diagnostics(&[problems::store_lost_records(&lost)]);
        }
    }

    /// Reports a mistake in the arguments.
    pub fn mistake(&self, problem: &Diagnostic) -> Exit {
        self.mistakes(std::slice::from_ref(problem))
    }

    /// Reports several mistakes in the arguments.
    pub fn mistakes(&self, problems: &[Diagnostic]) -> Exit {
        self.view.diagnostics(problems);
        if !self.view.is_json() {
            match self.command.on_mistake {
                OnMistake::UsageUnlessJson if self.arguments.switch("json", false) => {}
                OnMistake::Usage | OnMistake::UsageUnlessJson => self.view.line(&self.command.help()),
                OnMistake::Hint => {
                    self.view.aside(&format!(
                        "\nFor more help on using this command, run:\n  weft {} -help",
                        self.command.name()
                    ));
                }
            }
        }
        Exit::FAILED
    }

    /// Reports problems.
    pub fn fail(&self, problems: &[Diagnostic]) -> Exit {
        if let Some(found) = self.context.root.get() {
            self.view.know(&found.sources);
        }
        if self.arguments.switch("lock", true) {
            self.view.diagnostics(problems);
        } else {
            self.view.diagnostics(&problems.iter().map(problems::without_lock).collect::<Vec<_>>());
        }
        Exit::FAILED
    }

    /// Ends a command that ran in a runtime: reports its problems, if it has any. The outer error of `outcome` is that
    /// of the runtime.
    pub fn conclude(&self, outcome: Result<CommandResult, Diagnostic>) -> Exit {
        let outcome = outcome.unwrap_or_else(|problem| Err(vec![problem]));
        outcome.unwrap_or_else(|problems| self.fail(&problems))
    }

    /// Reports a problem and fails. In a stream of events, the problem is only a message, not a diagnostic.
    pub fn fail_with_message(&self, problem: Diagnostic, message: &str) -> Exit {
        if self.view.is_json() {
            self.view.event(events::refused(message));
            return Exit::FAILED;
        }
        self.fail(&[problem])
    }

    /// Whether Weft may ask for missing values.
    pub fn asks(&self) -> bool {
        self.arguments.switch("input", true) && self.context.input && !self.view.is_json()
    }

    /// Whether Weft may ask for approval. As in OpenTofu, `-input` and `TF_INPUT` apply only to missing values.
    pub fn asks_for_approval(&self) -> bool {
        !self.view.is_json()
    }

    /// Fails if there are more than `most` positional arguments: reports `problem`, and returns the exit code of the
    /// mistake.
    pub fn at_most(&self, most: usize, problem: fn() -> Diagnostic) -> Result<(), Exit> {
        if self.arguments.positionals.len() > most {
            return Err(self.mistake(&problem()));
        }
        Ok(())
    }

    /// Writes a document as JSON if an option requests it. `-json` prints the document as the only output. `-json-into`
    /// writes the document to a file, in addition to the text output. Returns true if the caller must not print text.
    pub fn document(&self, make: impl FnOnce() -> String) -> Result<bool, Exit> {
        let json = self.arguments.switch("json", false);
        let Some(path) = self.arguments.value("json-into") else {
            if json {
                self.view.document(&make());
            }
            return Ok(json);
        };
        if json {
            return Err(self.mistake(&problems::json_twice()));
        }
        let mut file = open_into(path).map_err(|problem| self.mistake(&problem))?;
        file.write_all(make().as_bytes())
            .map_err(|error| self.fail(&[problems::document_not_written(path, &error)]))?;
        Ok(false)
    }
}

impl Command {
    /// The words of the command, separated by spaces.
    pub fn name(&self) -> String {
        self.words.join(" ")
    }

    /// The options that the help lists.
    pub fn listed(&self) -> Vec<&'static Flag> {
        self.flags.iter().flat_map(|group| group.iter()).filter(|flag| !flag.about.is_empty()).collect()
    }
}

/// A [`Command::check`] that accepts all arguments, for commands that report one mistake at a time.
pub fn unchecked(_: &Arguments) -> Vec<Diagnostic> {
    Vec::new()
}

const NO_COLOR: Flag = switch("no-color", "Print without colors.").of(Output);
const COMPACT_WARNINGS: Flag =
    switch("compact-warnings", "Print each warning as one line, unless there are errors.").of(Output);
const CONSOLIDATE_WARNINGS: Flag =
    switch_on("consolidate-warnings", "Print every occurrence of a warning instead of grouping them.").of(Output);
const CONSOLIDATE_ERRORS: Flag = switch("consolidate-errors", "Group identical errors.").of(Output);
const CONCISE: Flag = switch("concise", "Leave out progress lines.").of(Output);
/// The option for a compact display of equal changes in a plan.
pub const COMPACT: &[Flag] = &[switch("compact", "Show equal changes of several instances once.").of(Output)];
const DEPRECATION: Flag = text(
    "deprecation",
    "SCOPE",
    "Deprecation warnings to print: module:all, module:local (only modules in local directories) or module:none. \
     [default: module:all]",
)
.of(Output);

/// Options for the output. The help lists only `-no-color`, because most commands have few warnings and no progress
/// lines.
pub const VIEW: &[Flag] = &[
    NO_COLOR,
    COMPACT_WARNINGS.unlisted(),
    CONSOLIDATE_WARNINGS.unlisted(),
    CONSOLIDATE_ERRORS.unlisted(),
    CONCISE.unlisted(),
    DEPRECATION.unlisted(),
];
/// Options for the output of commands that check the configuration.
pub const VIEW_WITH_WARNINGS: &[Flag] =
    &[NO_COLOR, COMPACT_WARNINGS, CONSOLIDATE_WARNINGS, CONSOLIDATE_ERRORS, CONCISE.unlisted(), DEPRECATION];
/// Options for the output of commands that plan or apply.
pub const VIEW_WITH_PROGRESS: &[Flag] =
    &[NO_COLOR, COMPACT_WARNINGS, CONSOLIDATE_WARNINGS, CONSOLIDATE_ERRORS, CONCISE, DEPRECATION];
/// Options for the stream of events.
pub const JSON: &[Flag] = &[
    switch("json", "Print events as JSON, one object per line.").of(Output),
    text("json-into", "FILE", "Write these events to FILE and print text as well.").of(Output),
];
/// The option for a result in JSON.
pub const JSON_DOCUMENT: &[Flag] = &[switch("json", "Print the result as JSON.").of(Output)];
/// Options for a result in JSON, on the standard output or in a file.
pub const DOCUMENT: &[Flag] = &[
    switch("json", "Print the result as JSON.").of(Output),
    text("json-into", "FILE", "Write this JSON to FILE and print text as well.").of(Output),
];
/// The option that disables questions.
pub const INPUT: &[Flag] =
    &[switch_on("input", "Fail instead of asking for values that are missing.").of(Section::Variables)];
const SHOW_SENSITIVE: Flag = switch("show-sensitive", "Print sensitive values in clear text.").of(Output);
/// The option that shows sensitive values.
pub const SENSITIVE: &[Flag] = &[SHOW_SENSITIVE];
/// Like [`SENSITIVE`], for commands that print no values.
pub const SENSITIVE_UNLISTED: &[Flag] = &[SHOW_SENSITIVE.unlisted()];
const VAR: Flag =
    text("var", "'NAME=VALUE'", "Set a variable of the root module. Can be repeated.").of(Section::Variables);
const VAR_FILE: Flag = text(
    "var-file",
    "FILE",
    "Read variables from FILE, in addition to terraform.tfvars and *.auto.tfvars. Can be repeated.",
)
.of(Section::Variables);
/// Options that set variables.
pub const VARIABLES: &[Flag] = &[VAR, VAR_FILE];
/// Like [`VARIABLES`], for commands that evaluate at most the settings of the backend and of encryption.
pub const VARIABLES_UNLISTED: &[Flag] = &[VAR.unlisted(), VAR_FILE.unlisted()];
/// Options for the lock on the state.
pub const LOCK: &[Flag] = &[
    switch_on("lock", "Do not lock the state. Others may then change it at the same time.").of(State),
    option("lock-timeout", Takes::Time, "How long to wait for the lock, such as 30s. [default: 0s]").of(State),
];
/// Options for the files of the state.
pub const STATE: &[Flag] = &[
    text("state", "FILE", "Read the state from FILE. [default: terraform.tfstate]").of(State),
    text("state-out", "FILE", "Write the new state to FILE. [default: that of -state]").of(State),
    text("backup", "FILE", "Back up the previous state to FILE. With -, make no backup. [default: beside the state]")
        .of(State),
];
/// Options for the files of the state, for commands that can change the state only in place.
pub const STATE_IN_PLACE: &[Flag] = &[
    text("state", "FILE", "Read the state from FILE. [default: terraform.tfstate]").of(State),
    text("backup", "FILE", "Back up the previous state to FILE. With -, make no backup. [default: beside the state]")
        .of(State),
];
/// Options for the files of the state, for commands that do not write the state. Options about writing are accepted and
/// ignored.
pub const STATE_TO_READ: &[Flag] = &[
    text("state", "FILE", "Read the state from FILE. [default: terraform.tfstate]").of(State),
    text("state-out", "FILE", "").of(State),
    text("backup", "FILE", "").of(State),
];
/// The option that selects the store of state and runs.
pub const STORE: &[Flag] = &[text(
    "store",
    "URL",
    "Where state and runs are stored: redis://HOST/DB?state=NAME (rediss:// with TLS), or a backend: \
     s3://BUCKET/KEY?region=REGION, gs://BUCKET/PREFIX, azblob://CONTAINER/KEY, postgres://USER@HOST/DB. The default is \
     the backend of the configuration, or files in this directory. Environment: WEFT_STORE.",
)
.of(State)];
/// Options for the TLS identity of a program in a cluster.
pub const TLS: &[Flag] = &[
    text("tls-ca", "FILE", "Certificates of trusted authorities. Environment: WEFT_TLS_CA.").of(Section::Connection),
    text("tls-cert", "FILE", "Certificate of this program. Environment: WEFT_TLS_CERT.").of(Section::Connection),
    text("tls-key", "FILE", "Private key of this program. Environment: WEFT_TLS_KEY.").of(Section::Connection),
];
/// The option for the address where a program serves its metrics.
pub const METRICS: &[Flag] = &[text(
    "metrics",
    "ADDR",
    "Serve metrics for Prometheus at ADDR: PORT on this machine, IP:PORT for others too, or unix:PATH. [default: none]",
)];
/// The option that selects the coordinator which carries out runs.
pub const COORDINATOR: &[Flag] = &[text(
    "coordinator",
    "ADDR",
    "Carry out operations on the workers of this coordinator: HOST:PORT or unix:PATH. Environment: WEFT_COORDINATOR.",
)
.of(Section::Execution)];
/// The option that selects the coordinator which answers questions about runs.
pub const COORDINATOR_OF_RUNS: &[Flag] = &[text(
    "coordinator",
    "ADDR",
    "Ask this coordinator instead of opening the store: HOST:PORT or unix:PATH. Environment: WEFT_COORDINATOR.",
)
.of(Section::Execution)];
/// The option that selects the coordinator of a worker.
pub const COORDINATOR_OF_WORKER: &[Flag] = &[text(
    "coordinator",
    "ADDR",
    "The coordinator to connect to: HOST:PORT or unix:PATH. Several are separated by commas. Environment: \
     WEFT_COORDINATOR.",
)
.of(Section::Execution)];
/// The option for the number of concurrent operations.
pub const PARALLELISM: &[Flag] =
    &[option("parallelism", Takes::Integer, "Maximum number of concurrent operations. [default: 10]")
        .of(Section::Execution)];
const REFRESH: Flag =
    switch_on("refresh", "Trust the state instead of reading the real objects first.").of(Section::Planning);
const REFRESH_ONLY: Flag =
    switch("refresh-only", "Only update the state to match the real objects.").of(Section::Planning);
const DESTROY: Flag = switch("destroy", "Plan to destroy everything in the state.").of(Section::Planning);
const REPLACE: Flag =
    text("replace", "ADDRESS", "Replace this resource instance. Can be repeated.").of(Section::Planning);
const PLACEMENT: Flag = text(
    "placement",
    "FILE",
    "Rules for the workers of a coordinator: their labels and limits. [default: placement.toml, if it exists]",
)
.of(Section::Planning);
/// Options for the mode of a plan.
pub const PLANNING: &[Flag] = &[REFRESH, REFRESH_ONLY, DESTROY, REPLACE, PLACEMENT];
/// Like [`PLANNING`], for `weft destroy`, whose mode is fixed.
pub const PLANNING_OF_DESTROY: &[Flag] =
    &[REFRESH, REFRESH_ONLY.unlisted(), DESTROY.unlisted(), REPLACE.unlisted(), PLACEMENT];
/// Like [`PLANNING`], for `weft refresh`, where the options have no effect.
pub const PLANNING_UNLISTED: &[Flag] =
    &[REFRESH.unlisted(), REFRESH_ONLY.unlisted(), DESTROY.unlisted(), REPLACE.unlisted()];
/// Options that select the part of the configuration that is planned.
pub const SELECTION: &[Flag] = &[
    text("target", "ADDRESS", "Plan only this resource or module and its dependencies. Can be repeated.")
        .of(Section::Planning),
    text("exclude", "ADDRESS", "Plan everything except this resource or module and its dependents. Can be repeated.")
        .of(Section::Planning),
    text("target-file", "FILE", "Read addresses for -target from FILE, one per line.").of(Section::Planning),
    text("exclude-file", "FILE", "Read addresses for -exclude from FILE, one per line.").of(Section::Planning),
];
