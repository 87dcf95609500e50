//! Error messages of conditions. Planning and apply use the same rules.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use crate::convert::convert;

const INVALID: &str = "Invalid error message";
const SENSITIVE: &str = "The error message is made from sensitive values, so it is not shown.";
const EPHEMERAL: &str = "The error message is made from ephemeral values, so it is not shown.";
const UNKNOWN: &str = "The error message is not known yet.";
const NOT_A_STRING: &str = "The error message is not a string.";

/// The reason why an error message is not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageFault {
    /// The message does not convert to a string, for this reason.
    NotAString(String),
    /// The message is null.
    Null,
    /// The message is made from sensitive values.
    Sensitive,
    /// The message is made from ephemeral values.
    Ephemeral,
}

impl MessageFault {
    /// The fault of a message. `None` for messages that can be shown, and for unknown messages.
    pub fn of(message: &Value) -> Option<MessageFault> {
        let marks = message.marks();
        match convert(message, &Type::String) {
            Err(problem) => Some(MessageFault::NotAString(problem.with_path())),
            Ok(text) if text.is_null() => Some(MessageFault::Null),
            Ok(text) if !text.is_wholly_known() => None,
            Ok(_) if marks.is_sensitive() => Some(MessageFault::Sensitive),
            Ok(_) if marks.is_ephemeral() => Some(MessageFault::Ephemeral),
            Ok(_) => None,
        }
    }

    /// Whether a failed validation reports the fault. As in OpenTofu, a null message of a validation is no error.
    pub fn concerns_validation(&self) -> bool {
        !matches!(self, MessageFault::Null)
    }

    /// Whether the message is invalid, whatever the result of its condition is. A message that is only hidden is valid.
    pub fn is_invalid(&self) -> bool {
        matches!(self, MessageFault::NotAString(_) | MessageFault::Null)
    }

    /// The error for this fault, without a position.
    pub fn error(&self) -> Diagnostic {
        match self {
            MessageFault::NotAString(why) => {
                Diagnostic::error(INVALID, format!("The error message is unsuitable: {why}."))
            }
            MessageFault::Null => Diagnostic::error(INVALID, "The error message is null, but must be a string."),
            MessageFault::Sensitive => {
                let detail = "The error message contains sensitive values, so the message is not shown. Remove these \
                              values from it, or use nonsensitive(...) if they can be shown.";
                Diagnostic::error("Error message refers to sensitive values", detail)
            }
            MessageFault::Ephemeral => {
                let detail = "The error message contains ephemeral values, so the message is not shown. Remove these \
                              values from it, or use ephemeralasnull(...).";
                Diagnostic::error("Error message refers to ephemeral values", detail)
            }
        }
    }
}

/// The text of an error message. A fixed text replaces a message that is sensitive, ephemeral, unknown or invalid.
pub fn message_text(message: &Value) -> String {
    let marks = message.unmark_deep().1;
    if marks.is_sensitive() {
        return String::from(SENSITIVE);
    }
    if marks.is_ephemeral() {
        return String::from(EPHEMERAL);
    }
    match convert(message, &Type::String) {
        Ok(text) => text.as_str().map_or_else(|| String::from(UNKNOWN), |text| text.trim().to_owned()),
        Err(_) => String::from(NOT_A_STRING),
    }
}

#[cfg(test)]
mod tests {
    use weft_graph_format::marks::Marks;

    use super::*;

    #[test]
    fn messages_are_shown_only_when_they_may_be() {
        assert_eq!(message_text(&Value::string(" too small \n")), "too small");
        assert_eq!(message_text(&Value::int(3)), "3");
        assert_eq!(message_text(&Value::string("x").mark(&Marks::SENSITIVE)), SENSITIVE);
        assert_eq!(message_text(&Value::tuple(vec![Value::string("x").mark(&Marks::SENSITIVE)])), SENSITIVE);
        assert_eq!(message_text(&Value::string("x").mark(&Marks::EPHEMERAL)), EPHEMERAL);
        assert_eq!(message_text(&Value::empty_object()), NOT_A_STRING);
        assert_eq!(message_text(&Value::unknown(Type::String)), UNKNOWN);
    }

    #[test]
    fn only_messages_without_a_text_are_invalid() {
        for (message, invalid) in [
            (Value::int(3), None),
            (Value::unknown(Type::String), None),
            (Value::null(Type::String), Some(true)),
            (Value::empty_object(), Some(true)),
            (Value::string("x").mark(&Marks::SENSITIVE), Some(false)),
            (Value::string("x").mark(&Marks::EPHEMERAL), Some(false)),
        ] {
            assert_eq!(MessageFault::of(&message).map(|fault| fault.is_invalid()), invalid, "{message:?}");
        }
    }
}
