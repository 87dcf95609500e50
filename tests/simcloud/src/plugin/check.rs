//! Validation of configurations. Unknown values are accepted, and checked again once they are known.

use crate::cloud::range;

use super::catalog::{Attribute, Mode, Resource, Rule};
use super::problem::{At, Problem};
use super::value::{Attributes, Value};

/// All problems of a configuration, in the order of the attributes.
pub fn check(attributes: &[Attribute], config: &Attributes) -> Vec<Problem> {
    attributes.iter().filter(|attribute| attribute.is_configurable()).flat_map(|each| check_one(each, config)).collect()
}

/// All problems of the configuration of a resource, including those of several attributes together.
pub fn check_resource(resource: &Resource, config: &Attributes) -> Vec<Problem> {
    let mut problems = check(resource.attributes, config);
    if resource.kind == "dns_record" {
        problems.extend(check_record(config));
    }
    problems
}

fn check_one(attribute: &Attribute, config: &Attributes) -> Vec<Problem> {
    let name = attribute.name;
    let wrong = |detail: String| Problem::new(format!("Invalid {name}"), detail).at(name);
    let value = config.get(name).unwrap_or(&Value::Null);
    let detail = match (value, attribute.rule) {
        (Value::Unknown, _) => None,
        (Value::Null, _) if attribute.mode == Mode::Required => Some(format!("{name} is required.")),
        (Value::Null, _) => None,
        (Value::Text(text), Rule::Name) => {
            let length = text.chars().count();
            (!(1..=63).contains(&length)).then(|| format!("{name} must have 1 to 63 characters, not {length}."))
        }
        (Value::Text(text), Rule::Cidr) => range::parse(text).err().map(|what| format!("{what}.")),
        (Value::Text(text), Rule::OneOf(words)) => {
            (!words.contains(&text.as_str())).then(|| format!("{name} must be one of {}.", words.join(", ")))
        }
        (Value::Number(number), Rule::Within(low, high)) => {
            let fits = number.fract() == 0.0 && (low..=high).contains(number);
            (!fits).then(|| format!("{name} must be a whole number from {low} to {high}."))
        }
        (Value::List(elements), Rule::NotEmpty) if elements.is_empty() => {
            Some(format!("{name} needs at least one element."))
        }
        _ => None,
    };
    let mut problems: Vec<Problem> = detail.into_iter().map(wrong).collect();
    let null = |step: At| wrong(format!("An element of {name} is null.")).within(step);
    match value {
        Value::List(elements) => {
            let nulls = elements.iter().enumerate().filter(|(_, element)| **element == Value::Null);
            problems.extend(nulls.map(|(index, _)| null(At::Index(index as i64))));
        }
        Value::Map(elements) => {
            let nulls = elements.iter().filter(|(_, element)| **element == Value::Null);
            problems.extend(nulls.map(|(key, _)| null(At::Key(key.clone()))));
        }
        _ => {}
    }
    problems
}

/// Checks that the values of address records are addresses, and that an alias has one target.
fn check_record(config: &Attributes) -> Vec<Problem> {
    let Some(Value::List(values)) = config.get("values") else { return Vec::new() };
    match config.get("type").and_then(Value::as_text) {
        Some("A") => {
            let texts = values.iter().enumerate().filter_map(|(index, value)| Some((index, value.as_text()?)));
            let wrong = texts.filter(|(_, text)| text.parse::<std::net::Ipv4Addr>().is_err());
            let problem = |(index, text): (usize, &str)| {
                Problem::new("Invalid values", format!("{text:?} is not an IPv4 address, as A records have them."))
                    .at("values")
                    .within(At::Index(index as i64))
            };
            wrong.map(problem).collect()
        }
        Some("CNAME") if values.len() > 1 => {
            vec![Problem::new("Invalid values", "A CNAME record has one value.").at("values")]
        }
        _ => Vec::new(),
    }
}
