//! Finds the sensitive and deprecated parts of an object, as its schema declares them.

use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::schema::{Attribute, Block, NestedAttributes, NestedBlock, Nesting};
use weft_graph_format::value::{Kind, Value};

/// The paths of an object that its schema marks as sensitive, in schema order. Elements of a set have no paths, so a
/// set with anything sensitive inside is sensitive as a whole.
pub fn sensitive_paths(object: &Value, schema: &Block) -> Vec<Path> {
    let mut walk = Walk { counts: |attribute| attribute.sensitive, found: Vec::new() };
    walk.block(object, schema, &Path::ROOT);
    walk.found.into_iter().map(|(path, _)| path).collect()
}

/// The paths of an object that its schema marks as deprecated, in schema order, each with the message of the provider.
/// Like [`sensitive_paths`], this treats a set as a whole.
pub fn deprecated_paths<'s>(object: &Value, schema: &'s Block) -> Vec<(Path, &'s str)> {
    let mut walk = Walk { counts: |attribute| attribute.deprecated, found: Vec::new() };
    walk.block(object, schema, &Path::ROOT);
    walk.found.into_iter().map(|(path, attribute)| (path, attribute.deprecation_message.as_str())).collect()
}

/// Collects the paths of matching attributes.
struct Walk<'s> {
    counts: fn(&Attribute) -> bool,
    /// Paths, each with the attribute that matched.
    found: Vec<(Path, &'s Attribute)>,
}

impl<'s> Walk<'s> {
    fn block(&mut self, value: &Value, schema: &'s Block, at: &Path) {
        let Some(fields) = value.as_fields() else { return };
        for (name, attribute) in &schema.attributes {
            if let Some(part) = fields.get(name) {
                self.attribute(part, attribute, at, name);
            }
        }
        for (name, nested) in &schema.blocks {
            let Some(part) = fields.get(name) else { continue };
            let Some(first) = self.first_in_block(nested) else { continue };
            let here = at.attribute(name.clone());
            if nested.nesting == Nesting::Set {
                self.found.push((here, first));
            } else {
                each_part(part, nested.nesting, &here, &mut |part, at| self.block(part, &nested.block, at));
            }
        }
    }

    fn attribute(&mut self, value: &Value, attribute: &'s Attribute, at: &Path, name: &str) {
        if (self.counts)(attribute) {
            self.found.push((at.attribute(name), attribute));
            return;
        }
        let Some(nested) = attribute.nested.as_deref() else { return };
        let Some(first) = self.first_of(nested) else { return };
        let here = at.attribute(name);
        if nested.nesting == Nesting::Set {
            self.found.push((here, first));
            return;
        }
        each_part(value, nested.nesting, &here, &mut |part, at| {
            let Some(fields) = part.as_fields() else { return };
            for (name, attribute) in &nested.attributes {
                if let Some(part) = fields.get(name) {
                    self.attribute(part, attribute, at, name);
                }
            }
        });
    }

    fn first_in(&self, attribute: &'s Attribute) -> Option<&'s Attribute> {
        if (self.counts)(attribute) {
            return Some(attribute);
        }
        self.first_of(attribute.nested.as_deref()?)
    }

    fn first_of(&self, nested: &'s NestedAttributes) -> Option<&'s Attribute> {
        nested.attributes.values().find_map(|attribute| self.first_in(attribute))
    }

    fn first_in_block(&self, nested: &'s NestedBlock) -> Option<&'s Attribute> {
        let own = nested.block.attributes.values().find_map(|attribute| self.first_in(attribute));
        own.or_else(|| nested.block.blocks.values().find_map(|inner| self.first_in_block(inner)))
    }
}

fn each_part(value: &Value, nesting: Nesting, at: &Path, visit: &mut dyn FnMut(&Value, &Path)) {
    match (nesting, value.open().1) {
        (Nesting::Single | Nesting::Group, _) => visit(value, at),
        (_, Kind::List(items) | Kind::Tuple(items)) => {
            for (i, part) in items.items().iter().enumerate() {
                visit(part, &at.with(ValueStep::Index(i as u64)));
            }
        }
        (_, Kind::Map(fields) | Kind::Object(fields)) => {
            for (key, part) in fields.iter() {
                visit(part, &at.with(ValueStep::Key(key.clone())));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use weft_graph_format::types::Type;

    use super::*;

    fn nested(nesting: Nesting) -> Attribute {
        let secret = Attribute { sensitive: true, ..Attribute::new(Type::String) };
        let inner = NestedAttributes { attributes: [("key".into(), secret)].into(), nesting };
        Attribute { nested: Some(Box::new(inner.clone())), ..Attribute::new(inner.implied_type()) }
    }

    #[test]
    fn secrets_in_nested_attributes_are_marked() {
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

    #[test]
    fn deprecation_marks_carry_the_message_of_the_provider() {
        let old =
            Attribute { deprecated: true, deprecation_message: "Use new.".to_owned(), ..Attribute::new(Type::String) };
        let inner = Block { attributes: [("old".into(), old.clone())].into(), ..Block::default() };
        let list = NestedBlock { block: inner, nesting: Nesting::List, min_items: 0, max_items: 0 };
        let attributes = [("name".into(), Attribute::new(Type::String)), ("old".into(), old)].into();
        let schema = Block { attributes, blocks: [("rule".into(), list)].into(), ..Block::default() };
        let part = Value::object([("old", Value::string("x"))]);
        let rules = Value::list(part.ty(), vec![part.clone(), part]);
        let object = Value::object([("name", Value::string("n")), ("old", Value::null(Type::String)), ("rule", rules)]);
        let found: Vec<String> =
            deprecated_paths(&object, &schema).iter().map(|(path, message)| format!("{path}: {message}")).collect();
        assert_eq!(found, [".old: Use new.", ".rule[0].old: Use new.", ".rule[1].old: Use new."]);
    }
}
