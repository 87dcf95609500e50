//! Where a schema says that an object must not be shown.

use weft_graph_format::path::{Path, Step};
use weft_graph_format::schema::{Attribute, Block, NestedBlock, Nesting};
use weft_graph_format::value::{Kind, Value};

/// The places of an object that its schema calls sensitive, in the order of the schema. Elements of a set have no
/// paths: a set with anything sensitive inside is sensitive as a whole.
pub fn sensitive_paths(object: &Value, schema: &Block) -> Vec<Path> {
    let mut found = Vec::new();
    in_block(object, schema, &Path::ROOT, &mut found);
    found
}

fn in_block(value: &Value, schema: &Block, at: &Path, found: &mut Vec<Path>) {
    let Some(fields) = value.as_fields() else { return };
    for (name, attribute) in &schema.attributes {
        if let Some(part) = fields.get(name) {
            in_attribute(part, attribute, &at.attribute(name.clone()), found);
        }
    }
    for (name, nested) in &schema.blocks {
        let Some(part) = fields.get(name).filter(|_| hides_in_block(nested)) else { continue };
        let here = at.attribute(name.clone());
        if nested.nesting == Nesting::Set {
            found.push(here);
        } else {
            each_part(part, nested.nesting, &here, &mut |part, at| in_block(part, &nested.block, at, found));
        }
    }
}

fn in_attribute(value: &Value, attribute: &Attribute, at: &Path, found: &mut Vec<Path>) {
    if attribute.sensitive {
        found.push(at.clone());
        return;
    }
    let Some(nested) = attribute.nested.as_ref().filter(|_| hides(attribute)) else { return };
    if nested.nesting == Nesting::Set {
        found.push(at.clone());
        return;
    }
    each_part(value, nested.nesting, at, &mut |part, at| {
        let Some(fields) = part.as_fields() else { return };
        for (name, attribute) in &nested.attributes {
            if let Some(part) = fields.get(name) {
                in_attribute(part, attribute, &at.attribute(name.clone()), found);
            }
        }
    });
}

fn hides(attribute: &Attribute) -> bool {
    attribute.sensitive || attribute.nested.as_ref().is_some_and(|nested| nested.attributes.values().any(hides))
}

fn hides_in_block(nested: &NestedBlock) -> bool {
    nested.block.attributes.values().any(hides) || nested.block.blocks.values().any(hides_in_block)
}

fn each_part(value: &Value, nesting: Nesting, at: &Path, visit: &mut dyn FnMut(&Value, &Path)) {
    match (nesting, value.open().1) {
        (Nesting::Single | Nesting::Group, _) => visit(value, at),
        (_, Kind::List(items) | Kind::Tuple(items)) => {
            for (i, part) in items.items().iter().enumerate() {
                visit(part, &at.with(Step::Index(i as u64)));
            }
        }
        (_, Kind::Map(fields) | Kind::Object(fields)) => {
            for (key, part) in fields.iter() {
                visit(part, &at.with(Step::Key(key.clone())));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use weft_graph_format::schema::NestedAttributes;
    use weft_graph_format::types::Type;

    use super::*;

    fn nested(nesting: Nesting) -> Attribute {
        let secret = Attribute { sensitive: true, ..Attribute::new(Type::String) };
        let inner = NestedAttributes { attributes: [("key".into(), secret)].into(), nesting };
        Attribute { nested: Some(Box::new(inner.clone())), ..Attribute::new(inner.implied_type()) }
    }

    #[test]
    fn nested_attributes_and_sets_of_them() {
        let user = Value::object([("key", Value::string("k"))]);
        for (nesting, users, want) in [
            (Nesting::List, Value::list(user.ty(), vec![user.clone()]), ".users[0].key"),
            (Nesting::Set, Value::set(user.ty(), vec![user.clone()]), ".users"),
            (Nesting::Single, user.clone(), ".users.key"),
        ] {
            let schema = Block { attributes: [("users".into(), nested(nesting))].into(), ..Block::default() };
            let object = Value::object([("users", users)]);
            let found: Vec<String> = sensitive_paths(&object, &schema).iter().map(Path::to_string).collect();
            assert_eq!(found, [want], "{nesting:?}");
        }
    }

    #[test]
    fn a_set_of_blocks_with_a_nested_secret_is_sensitive_as_a_whole() {
        let inner = Block { attributes: [("users".into(), nested(Nesting::List))].into(), ..Block::default() };
        let set = NestedBlock { block: inner.clone(), nesting: Nesting::Set, min_items: 0, max_items: 0 };
        let schema = Block { blocks: [("rule".into(), set)].into(), ..Block::default() };
        let object = Value::object([("rule", Value::set(inner.implied_type(), Vec::new()))]);
        let found: Vec<String> = sensitive_paths(&object, &schema).iter().map(Path::to_string).collect();
        assert_eq!(found, [".rule"]);
    }
}
