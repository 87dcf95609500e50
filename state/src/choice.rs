//! The choices about an operation in doubt, and their words. All messages about doubts use them.

use weft_graph_format::operation_kind::OperationKind;

/// A choice about an operation in doubt: an option of `weft runs resolve`, and an answer to `weft runs settle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The object exists, and the user knows its id.
    Adopt,
    /// The operation had no effect.
    Absent,
    /// The operation is carried out again, whatever happened.
    Retry,
    /// The operation is given up.
    Forget,
}

impl Choice {
    /// All choices, in the order of messages.
    pub const ALL: [Choice; 4] = [Choice::Adopt, Choice::Absent, Choice::Retry, Choice::Forget];

    /// The choices that fit an operation of this kind; `None` is an unknown kind. [`Choice::Adopt`] fits neither a
    /// provisioner, which leaves no object, nor a delete, whose object the state already has.
    pub fn fitting(kind: Option<OperationKind>) -> &'static [Choice] {
        match kind {
            Some(OperationKind::Provision | OperationKind::Delete) => &[Choice::Absent, Choice::Retry, Choice::Forget],
            _ => &Choice::ALL,
        }
    }

    /// The name of the option without its dash. Files of resolutions use the same name.
    pub fn word(self) -> &'static str {
        match self {
            Choice::Adopt => "adopt",
            Choice::Absent => "absent",
            Choice::Retry => "retry",
            Choice::Forget => "forget",
        }
    }

    /// The word, followed by the placeholder of its value.
    pub fn usage(self) -> &'static str {
        match self {
            Choice::Adopt => "adopt ID",
            other => other.word(),
        }
    }

    /// What the choice says or does, for an operation of this kind.
    pub fn meaning(self, kind: Option<OperationKind>) -> &'static str {
        match (self, kind) {
            (Choice::Adopt, _) => "it exists, with this id",
            (Choice::Absent, Some(OperationKind::Create)) => "it does not exist; the operation is carried out again",
            (Choice::Absent, _) => "the operation had no effect; it is carried out again",
            (Choice::Retry, _) => "carry the operation out again, and accept a possible duplicate",
            (Choice::Forget, _) => "give up the operation, and leave the state as it is",
        }
    }

    /// The choices as options: `-adopt ID | -absent | -retry | -forget`.
    pub fn options() -> String {
        Choice::ALL.map(|choice| format!("-{}", choice.usage())).join(" | ")
    }
}

/// The commands that settle an operation, one a line, with a meaning each. `offers` are pairs of a usage and a meaning.
pub fn commands<'a>(run: &str, name: &str, offers: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let offers: Vec<(&str, &str)> = offers.collect();
    let width = width(offers.iter().map(|(usage, _)| *usage));
    let line = |(usage, meaning): &(&str, &str)| {
        format!("weft runs resolve {run} {} -{usage:<width$}  {meaning}", quoted(name))
    };
    offers.iter().map(line).collect()
}

/// The width of a column of usages. The width is at least that of `adopt ID`, so that lists without this choice have
/// the same layout.
pub fn width<'a>(usages: impl Iterator<Item = &'a str>) -> usize {
    usages.map(|usage| usage.chars().count()).max().unwrap_or_default().max(Choice::Adopt.usage().len())
}

/// A text as one quoted word of a shell.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_choices_that_fit_are_offered() {
        let delete = Some(OperationKind::Delete);
        assert_eq!(Choice::fitting(Some(OperationKind::Create)), Choice::ALL);
        assert!(!Choice::fitting(Some(OperationKind::Provision)).contains(&Choice::Adopt));
        assert_eq!(Choice::options(), "-adopt ID | -absent | -retry | -forget");
        let offers = Choice::fitting(delete).iter().map(|choice| (choice.usage(), choice.meaning(delete)));
        assert_eq!(
            commands("run-1", "a.b[\"it's\"]", offers),
            [
                r#"weft runs resolve run-1 'a.b["it'\''s"]' -absent    the operation had no effect; it is carried out again"#,
                r#"weft runs resolve run-1 'a.b["it'\''s"]' -retry     carry the operation out again, and accept a possible duplicate"#,
                r#"weft runs resolve run-1 'a.b["it'\''s"]' -forget    give up the operation, and leave the state as it is"#,
            ]
        );
    }
}
