//! Plans objects as far as their values are known. Plain functions over values.

use serde_json::{Value as Json, json};

use super::catalog::{Attribute, CLIENT_TOKEN, Mode, REGION, Resource};
use super::problem::Problem;
use super::schema::conform;
use super::value::{Attributes, Value};
use crate::cloud::world::DEFAULT_TTL;

/// The inputs of a plan other than values.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// The provider's region, or `None` if it is unknown.
    pub region: Option<String>,
    /// Whether client tokens are planned. Otherwise, apply chooses them.
    pub plan_tokens: bool,
    /// An unused token.
    pub fresh_token: String,
}

/// A plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The object after the change.
    pub state: Attributes,
    /// The changed attributes that require a new object.
    pub replace: Vec<&'static str>,
    /// The private data for the apply, and for the next plan of the same create.
    pub private: Vec<u8>,
}

/// Plans a create. If client tokens are planned, the plan contains the token, so that all attempts of this create share
/// it. The token comes from the configuration, or otherwise from an earlier plan of the same create (`prior_private`).
/// If neither has a token, a new token is used.
pub fn plan_create(resource: &Resource, outlook: &Outlook, config: &Attributes, prior_private: &[u8]) -> Planned {
    let mut token = None;
    let mut state = Attributes::new();
    for attribute in resource.attributes {
        let given = config.get(attribute.name).cloned().unwrap_or(Value::Null);
        let value = match (attribute.mode, given) {
            (Mode::Required | Mode::Optional, given) => given,
            (Mode::OptionalComputed, given) if given != Value::Null => given,
            (_, _) if attribute.name == REGION => outlook.region.clone().map_or(Value::Unknown, Value::Text),
            (_, _) if attribute.name == CLIENT_TOKEN && outlook.plan_tokens => {
                let kept = planned_token(prior_private).unwrap_or_else(|| outlook.fresh_token.clone());
                token = Some(kept.clone());
                Value::Text(kept)
            }
            (_, _) => default_of(attribute).unwrap_or(Value::Unknown),
        };
        state.insert(attribute.name.to_owned(), value);
    }
    let private = token.map(|token| json!({"token": token}).to_string().into_bytes()).unwrap_or_default();
    Planned { state, replace: Vec::new(), private }
}

/// Plans a change of an object. The private data is empty: if the change becomes a replacement, its create must not
/// find the token of the old object.
pub fn plan_update(resource: &Resource, prior: &Attributes, proposed: Attributes, config: &Attributes) -> Planned {
    let mut state = proposed;
    let mut replace = Vec::new();
    for attribute in resource.attributes {
        let before = prior.get(attribute.name).unwrap_or(&Value::Null);
        let unset = config.get(attribute.name).is_none_or(|given| *given == Value::Null);
        if attribute.mode == Mode::OptionalComputed
            && unset
            && let Some(default) = default_of(attribute)
        {
            state.insert(attribute.name.to_owned(), default);
        }
        let after = state.entry(attribute.name.to_owned()).or_insert(Value::Null);
        if attribute.mode == Mode::Computed {
            *after = before.clone();
        }
        if attribute.replace && after != before {
            replace.push(attribute.name);
        }
    }
    Planned { state, replace, private: Vec::new() }
}

/// The default of an attribute that the configuration does not set, if the provider knows it.
fn default_of(attribute: &Attribute) -> Option<Value> {
    (attribute.name == "ttl").then_some(Value::Number(DEFAULT_TTL as f64))
}

/// The token that an earlier plan stored in its private data.
pub fn planned_token(private: &[u8]) -> Option<String> {
    let private: Json = serde_json::from_slice(private).ok()?;
    Some(private.get("token")?.as_str()?.to_owned())
}

/// Converts a stored object of any version, as JSON, to the current version.
pub fn upgrade(resource: &Resource, version: i64, raw: &[u8]) -> Result<Attributes, Problem> {
    let bad = |detail: String| Problem::new(format!("Unusable stored {}", resource.name), detail);
    if version > resource.version {
        let current = resource.version;
        return Err(bad(format!("It has schema version {version}; this provider knows none above {current}.")));
    }
    let json: Json = serde_json::from_slice(raw).map_err(|error| bad(format!("It is not JSON: {error}.")))?;
    let Value::Map(mut object) = Value::from_json(&json) else {
        return Err(bad("It is not an object.".to_owned()));
    };
    if resource.name == "cloud_instance"
        && version == 0
        && let Some(size) = object.remove("flavor")
    {
        // In version 0, the size was called flavor.
        object.insert("size".to_owned(), size);
    }
    // Attributes that are no longer in the schema are dropped.
    object.retain(|name, _| resource.attributes.iter().any(|attribute| attribute.name == name));
    conform(object, resource.attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outlook(token: &str) -> Outlook {
        Outlook { region: Some("eu".to_owned()), plan_tokens: true, fresh_token: token.to_owned() }
    }

    fn object(pairs: &[(&str, &str)]) -> Attributes {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), Value::Text((*text).to_owned()))).collect()
    }

    #[test]
    fn a_create_keeps_the_token_of_its_first_plan() {
        let network = Resource::named("cloud_network").unwrap();
        let config = object(&[("name", "n"), ("cidr", "10.0.0.0/16")]);
        let first = plan_create(network, &outlook("one"), &config, &[]);
        assert_eq!(first.state[CLIENT_TOKEN].as_text(), Some("one"));
        assert_eq!(first.state[REGION].as_text(), Some("eu"));
        assert_eq!(first.state["id"], Value::Unknown);
        let again = plan_create(network, &outlook("two"), &config, &first.private);
        assert_eq!(again, first);
        let late = Outlook { region: None, plan_tokens: false, fresh_token: "x".to_owned() };
        let late = plan_create(network, &late, &config, &[]);
        assert_eq!((&late.state[CLIENT_TOKEN], &late.state[REGION]), (&Value::Unknown, &Value::Unknown));
        assert!(late.private.is_empty());
    }

    #[test]
    fn a_replacement_does_not_keep_the_token() {
        let network = Resource::named("cloud_network").unwrap();
        let config = object(&[("name", "n"), ("cidr", "10.1.0.0/16")]);
        let prior = object(&[("name", "n"), ("cidr", "10.0.0.0/16"), (CLIENT_TOKEN, "old"), ("id", "net-1")]);
        let proposed = object(&[("name", "n"), ("cidr", "10.1.0.0/16"), (CLIENT_TOKEN, "old"), ("id", "net-1")]);
        let update = plan_update(network, &prior, proposed, &config);
        assert_eq!(update.replace, ["cidr"]);
        let create = plan_create(network, &outlook("new"), &config, &update.private);
        assert_eq!(create.state[CLIENT_TOKEN].as_text(), Some("new"));
    }

    #[test]
    fn stored_objects_are_upgraded() {
        let instance = Resource::named("cloud_instance").unwrap();
        let old = br#"{"name": "i", "flavor": "small", "id": "ins-1", "gone": 1}"#;
        let new = upgrade(instance, 0, old).unwrap();
        assert_eq!(new["size"].as_text(), Some("small"));
        assert_eq!(new.len(), instance.attributes.len());
        assert!(upgrade(instance, 2, old).is_err() && upgrade(instance, 1, b"[]").is_err());
        assert!(upgrade(instance, 1, br#"{"name": {}}"#).is_err());
    }
}
