//! Objects of mocked providers. Each value comes from the configuration or from the test, or is made up.
//!
//! A computed attribute gets its value from the configuration or, if the configuration does not set it, from the test.
//! All other computed attributes are made up: strings of 4 to 15 letters and digits, the number 0, false, and empty
//! collections. The same type and configuration always give the same object, so that a plan and its apply agree. Two
//! resources of one type get equal strings if they set the same attributes, even to different values. The made-up
//! values are equal to OpenTofu's (reference: `mock_provider` in OpenTofu 1.12).

use smol_str::SmolStr;
use weft_evaluator::config::test_file::GivenValues;
use weft_expressions::convert::convert;
use weft_graph_format::diagnostic::Severity;
use weft_graph_format::schema::{Attribute, Block, NestedBlock, Nesting};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_providers::ProviderDiagnostic;

use super::drawn::NumberGenerator;
use super::problems;

/// The minimum and maximum length of a made-up string.
const TEXT_LENGTH: (u32, u32) = (4, 15);
/// The characters of made-up strings.
const CHARACTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ1234567890";

/// The object of a type for a configuration, and the problems of the values in the test.
pub fn object(
    type_name: &str,
    schema: &Block,
    config: &Value,
    given: &GivenValues,
) -> (Value, Vec<ProviderDiagnostic>) {
    let mut maker = Maker { drawing: NumberGenerator::of(type_name), problems: Vec::new(), failed: false };
    let value = maker.block(schema, config, given);
    (value, maker.problems)
}

/// A made-up string.
fn text(drawing: &mut NumberGenerator) -> String {
    let (least, most) = TEXT_LENGTH;
    let length = least + drawing.below(most - least + 1);
    let character = |number: u32| CHARACTERS[usize::try_from(number).unwrap_or_default() % CHARACTERS.len()];
    (0..length).map(|_| char::from(character(drawing.below(CHARACTERS.len() as u32)))).collect()
}

/// A made-up value of a type.
fn made_up(ty: &Type, drawing: &mut NumberGenerator) -> Value {
    match ty {
        Type::String => Value::string(text(drawing)),
        Type::Number => Value::int(0),
        Type::Bool => Value::bool(false),
        Type::List(element) => Value::list((**element).clone(), Vec::new()),
        Type::Set(element) => Value::set((**element).clone(), Vec::new()),
        Type::Map(element) => Value::map((**element).clone(), Default::default()),
        Type::Tuple(_) => Value::tuple(Vec::new()),
        Type::Object(object) => {
            Value::object(object.attributes.iter().map(|(name, ty)| (name.clone(), made_up(ty, drawing))))
        }
        _ => Value::null(ty.clone()),
    }
}

struct Maker {
    drawing: NumberGenerator,
    problems: Vec<ProviderDiagnostic>,
    /// Whether the values of a block have errors. No further blocks are made then.
    failed: bool,
}

impl Maker {
    fn errors(&self) -> usize {
        self.problems.iter().filter(|problem| problem.severity == Severity::Error).count()
    }

    fn block(&mut self, schema: &Block, config: &Value, given: &GivenValues) -> Value {
        let (before, errors) = (self.problems.len(), self.errors());
        let part = |name: &str| config.as_fields().and_then(|fields| fields.get(name)).cloned();
        let mut fields: Vec<(SmolStr, Value)> = Vec::new();
        for (name, attribute) in &schema.attributes {
            let value = self.attribute(name, attribute, part(name), given.get(name));
            fields.push((name.clone(), value));
        }
        self.failed = self.errors() > errors;
        for (name, nested) in &schema.blocks {
            let value = match self.failed {
                true => part(name).unwrap_or_else(|| Value::null(Type::Dynamic)),
                false => self.nested(name, nested, part(name), given.get(name)),
            };
            fields.push((name.clone(), value));
        }
        // Unknown names are reported only if there are no other problems.
        let unknown = given.keys().filter(|_| before == self.problems.len());
        for name in unknown.collect::<Vec<_>>() {
            if !schema.attributes.contains_key(name) && !schema.blocks.contains_key(name) {
                self.problems.push(problems::unknown_field(name));
            }
        }
        self.failed = self.errors() > errors;
        Value::object(fields)
    }

    fn attribute(&mut self, name: &str, attribute: &Attribute, config: Option<Value>, given: Option<&Value>) -> Value {
        // Null means that the configuration does not set the attribute. Attributes that only the provider sets never
        // get their values from the configuration.
        let decides = attribute.computed && !attribute.optional;
        let config = config.filter(|value| !value.is_null() && !decides);
        let given = given.map(|given| self.given(name, attribute, config.is_some(), given));
        if attribute.write_only {
            if given.is_some() {
                self.problems.push(problems::write_only_value(name));
            }
            return Value::null(attribute.ty.clone());
        }
        match (config, given) {
            (Some(config), _) => config,
            (None, _) if attribute.required => {
                self.problems.push(problems::required_value(name));
                Value::null(attribute.ty.clone())
            }
            (None, Some(given)) => given,
            (None, None) if attribute.computed => made_up(&attribute.ty, &mut self.drawing),
            (None, None) => Value::null(attribute.ty.clone()),
        }
    }

    /// Converts a value in the test to the type of its attribute. Records problems.
    fn given(&mut self, name: &str, attribute: &Attribute, configured: bool, given: &Value) -> Value {
        if configured {
            self.problems.push(problems::configured_value(name));
        }
        if !attribute.computed {
            self.problems.push(problems::value_not_computed(name));
        }
        match convert(given, &attribute.ty) {
            Ok(value) => value,
            Err(problem) => {
                self.problems.push(problems::unsuitable_value(name, &problem.with_path()));
                Value::null(attribute.ty.clone())
            }
        }
    }

    /// The values of nested blocks. There are as many blocks as in the configuration.
    fn nested(&mut self, name: &str, nested: &NestedBlock, config: Option<Value>, given: Option<&Value>) -> Value {
        let config = config.unwrap_or_else(|| Value::null(Type::Dynamic));
        if given.is_some_and(|given| !matches!(given.open().1, Kind::Object(_))) {
            self.problems.push(problems::block_values_not_an_object(name));
            return config;
        }
        let empty = match config.open().1 {
            Kind::Null(_) | Kind::Unknown(_) => true,
            Kind::List(items) | Kind::Set(items) | Kind::Tuple(items) => items.is_empty(),
            Kind::Map(fields) => fields.is_empty(),
            Kind::Object(fields) => fields.is_empty() && nested.nesting == Nesting::Map,
            _ => true,
        };
        if empty {
            if given.is_some() {
                self.problems.push(problems::values_without_block(name));
            }
            return config;
        }
        let given = given.and_then(Value::as_fields).map(|fields| fields.to_map()).unwrap_or_default();
        let ty = nested.block.implied_type();
        let mut one = |config: &Value| self.block(&nested.block, config, &given);
        match config.open().1 {
            Kind::List(items) => Value::list(ty, items.items().iter().map(&mut one).collect()),
            Kind::Tuple(items) => Value::tuple(items.items().iter().map(&mut one).collect()),
            Kind::Set(items) => Value::set(ty, items.items().iter().map(&mut one).collect()),
            Kind::Map(fields) => {
                Value::map(ty, fields.iter().map(|(key, config)| (key.clone(), one(config))).collect())
            }
            Kind::Object(fields) if nested.nesting == Nesting::Map => {
                Value::object(fields.iter().map(|(key, config)| (key.clone(), one(config))).collect::<Vec<_>>())
            }
            _ => one(&config),
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn attribute(ty: Type, change: fn(&mut Attribute)) -> Attribute {
        let mut attribute = Attribute::new(ty);
        change(&mut attribute);
        attribute
    }

    fn schema() -> Block {
        let inner = Block {
            attributes: [
                ("port".into(), attribute(Type::Number, |a| a.required = true)),
                ("address".into(), attribute(Type::String, |a| a.computed = true)),
            ]
            .into(),
            ..Block::default()
        };
        Block {
            attributes: [
                ("name".into(), attribute(Type::String, |a| a.required = true)),
                ("id".into(), attribute(Type::String, |a| a.computed = true)),
                ("size".into(), attribute(Type::Number, |a| (a.optional, a.computed) = (true, true))),
                ("tags".into(), attribute(Type::map(Type::String), |a| a.optional = true)),
                ("secret".into(), attribute(Type::String, |a| (a.optional, a.write_only) = (true, true))),
            ]
            .into(),
            blocks: [(
                "listen".into(),
                NestedBlock { block: inner, nesting: Nesting::List, min_items: 0, max_items: 0 },
            )]
            .into(),
            ..Block::default()
        }
    }

    fn config(set: Vec<(&str, Value)>) -> Value {
        let mut fields: std::collections::BTreeMap<&str, Value> = [
            ("name", Value::string("n")),
            ("id", Value::null(Type::String)),
            ("size", Value::null(Type::Number)),
            ("tags", Value::null(Type::map(Type::String))),
            ("secret", Value::string("s")),
            ("listen", Value::list(schema().blocks["listen"].block.implied_type(), Vec::new())),
        ]
        .into();
        fields.extend(set);
        Value::object(fields)
    }

    fn given(values: Vec<(&str, Value)>) -> GivenValues {
        values.into_iter().map(|(name, value)| (name.into(), value)).collect()
    }

    fn part(object: &Value, name: &str) -> Value {
        object.as_fields().and_then(|fields| fields.get(name)).cloned().unwrap()
    }

    #[test]
    fn missing_values_are_made_up() {
        let (first, problems) = object("t", &schema(), &config(vec![]), &given(vec![]));
        assert!(problems.is_empty(), "{problems:?}");
        let (second, _) = object("t", &schema(), &config(vec![("name", Value::string("other"))]), &given(vec![]));
        let id = part(&first, "id");
        // The value was recorded from OpenTofu 1.12.6: the first string of such a resource.
        let mut drawing = NumberGenerator::of("lab_thing");
        let recorded = ["nMFIdL4dM", "0RVXjI", "DPWIrm593nO2x", "YxR4AmaR1RThDm"];
        assert_eq!(recorded.map(|_| text(&mut drawing)), recorded);
        assert!((4..=15).contains(&id.as_str().unwrap().len()), "{id:?}");
        assert!(id.same_content(&part(&second, "id")));
        let (other, _) = object("u", &schema(), &config(vec![]), &given(vec![]));
        assert!(!id.same_content(&part(&other, "id")));
        assert!(part(&first, "size").same_content(&Value::int(0)));
        assert!(part(&first, "tags").is_null() && part(&first, "secret").is_null());
        assert_eq!(part(&first, "name").as_str(), Some("n"));
    }

    #[test]
    fn given_values_replace_computed_ones() {
        let values = given(vec![("id", Value::string("i")), ("size", Value::string("7"))]);
        let (made, problems) = object("t", &schema(), &config(vec![]), &values);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(part(&made, "id").as_str(), Some("i"));
        assert!(part(&made, "size").same_content(&Value::int(7)));
    }

    #[test]
    fn blocks_are_those_of_the_configuration() {
        let inner = Value::object([("port", Value::int(80)), ("address", Value::null(Type::String))]);
        let listen = Value::list(schema().blocks["listen"].block.implied_type(), vec![inner.clone(), inner]);
        let values = given(vec![("listen", Value::object([("address", Value::string("a"))]))]);
        let (made, problems) = object("t", &schema(), &config(vec![("listen", listen)]), &values);
        assert!(problems.is_empty(), "{problems:?}");
        let listen = part(&made, "listen");
        let items = listen.as_items().unwrap();
        assert_eq!(items.len(), 2);
        assert!(items.iter().all(|item| part(item, "address").as_str() == Some("a")));
        let (_, problems) = object("t", &schema(), &config(vec![]), &values);
        assert_eq!(problems[0].summary, "Invalid override for block field `listen`");
    }

    #[test]
    fn invalid_values_are_reported() {
        let cases = [
            (vec![("name", Value::string("x"))], 2, "Invalid mock/override field `name`"),
            (vec![("tags", Value::empty_object())], 1, "Non-computed field `tags` is not allowed to be overridden"),
            (vec![("size", Value::string("large"))], 1, "Invalid mock/override field `size`"),
            (vec![("ghost", Value::int(1))], 1, "Invalid override for block field `ghost`"),
            (vec![("listen", Value::int(1))], 1, "Invalid override for block field `listen`"),
        ];
        for (values, count, summary) in cases {
            let (_, problems) = object("t", &schema(), &config(vec![]), &given(values));
            assert_eq!((problems.len(), problems[0].summary.as_str()), (count, summary));
        }
        let (_, problems) = object("t", &schema(), &config(vec![]), &given(vec![("secret", Value::string("x"))]));
        assert!(problems.iter().any(|problem| problem.severity == Severity::Warning));
    }
}
