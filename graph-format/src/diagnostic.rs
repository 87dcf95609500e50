//! Diagnostics: what is wrong, where, and how to fix it.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::plain_value::PlainValue;
use crate::source::SourceRange;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// The command cannot continue.
    Error,
    /// The command continues, but the user should look at the problem.
    Warning,
}

/// A value that is involved in a problem, for display: `var.size is 3`.
///
/// `statement` never contains sensitive or ephemeral content. The code that creates the statement replaces such
/// content.
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
    /// A stable code of our own (`W0123`), if the summary does not determine it: see [`crate::explain::code`].
    pub code: SmolStr,
    /// The short description. It is the same for all problems of one kind.
    pub summary: String,
    /// The problem and what the user can do about it.
    pub detail: String,
    /// The resource instance (or other object) that has the problem, as text.
    pub address: Option<String>,
    /// The source range that causes the problem.
    pub subject: Option<SourceRange>,
    /// The source range to show around the subject.
    pub context: Option<SourceRange>,
    /// The values of the references in the expression with the problem.
    pub values: Vec<InvolvedValue>,
    /// The function whose call failed, as the call names it. Empty if no call failed.
    pub function: SmolStr,
    /// An object whose condition does not hold, such as `check.health` or `aws_vpc.main[0]`. Empty for other problems.
    /// `weft test` searches for this object. The field is not stored.
    #[serde(skip)]
    pub checked: SmolStr,
    /// The two sides of an equality in a failed assertion. Neither side contains confidential content.
    #[serde(skip)]
    pub compared: Option<Box<(PlainValue, PlainValue)>>,
    /// The kind of mistake, for code that must distinguish the kinds. Not stored.
    #[serde(skip)]
    pub cause: Cause,
}

/// A kind of mistake that code must recognize. Code never compares summaries or details of diagnostics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// Any other kind.
    #[default]
    Other,
    /// The configuration does not fit the schema, regardless of its values.
    Schema,
    /// A `for` expression produces a key twice.
    RepeatedKey,
    /// A wrong reference to a resource, a module or `self`, or a reference to a name that has no value where it is
    /// used.
    WrongObject,
    /// Any other wrong reference.
    WrongValue,
    /// The value of a part of a template cannot be part of a string.
    TemplatePart,
    /// The settings of a key provider are not valid.
    KeyProvider,
    /// A value does not convert to the required type.
    Conversion,
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

    /// Sets the code: a stable code for users, or a code by which callers recognize the diagnostic.
    pub fn code(mut self, code: &str) -> Diagnostic {
        self.code = SmolStr::new(code);
        self
    }

    /// Sets the kind of mistake.
    pub fn cause(mut self, cause: Cause) -> Diagnostic {
        self.cause = cause;
        self
    }

    /// Whether the diagnostic is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Whether the diagnostic only announces that an assertion of a check block will be evaluated at apply.
    pub fn is_open_check(&self) -> bool {
        self.code == OPEN_ASSERTION
    }

    /// Whether the diagnostic reports that a condition was evaluated and is false.
    pub fn is_failed_condition(&self) -> bool {
        self.code == FAILED_CONDITION || self.code == HIDDEN_MESSAGE
    }
}

/// The text between the message of a validation rule and the location of the rule.
const CHECKED_BY: &str = "\n\nThis was checked by the validation rule at ";

/// The location of a failed validation rule, as text that follows its message.
pub fn checked_by(rule: &SourceRange) -> String {
    format!("{CHECKED_BY}{}:{}.", rule.file, rule.start.line)
}

/// The message of a failed condition without the location of its rule.
pub fn bare_message(detail: &str) -> &str {
    detail.rfind(CHECKED_BY).and_then(|at| detail.get(..at)).unwrap_or(detail)
}

/// Several diagnostics as one text without source ranges. Results of checks are stored in this form.
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

/// The code of the warning that an assertion can only be decided at apply.
pub const OPEN_ASSERTION: &str = "open-assertion";

/// The code of a condition that was evaluated at apply and does not hold.
pub const FAILED_CONDITION: &str = "failed-condition";

/// The code of a problem with reading a data source for a check block.
pub const READ_FOR_CHECK: &str = "read-for-check";

/// The code of a failed condition whose message cannot be shown, so that the message must not be recorded.
pub const HIDDEN_MESSAGE: &str = "hidden-message";

/// The code of warnings about attributes that are not in the type of a module's variable. Validation and planning
/// report these warnings. Applying a plan does not repeat them.
pub const IGNORED_ATTRIBUTE: &str = "ignored-attribute";

/// The code of warnings about entries of `ignore_changes` that have no effect. Only planning reports them.
pub const REDUNDANT_IGNORED: &str = "redundant-ignored";

/// The code of a problem that occurred before an operation began. In this case, OpenTofu reports no failed operation.
pub const NOT_BEGUN: &str = "not-begun";

/// Like [`NOT_BEGUN`], for diagnostics of a provider.
pub const NOT_BEGUN_BY_PROVIDER: &str = "not-begun-by-provider";

/// Whether any of the diagnostics is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(Diagnostic::is_error)
}
