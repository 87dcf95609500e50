//! The names of objects in progress lines.

use crate::value::Value;

/// The attribute that identifies an object in progress lines, with its value. Never sensitive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownName {
    /// The name of the attribute: `id` or `name`, or another attribute of an identity.
    pub attribute: String,
    /// The value of the attribute.
    pub value: String,
}

/// The attributes that may identify an object, in order of preference.
const NAMING: [&str; 2] = ["id", "name"];

impl ShownName {
    /// The `id` of an object, otherwise its `name`. Attributes that are not strings or may not be shown are skipped.
    pub fn of(object: &Value) -> Option<ShownName> {
        if object.marks().is_sensitive() {
            return None;
        }
        let fields = object.as_fields()?;
        NAMING.into_iter().find_map(|attribute| shown(attribute, fields.get(attribute)?))
    }

    /// The name of an identity: its `id` or `name`, otherwise its first attribute that is a string and may be shown.
    pub fn of_identity(identity: &Value) -> Option<ShownName> {
        if identity.marks().is_sensitive() {
            return None;
        }
        let first = || identity.as_fields()?.iter().find_map(|(attribute, value)| shown(attribute, value));
        ShownName::of(identity).or_else(first)
    }
}

fn shown(attribute: &str, value: &Value) -> Option<ShownName> {
    let text = value.as_str().filter(|_| !value.marks().is_sensitive())?;
    Some(ShownName { attribute: attribute.to_owned(), value: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::Marks;

    #[test]
    fn an_object_is_shown_by_its_id_or_else_its_name() {
        let shown = |fields: &[(&'static str, Value)]| {
            ShownName::of(&Value::object(fields.iter().cloned())).map(|shown| (shown.attribute, shown.value))
        };
        let (id, name) = (("id", Value::string("i-1")), ("name", Value::string("n")));
        let secret = ("id", Value::string("i-1").mark(&Marks::SENSITIVE));
        assert_eq!(shown(&[id.clone(), name.clone()]), Some(("id".to_owned(), "i-1".to_owned())));
        assert_eq!(shown(&[secret.clone(), name.clone()]), Some(("name".to_owned(), "n".to_owned())));
        assert_eq!(shown(&[("id", Value::int(1)), name]), Some(("name".to_owned(), "n".to_owned())));
        assert_eq!(shown(&[secret]), None);
        let hidden = Value::object([id]).mark(&Marks::SENSITIVE);
        assert_eq!(ShownName::of(&hidden), None);
        assert_eq!(ShownName::of_identity(&hidden), None);
        let identity = Value::object([("account", Value::int(1)), ("bucket", Value::string("b"))]);
        let found = ShownName::of_identity(&identity).map(|shown| (shown.attribute, shown.value));
        assert_eq!(found, Some(("bucket".to_owned(), "b".to_owned())));
    }
}
