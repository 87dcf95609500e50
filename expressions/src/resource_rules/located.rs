//! Finds the parts of an object that paths refer to, if the paths were recorded for a different version of the object.

use weft_graph_format::path::Path;
use weft_graph_format::schema::Block;
use weft_graph_format::value::{Reach, Value};

use super::attribute_at;

/// The part of an object that a sensitive path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Located {
    /// The given path leads to a part that exists. Contains the path to this part. If the given path continues into a
    /// set or an unknown value, the contained path ends at the set or the unknown value.
    There(Path),
    /// The part does not exist, so the secret may be anywhere in the object around it. Contains the path to the
    /// smallest part that certainly contains the secret.
    Lost(Path),
    /// No part needs a mark: the path leads into null, or the schema finds the sensitive parts of the object itself.
    Nowhere,
}

/// Finds the part for a sensitive path of the state, of a configuration or of a plan, in an object of this schema.
///
/// The part may be lost: a list or map no longer has the element of the path, or an upgrade has removed or renamed the
/// attribute. If the schema marks the attribute of the path as sensitive, this does not matter: `sensitive_paths` finds
/// the attribute wherever the object still has it.
pub fn located(object: &Value, path: &Path, schema: &Block) -> Located {
    let prefix = |steps: usize| Path(path.0[..steps].to_vec());
    match object.reach(path) {
        Reach::There(steps) => Located::There(prefix(steps)),
        Reach::Null => Located::Nowhere,
        Reach::Lost(_) if leads_to_sensitive(schema, path) => Located::Nowhere,
        Reach::Lost(steps) => Located::Lost(prefix(steps)),
    }
}

/// Whether the path leads to a sensitive attribute, or into one.
fn leads_to_sensitive(schema: &Block, path: &Path) -> bool {
    (1..=path.0.len())
        .any(|steps| attribute_at(schema, &Path(path.0[..steps].to_vec())).is_some_and(|found| found.sensitive))
}

#[cfg(test)]
mod tests {
    use weft_graph_format::path::ValueStep;
    use weft_graph_format::schema::{Attribute, NestedAttributes, Nesting};
    use weft_graph_format::types::Type;

    use super::*;

    #[test]
    fn a_lost_path_ends_at_the_last_part_that_exists() {
        let secret = Attribute { sensitive: true, ..Attribute::new(Type::String) };
        let nested = NestedAttributes { attributes: [("key".into(), secret)].into(), nesting: Nesting::List };
        let users =
            Attribute { ty: nested.implied_type(), nested: Some(Box::new(nested)), ..Attribute::new(Type::Bool) };
        let names = Attribute::new(Type::list(Type::String));
        let attributes = [("names".into(), names.clone()), ("none".into(), names), ("users".into(), users)].into();
        let schema = Block { attributes, ..Block::default() };
        let user = Value::object([("key", Value::string("k"))]);
        let object = Value::object([
            ("names", Value::list(Type::String, vec![Value::string("a")])),
            ("none", Value::null(Type::list(Type::String))),
            ("users", Value::list(user.ty(), vec![user])),
        ]);
        let path = |name: &str, index: u64| Path::ROOT.attribute(name).with(ValueStep::Index(index));
        for (given, want) in [
            (path("names", 0), Located::There(path("names", 0))),
            (path("names", 1), Located::Lost(Path::ROOT.attribute("names"))),
            (path("names", 0).attribute("x"), Located::Lost(path("names", 0))),
            (path("none", 0), Located::Nowhere),
            (path("users", 0).attribute("key"), Located::There(path("users", 0).attribute("key"))),
            // The list is shorter now. The schema finds the keys of its other elements.
            (path("users", 1).attribute("key"), Located::Nowhere),
            (path("users", 1).attribute("name"), Located::Lost(Path::ROOT.attribute("users"))),
            (Path::ROOT.attribute("gone"), Located::Lost(Path::ROOT)),
            (Path::ROOT, Located::There(Path::ROOT)),
        ] {
            assert_eq!(located(&object, &given, &schema), want, "{given}");
        }
    }
}
