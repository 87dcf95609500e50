//! The diagnostics of a worker, as constructors. [`reasons`] has the parts of reports that are no diagnostics.

pub(crate) mod reasons;

use std::fmt::Display;

use weft_expressions::error_message::MessageFault;
use weft_graph_format::address::{FunctionProvider, ResourceInstance};
use weft_graph_format::diagnostic::{Diagnostic, NOT_BEGUN, NOT_BEGUN_BY_PROVIDER};
use weft_graph_format::explain::SAID_BY_A_PROVIDER;
use weft_graph_format::graph::{CheckKind, OperationId};
use weft_graph_format::path::Path;
use weft_providers::{CallError, ProviderOpenError};

use crate::subject::{DiagnosticSubject, Problems};
use reasons::NoFunction;

/// The summary of diagnostics about a plan that contradicts itself.
const DAMAGED_PLAN: &str = "Damaged plan";

/// The fragment does not have this operation.
pub(crate) fn not_here(id: OperationId) -> Diagnostic {
    let detail = format!("Operation {} is not in the part of the plan that this worker has. Make a new plan.", id.0);
    Diagnostic::error(DAMAGED_PLAN, detail)
}

/// The operation runs only inside another operation.
pub(crate) fn not_a_task(id: OperationId) -> Diagnostic {
    Diagnostic::error(
        DAMAGED_PLAN,
        format!(
            "Operation {} is a part of another operation, and cannot be started separately. Make a new plan.",
            id.0
        ),
    )
}

/// An argument of a resource does not convert to its type, as `problem` says.
pub(crate) fn wrong_argument(name: &str, problem: Diagnostic) -> Diagnostic {
    let detail = format!("Inappropriate value for attribute {name:?}. {}", problem.detail);
    Diagnostic { summary: "Incorrect attribute value type".to_owned(), detail, address: None, ..problem }
}

/// An operand is not what the operation needs.
pub(crate) fn damaged(id: OperationId, what: &str) -> Diagnostic {
    let detail =
        format!("Operation {} has no {what} in the part of the plan that this worker has. Make a new plan.", id.0);
    Diagnostic::error(DAMAGED_PLAN, detail)
}

/// The fragment does not have this formula.
pub(crate) fn no_formula(address: &str, index: u32) -> Diagnostic {
    Diagnostic::error(
        DAMAGED_PLAN,
        format!("{address}: formula {index} is not in the part of the plan that this worker has. Make a new plan."),
    )
    .about(address)
}

/// The plan lacks the schema of a resource type that it uses.
pub(crate) fn no_schema(subject: &DiagnosticSubject<'_>, type_name: &str) -> Diagnostic {
    let detail = format!("The plan has no schema for {type_name}, which {} needs. Make a new plan.", subject.address);
    subject.error(DAMAGED_PLAN, detail)
}

/// What a worker receives of a plan.
pub(crate) enum PlanPart<'p> {
    /// The fragment.
    Fragment,
    /// The value of an input variable.
    Input(&'p str),
    /// A formula of the fragment.
    Formula,
    /// The result of an operation.
    Result(u32),
}

/// A part of the plan cannot be decoded.
pub(crate) fn unreadable(part: PlanPart<'_>, error: &dyn Display) -> Diagnostic {
    let what = match part {
        PlanPart::Fragment => "its part of the plan".to_owned(),
        PlanPart::Input(name) => format!("the input var.{name}"),
        PlanPart::Formula => "a formula".to_owned(),
        PlanPart::Result(operation) => format!("the result of operation {operation}"),
    };
    let detail = format!("This worker cannot read {what}: {error}. Make a new plan with the worker's version of Weft.");
    Diagnostic::error("Unreadable plan", detail)
}

/// The summary of diagnostics about a bug in the worker.
const WORKER_FAILED: &str = "Worker failed";

/// An operation was ordered for a shard that is not open.
pub(crate) fn shard_not_open(number: u32) -> Diagnostic {
    Diagnostic::error(WORKER_FAILED, format!("Shard {number} is not open at this worker."))
}

/// The opening of a shard panicked.
pub(crate) fn shard_broken() -> Diagnostic {
    Diagnostic::error(WORKER_FAILED, "The part of the plan cannot be opened.")
}

/// A task panicked.
pub(crate) fn task_broken() -> Diagnostic {
    Diagnostic::error(WORKER_FAILED, "A panic in the worker ended the task. The log of the worker has the details.")
}

/// The worker has no provider packages.
pub(crate) fn no_packages(source: &str, version: &str) -> Diagnostic {
    let detail = format!(
        "This worker has no provider packages, but the plan needs {source} {version}. Install the package on the \
         machine of the worker."
    );
    Diagnostic::error("Missing provider package", detail)
}

/// Functions of a provider cannot be called.
pub(crate) fn unavailable_function(provider: &FunctionProvider, why: &NoFunction) -> Diagnostic {
    let detail = format!("Functions of {provider} cannot be called: {why}.");
    Diagnostic::error("Unavailable provider function", detail)
}

/// A formula calls a provider in a context without providers.
pub(crate) fn no_provider_here() -> Diagnostic {
    Diagnostic::error(
        "Unavailable provider function",
        "The plan calls a function of a provider where no provider is available. This is a bug in Weft.",
    )
}

/// The plan needs the value of an ephemeral variable, which must be given again.
pub(crate) fn missing_input(name: &str) -> Diagnostic {
    let detail = format!("The plan does not contain the value of var.{name}. Set it again, for example with -var.");
    Diagnostic::error("No value for required variable", detail)
}

/// The value of a formula has unknown parts.
pub(crate) fn unknown_value(subject: &DiagnosticSubject<'_>) -> Diagnostic {
    let detail = format!(
        "A part of {} is still unknown, although all values that it depends on are known. This is a bug in Weft, or in \
         a provider that returned an unknown value.",
        subject.address
    );
    subject.error("Value not known", detail)
}

/// A formula reads a result that is on another worker, or does not exist.
pub(crate) fn missing_result(subject: &DiagnosticSubject<'_>) -> Diagnostic {
    let detail = format!(
        "{} reads a result that this worker does not have. A value that must not be stored cannot be sent from one \
         worker to another.",
        subject.address
    );
    subject.error("Missing result", detail)
}

/// The value of an output does not fit its type.
pub(crate) fn unsuitable_output(subject: &DiagnosticSubject<'_>, error: &dyn Display) -> Diagnostic {
    subject.error("Invalid output value", format!("The value of {} is unsuitable: {error}.", subject.address))
}

/// The value of an output cannot be encoded.
pub(crate) fn output_not_stored(subject: &DiagnosticSubject<'_>, error: &dyn Display) -> Diagnostic {
    subject.error("Invalid output value", format!("The value of {} cannot be stored: {error}.", subject.address))
}

/// An output has an ephemeral value.
pub(crate) fn ephemeral_output(subject: &DiagnosticSubject<'_>) -> Diagnostic {
    let detail = format!("{} would store an ephemeral value. Use only values that may be stored.", subject.address);
    subject.error("Ephemeral value not allowed", detail)
}

/// An output that is not sensitive has a sensitive value.
pub(crate) fn sensitive_output(subject: &DiagnosticSubject<'_>) -> Diagnostic {
    let detail =
        format!("The value of {} depends on sensitive values. Declare it with sensitive = true.", subject.address);
    subject.error("Output refers to sensitive values", detail)
}

/// A condition is null.
pub(crate) fn null_condition() -> Diagnostic {
    let detail = "The condition is null; it must be true or false.";
    Diagnostic::error("Invalid condition result", detail)
}

/// A condition is not a boolean.
pub(crate) fn unsuitable_condition(error: &dyn Display) -> Diagnostic {
    let detail = format!("The condition is unsuitable: {error}.");
    Diagnostic::error("Invalid condition result", detail)
}

/// Marks problems as found before the operation began.
pub(crate) fn not_begun(mut found: Problems) -> Problems {
    for problem in found.iter_mut().filter(|problem| problem.is_error()) {
        match problem.code.as_str() {
            "" => problem.code = NOT_BEGUN.into(),
            SAID_BY_A_PROVIDER => problem.code = NOT_BEGUN_BY_PROVIDER.into(),
            _ => {}
        }
    }
    found
}

/// The summary of a condition that is false.
pub(crate) fn condition_summary(kind: CheckKind, address: &str) -> String {
    let is_of = |what: &str| address.starts_with(what) || address.contains(&format!(".{what}"));
    let whose = if is_of("output.") { "Module output value" } else { "Resource" };
    match kind {
        // The only precondition of a variable: its value must not be null.
        CheckKind::Precondition if is_of("var.") => String::from("Required variable not set"),
        CheckKind::Precondition => format!("{whose} precondition failed"),
        CheckKind::Postcondition => format!("{whose} postcondition failed"),
        CheckKind::Validation => String::from("Invalid value for variable"),
        CheckKind::Assertion => String::from("Check block assertion failed"),
    }
}

/// The text that the state stores if the message of a failed validation cannot be shown, as in OpenTofu. `fault` is
/// `None` if the message cannot be evaluated.
pub(crate) fn stored_message(fault: Option<&MessageFault>) -> &'static str {
    match fault {
        Some(MessageFault::Sensitive) => "The error message included a sensitive value, so it will not be displayed.",
        Some(MessageFault::Ephemeral) => "The error message included an ephemeral value, so it will not be displayed.",
        Some(MessageFault::NotAString(_) | MessageFault::Null) | None => "Failed to evaluate condition error message.",
    }
}

/// A condition is false. `text` is its message.
pub(crate) fn failed_condition(kind: CheckKind, address: &str, text: String) -> Diagnostic {
    Diagnostic::error(condition_summary(kind, address), text)
}

/// An object cannot be encoded for the state.
pub(crate) fn object_not_stored(subject: &DiagnosticSubject<'_>, error: &dyn Display) -> Diagnostic {
    subject.error("Object cannot be stored", format!("{} cannot be stored: {error}.", subject.address))
}

/// The planned value cannot be encoded for the provider.
pub(crate) fn plan_not_sent(subject: &DiagnosticSubject<'_>, error: &dyn Display) -> Diagnostic {
    let detail = format!("The plan for {} cannot be sent to its provider: {error}.", subject.address);
    subject.error("Plugin error", detail)
}

/// The object of a change no longer exists.
pub(crate) fn object_gone(subject: &DiagnosticSubject<'_>) -> Diagnostic {
    let detail = format!("{} does not exist anymore, so it cannot be changed. Make a new plan.", subject.address);
    subject.error("Object is gone", detail)
}

/// The object cannot be read after an uncertain attempt.
pub(crate) fn unread(subject: &DiagnosticSubject<'_>, why: &dyn Display) -> Diagnostic {
    let detail = format!(
        "The outcome of an earlier attempt is unknown, so {} must be read first. The read failed: {why}.",
        subject.address
    );
    subject.error("Object cannot be read", detail)
}

/// A data source or ephemeral resource returned an object that breaks the rules.
pub(crate) fn invalid_object(
    subject: &DiagnosticSubject<'_>,
    provider: &str,
    address: &ResourceInstance,
    what: &str,
) -> Diagnostic {
    let detail = format!("{provider} returned {what} for {address}. This is a bug in the provider.");
    subject.error("Provider produced invalid object", detail)
}

/// A final plan breaks the rules of plans.
pub(crate) fn invalid_plan(
    subject: &DiagnosticSubject<'_>,
    provider: &str,
    problem: &dyn Display,
    path: &Path,
) -> Diagnostic {
    let detail = format!(
        "With all values known, {provider} planned an invalid value for {}: {problem}. This is a bug in the provider.",
        subject.address
    );
    subject.place(subject.error("Provider produced invalid plan", detail), path)
}

/// The object of a final plan contains an infinite number.
pub(crate) fn infinite(subject: &DiagnosticSubject<'_>) -> Diagnostic {
    let detail = format!(
        "With all values known, the planned object {} contains an infinite number. JSON has no infinite numbers, so a \
         state cannot contain one. Look for a division by zero, or a power that is too large.",
        subject.address
    );
    subject.error("Object cannot be stored", detail)
}

/// A final plan contradicts the reviewed plan.
pub(crate) fn inconsistent_plan(subject: &DiagnosticSubject<'_>, provider: &str, why: &str, path: &Path) -> Diagnostic {
    let detail = format!(
        "Now that all values are known, {provider} plans a change of {} that differs from the reviewed change: {why}. \
         This is a bug in the provider. Make a new plan to see the new change.",
        subject.address
    );
    subject.place(subject.error("Provider produced inconsistent final plan", detail), path)
}

/// A final plan replaces an object that the reviewed plan updates, because of a change at `path`.
pub(crate) fn unplanned_replacement(subject: &DiagnosticSubject<'_>, provider: &str, path: &Path) -> Diagnostic {
    inconsistent_plan(subject, provider, &format!("a change of {path} now needs a new object"), path)
}

/// The result of a change has unknown parts.
pub(crate) fn unknown_result(subject: &DiagnosticSubject<'_>, provider: &str, path: &Path) -> Diagnostic {
    let part = if path.0.is_empty() { String::from("the whole object") } else { path.to_string() };
    let detail = format!(
        "After the apply, {provider} still returned an unknown value for {part} of {}. This is a bug in the provider. \
         The rest of the object is stored.",
        subject.address
    );
    subject.place(subject.error("Provider returned invalid result object after apply", detail), path)
}

/// A delete returned an object.
pub(crate) fn object_after_delete(subject: &DiagnosticSubject<'_>, provider: &str) -> Diagnostic {
    let detail = format!(
        "{provider} reported that it destroyed {}, but returned an object. This is a bug in the provider. The object \
         stays in the state.",
        subject.address
    );
    subject.error("Provider returned invalid result object after apply", detail)
}

/// A change succeeded, but its provider returned no object.
pub(crate) fn no_resulting_object(subject: &DiagnosticSubject<'_>, provider: &str) -> Diagnostic {
    inconsistent_result(subject, provider, "the provider returned no object", &Path::ROOT)
}

/// The result of a change contradicts its plan.
pub(crate) fn inconsistent_result(
    subject: &DiagnosticSubject<'_>,
    provider: &str,
    why: &str,
    path: &Path,
) -> Diagnostic {
    let detail = format!(
        "The object that {provider} returned for {} differs from the planned object: {why}. This is a bug in the \
         provider.",
        subject.address
    );
    subject.place(subject.error("Provider produced inconsistent result after apply", detail), path)
}

/// A call that changes nothing had no proper reply, or was not sent.
pub(crate) fn call_failed(subject: &DiagnosticSubject<'_>, error: &CallError) -> Diagnostic {
    let summary = match error {
        CallError::UnknownType { .. } => "Invalid resource type",
        CallError::Crashed { .. } | CallError::NotRunning { .. } => "Plugin did not respond",
        _ => "Plugin error",
    };
    subject.error(summary, format!("{}: {error}.", subject.address))
}

/// A provider cannot be started or configured.
pub(crate) fn open_failed(subject: &DiagnosticSubject<'_>, error: &ProviderOpenError) -> Problems {
    match error {
        ProviderOpenError::Configure(found) => subject.said(found),
        other => {
            let detail = format!("{} cannot be started: {other}.", subject.address);
            vec![subject.error("Failed to start provider", detail)]
        }
    }
}

/// An ephemeral object could not be renewed.
pub(crate) fn ephemeral_not_renewed(address: &str, why: &str) -> Diagnostic {
    let detail = format!("{address} could not be renewed: {why}.");
    Diagnostic::error("Ephemeral object not renewed", detail).about(address)
}

/// An ephemeral object could not be closed.
pub(crate) fn ephemeral_not_closed(address: &str, why: &str) -> Diagnostic {
    let detail = format!("{address} could not be closed: {why}.");
    Diagnostic::error("Ephemeral object not closed", detail).about(address)
}

/// This build of Weft does not have this kind of provisioner.
pub(crate) fn unsupported_provisioner(kind: &str) -> Diagnostic {
    let detail = format!("This build of Weft cannot run the provisioner {kind:?}. Use a build with the feature `ssh`.");
    Diagnostic::error("Provisioner not supported", detail)
}

/// The summary of diagnostics about unsuitable arguments of a `local-exec` provisioner.
const INVALID_COMMAND: &str = "Invalid local-exec provisioner command";

/// A `local-exec` provisioner has no command.
pub(crate) fn no_command() -> Diagnostic {
    Diagnostic::error(INVALID_COMMAND, "The command must be a string that is not empty.")
}

/// The interpreter of a `local-exec` provisioner names no program.
pub(crate) fn no_interpreter() -> Diagnostic {
    Diagnostic::error(INVALID_COMMAND, "The argument \"interpreter\" contains no string.")
}

/// The line in place of output that depends on sensitive or ephemeral values, as `what` says.
pub(crate) fn output_suppressed(what: &str) -> String {
    format!("(output suppressed due to {what} value in config)")
}

/// A command failed. If the text of the command must not be shown, `hidden` says on which values the text depends.
pub(crate) fn command_failed(error: &dyn Display, command: &str, output: &str, hidden: Option<&str>) -> Diagnostic {
    let detail = match hidden {
        Some(what) => format!("The command failed: {error}. The command depends on {what} values, so it is not shown."),
        None => format!("Error running command '{command}': {error}. Output: {output}"),
    };
    Diagnostic::error("local-exec provisioner error", detail)
}

/// A `remote-exec` provisioner failed.
#[cfg(feature = "ssh")]
pub(crate) fn remote_exec_failed(detail: &dyn Display) -> Diagnostic {
    Diagnostic::error("remote-exec provisioner error", detail.to_string())
}

/// The script of a `remote-exec` provisioner was not uploaded.
#[cfg(feature = "ssh")]
pub(crate) fn script_not_uploaded(error: &dyn Display) -> Diagnostic {
    remote_exec_failed(&reasons::script_not_uploaded(error))
}

/// A script of a `remote-exec` provisioner failed. If its output must not be shown, `hidden` says on which values the
/// output depends.
#[cfg(feature = "ssh")]
pub(crate) fn script_failed(path: &str, error: &dyn Display, hidden: Option<&str>) -> Diagnostic {
    remote_exec_failed(&match hidden {
        Some(what) => format!("error executing {path:?}: {error}. Its output depends on {what} values"),
        None => format!("error executing {path:?}: {error}"),
    })
}

/// The upload of a `file` provisioner began and failed.
#[cfg(feature = "ssh")]
pub(crate) fn upload_refused(error: &dyn Display) -> Diagnostic {
    upload_failed(&reasons::upload_failed(error))
}

/// A `file` provisioner failed.
#[cfg(feature = "ssh")]
pub(crate) fn upload_failed(detail: &dyn Display) -> Diagnostic {
    Diagnostic::error("file provisioner error", detail.to_string())
}

/// The arguments of a `file` provisioner are unsuitable.
#[cfg(feature = "ssh")]
pub(crate) fn no_destination() -> Diagnostic {
    Diagnostic::error("Invalid file provisioner configuration", "The destination must be a string that is not empty.")
}
