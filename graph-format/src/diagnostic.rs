//! Diagnostics: the problem, its position, and the way out.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::plain_value::PlainValue;
use crate::source::SourceRange;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// The command cannot continue.
    Error,
    /// The command continues, but someone should look at it.
    Warning,
}

/// One value that was involved in a problem, ready to be shown: `var.size is 3`.
///
/// `statement` never contains sensitive or ephemeral content. Its creator replaces that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvolvedValue {
    /// The reference as written, `var.size` or `each.value["a"]`.
    pub traversal: String,
    /// The value, as text that follows the reference: `is 3`, `is a string`.
    pub statement: String,
}

/// A problem or a warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// Our own stable code (`W0123`) where the summary does not lead to it: see [`crate::explain::code`].
    pub code: SmolStr,
    /// The short line, the same for every problem of its kind.
    pub summary: String,
    /// The problem and the way out.
    pub detail: String,
    /// The resource instance (or other object) that it is about, as text.
    pub address: Option<String>,
    /// What exactly is wrong.
    pub subject: Option<SourceRange>,
    /// What should be shown around it.
    pub context: Option<SourceRange>,
    /// Values of the references in the expression at fault.
    pub values: Vec<InvolvedValue>,
    /// The function whose call failed, as it was called; empty where it is not about a call.
    pub function: SmolStr,
    /// An object with a condition that does not hold, such as `check.health` or `aws_vpc.main[0]`; empty where it is
    /// about none. Tests look for it; nothing is stored of it.
    #[serde(skip)]
    pub checked: SmolStr,
    /// The two sides of an assertion of equality. Neither contains anything confidential.
    #[serde(skip)]
    pub compared: Option<Box<(PlainValue, PlainValue)>>,
    /// What kind of mistake it is, where code must know. Nothing is stored of it.
    #[serde(skip)]
    pub cause: Cause,
}

/// A kind of mistake that code looks for. Code never looks at the text of a diagnostic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// Any other kind.
    #[default]
    Other,
    /// The configuration does not fit the schema, whatever its values are.
    Schema,
    /// A `for` expression produces a key twice.
    RepeatedKey,
    /// A reference to an object that does not exist, or to a name without a value at its place.
    WrongObject,
    /// Another wrong reference.
    WrongValue,
}

impl Diagnostic {
    /// An error with a summary and a detail.
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code: SmolStr::default(),
            summary: summary.into(),
            detail: detail.into(),
            address: None,
            subject: None,
            context: None,
            values: Vec::new(),
            function: SmolStr::default(),
            checked: SmolStr::default(),
            compared: None,
            cause: Cause::Other,
        }
    }

    /// A warning with a summary and a detail.
    pub fn warning(summary: impl Into<String>, detail: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(summary, detail) }
    }

    /// Sets the source range that the diagnostic is about.
    pub fn at(mut self, subject: SourceRange) -> Diagnostic {
        self.subject = Some(subject);
        self
    }

    /// Sets the source range that is shown around the subject.
    pub fn within(mut self, context: SourceRange) -> Diagnostic {
        self.context = Some(context);
        self
    }

    /// Sets the address of the object that the diagnostic is about.
    pub fn about(mut self, address: impl Into<String>) -> Diagnostic {
        self.address = Some(address.into());
        self
    }

    /// Sets the function whose call the diagnostic is about.
    pub fn calling(mut self, function: &str) -> Diagnostic {
        self.function = SmolStr::new(function);
        self
    }

    /// Sets the object whose condition does not hold.
    pub fn checking(mut self, object: &str) -> Diagnostic {
        self.checked = SmolStr::new(object);
        self
    }

    /// Sets the code: a stable one, or a mark by which callers recognize the diagnostic.
    pub fn code(mut self, code: &str) -> Diagnostic {
        self.code = SmolStr::new(code);
        self
    }

    /// Sets the kind of mistake.
    pub fn cause(mut self, cause: Cause) -> Diagnostic {
        self.cause = cause;
        self
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Whether it only announces that apply will evaluate an assertion of a check block.
    pub fn is_open_check(&self) -> bool {
        self.code == OPEN_ASSERTION
    }

    /// Whether it reports that a condition was evaluated and is false.
    pub fn is_failed_condition(&self) -> bool {
        self.code == FAILED_CONDITION || self.code == HIDDEN_MESSAGE
    }
}

/// Precedes the place of a validation rule, after the message of the rule.
const CHECKED_BY: &str = "\n\nThis was checked by the validation rule at ";

/// The place of a failed validation rule, as text that follows its message.
pub fn checked_by(rule: &SourceRange) -> String {
    format!("{CHECKED_BY}{}:{}.", rule.file, rule.start.line)
}

/// The message of a failed condition without the place of its rule.
pub fn bare_message(detail: &str) -> &str {
    detail.rfind(CHECKED_BY).and_then(|at| detail.get(..at)).unwrap_or(detail)
}

/// Several diagnostics as one text without source ranges, as results of checks are stored.
pub fn in_one_text(diagnostics: &[Diagnostic]) -> String {
    let line = |problem: &Diagnostic| match problem.detail.as_str() {
        "" => problem.summary.clone(),
        detail => format!("{}: {detail}", problem.summary),
    };
    match diagnostics {
        [only] => line(only),
        several => {
            let lines: Vec<String> = several.iter().map(|problem| format!("\n- {}", line(problem))).collect();
            format!("{} problems:\n{}", several.len(), lines.concat())
        }
    }
}

/// The code of the warning about an assertion that only apply can decide.
pub const OPEN_ASSERTION: &str = "open-assertion";

/// The code of a condition that was evaluated at apply and does not hold.
pub const FAILED_CONDITION: &str = "failed-condition";

/// The code of what went wrong when something was read for a check block.
pub const READ_FOR_CHECK: &str = "read-for-check";

/// The code of a condition that came to neither true nor false.
pub const UNSUITABLE_CONDITION: &str = "unsuitable-condition";

/// The code of a failed assertion whose message is secret: it must not be recorded.
pub const HIDDEN_MESSAGE: &str = "hidden-message";

/// The code of warnings about attributes that the type of a module's variable does not have. Validation reports them;
/// applying a plan does not.
pub const IGNORED_ATTRIBUTE: &str = "ignored-attribute";

/// The code of warnings about entries of ignore_changes without effect. Only the plan reports them.
pub const REDUNDANT_IGNORED: &str = "redundant-ignored";

/// The code of what went wrong before an operation began: OpenTofu reports no operation that failed.
pub const NOT_BEGUN: &str = "not-begun";

/// Like [`NOT_BEGUN`], for diagnostics of a provider.
pub const NOT_BEGUN_BY_PROVIDER: &str = "not-begun-by-provider";

/// Whether any of them is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(Diagnostic::is_error)
}
