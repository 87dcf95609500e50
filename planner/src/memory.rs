//! The memories of provider instances. The state stores a memory of each provider instance that can disappear together
//! with its objects: an instance with a key, or an instance in a called module.
//! `docs/decisions/2026-11-26-providers-that-disappear.md` has the reasons.
//!
//! A memory is stored as an object with these members:
//! - `each_value`: the value of `each.value`, if the provider instance has a key
//! - `configuration`: the arguments of the provider block that are not null, if the block is in a called module
//! - `hidden`: the parts that are not stored, by path. These are sensitive or ephemeral parts, by their value or by the
//!   schema, and arguments that are made of root variables. For each path, the value is the variable that provides the
//!   part, such as `var.token`, or an empty string.
//! - `templates`: the values of hidden arguments that are made of several parts, such as `${var.user}:${var.password}`
//! - `variables`: the root variables that any other hidden argument was computed from, such as `var.a, var.b`
//! - `digests`: the digests of hidden arguments that are not secret. If such an argument had another value, the
//!   provider could look for the objects in the wrong region or account.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;
use weft_evaluator::glue::{ArgumentBasis, ProviderBasis, RootPart, RootTemplate, RootVariable};
use weft_graph_format::address::{InstanceKey, ProviderInstance};
use weft_graph_format::codec::{json, type_json};
use weft_graph_format::path::Path;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Transform, Value};
use weft_state::OutputRecord;

use crate::prior_state::PriorState;

/// The path of `each.value` in [`Memory::hidden`].
const EACH_VALUE: &str = "each.value";

/// The number of hexadecimal digits of a digest: enough to detect another value.
const DIGEST_DIGITS: usize = 32;

/// The memory of one provider instance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// `each.value`
    pub(crate) each_value: Option<Value>,
    /// The configuration, without the arguments that are null.
    pub(crate) configuration: Option<Value>,
    /// The parts that are not stored, by path.
    pub(crate) hidden: BTreeMap<SmolStr, Hidden>,
}

/// A part that is not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hidden {
    /// The value as a template over root variables. `None` if it is anything else.
    pub(crate) template: Option<RootTemplate>,
    /// The root variables that the part was computed from, as text, if there is no template. Empty if there are none.
    pub(crate) variables: SmolStr,
    /// The digest that the value must have. `None` if any value is accepted, as for a secret that may have been
    /// replaced.
    pub(crate) digest: Option<SmolStr>,
}

impl Memory {
    /// Parses a stored memory. `None` if the record is not a memory.
    fn read(record: &OutputRecord) -> Option<Memory> {
        let ty = type_json::decode(record.value_type.as_str().as_bytes()).ok()?;
        let value = json::decode(record.value.as_str().as_bytes(), &ty).ok()?;
        let fields = value.as_fields()?;
        let texts = |name| fields.get(name).and_then(Value::as_fields);
        let text = |name, path: &SmolStr| texts(name)?.get(path)?.as_str().map(SmolStr::new);
        let hidden = texts("hidden").into_iter().flat_map(|hidden| hidden.iter()).map(|(path, variable)| {
            let variable = variable.as_str().and_then(RootVariable::parse);
            let template = match variable {
                Some(variable) => Some(RootTemplate(vec![RootPart::Variable(variable)])),
                None => text("templates", path).and_then(|text| RootTemplate::parse(&text)),
            };
            let variables = text("variables", path).unwrap_or_default();
            (path.clone(), Hidden { template, variables, digest: text("digests", path) })
        });
        Some(Memory {
            each_value: fields.get("each_value").cloned(),
            configuration: fields.get("configuration").cloned(),
            hidden: hidden.collect(),
        })
    }

    /// The parts of `each.value` that are not stored.
    pub(crate) fn hidden_of_value(&self) -> Vec<&SmolStr> {
        self.hidden.keys().filter(|path| path.starts_with(EACH_VALUE)).collect()
    }

    /// The parts of the configuration that are not stored.
    pub(crate) fn hidden_arguments(&self) -> impl Iterator<Item = (&SmolStr, &Hidden)> {
        self.hidden.iter().filter(|(path, _)| !path.starts_with(EACH_VALUE))
    }
}

/// The memories of the provider instances that objects need.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memories(BTreeMap<ProviderInstance, Memory>);

impl Memories {
    /// The memories in a state.
    pub(crate) fn of(state: &PriorState) -> Memories {
        let stored = state.snapshot().provider_memories();
        let mut found: BTreeMap<ProviderInstance, Memory> =
            stored.filter_map(|(name, stored)| Some((name.parse().ok()?, Memory::read(&stored.record)?))).collect();
        if !found.is_empty() {
            let used: BTreeSet<&ProviderInstance> =
                state.managed().filter_map(|(_, stored)| stored.provider().ok()).collect();
            found.retain(|instance, _| used.contains(instance));
        }
        Memories(found)
    }

    /// The memory of a provider instance.
    pub(crate) fn get(&self, instance: &ProviderInstance) -> Option<&Memory> {
        self.0.get(instance)
    }

    /// The keys of the former instances of a block, with their values of `each.value`. Omits keys whose values are not
    /// stored completely.
    pub(crate) fn former_keys(&self, block: &ProviderInstance) -> Vec<(SmolStr, Value)> {
        let of_block = self.0.iter().filter(|(instance, _)| {
            (&instance.module, &instance.source, &instance.alias) == (&block.module, &block.source, &block.alias)
        });
        let found = of_block.filter_map(|(instance, memory)| match &instance.key {
            InstanceKey::String(key) if memory.hidden_of_value().is_empty() => {
                Some((key.clone(), memory.each_value.clone()?))
            }
            _ => None,
        });
        found.collect()
    }
}

/// The memory of a provider instance in its stored form. Unknown parts keep their formulas. `configuration` has the
/// marks of the schema, and `by_schema` are the arguments with such marks.
pub(crate) fn remembered(
    instance: &ProviderInstance,
    basis: &ProviderBasis,
    configuration: &Value,
    by_schema: &BTreeSet<SmolStr>,
) -> Value {
    let mut texts = Texts::default();
    let mut members: Vec<(&str, Value)> = Vec::new();
    if let Some(value) = &basis.each_value {
        // A value without a mark is also a secret if it is equal to an argument that the schema calls sensitive.
        let secrets = secret_texts(configuration);
        let value = without_secrets(value, &secrets, &mut |path| texts.hide(format!("{EACH_VALUE}{path}").into(), ""));
        members.push(("each_value", value));
    }
    if !instance.module.is_root() {
        let mut kept = without_nulls(configuration);
        for (name, argument) in &basis.arguments {
            let Some(value) = kept.get(name) else { continue };
            let secret = value.contains_sensitive() || value.deep().ephemeral;
            if !texts.refer(name, argument, secret, by_schema.contains(name)) {
                continue;
            }
            if let Some(digest) = digest(instance, value).filter(|_| !secret) {
                texts.add("digests", name, digest);
            }
            kept.remove(name);
        }
        let value = without_secrets(&Value::object(kept), &BTreeSet::new(), &mut |path| {
            texts.hide(path.to_string().trim_start_matches('.').into(), "");
        });
        members.push(("configuration", value));
    }
    members.extend(texts.0.into_iter().map(|(name, texts)| (name, Value::map(Type::String, texts))));
    Value::object(members)
}

/// The texts of a memory by member and path.
#[derive(Default)]
struct Texts(BTreeMap<&'static str, BTreeMap<SmolStr, Value>>);

impl Texts {
    fn add(&mut self, member: &'static str, path: &SmolStr, text: impl AsRef<str>) {
        self.0.entry(member).or_default().insert(path.clone(), Value::string(text.as_ref()));
    }

    fn hide(&mut self, path: SmolStr, variable: &str) {
        self.add("hidden", &path, variable);
    }

    /// Replaces the value of an argument by its template, which refers to root variables. If there is no such template,
    /// the value of a `secret` argument is replaced by the names of its root variables. Returns `false` if the value is
    /// not replaced. `by_schema` says whether the schema calls the whole argument sensitive. If so, the text of a
    /// template is secret, too, and a template with text is not used.
    fn refer(&mut self, name: &SmolStr, argument: &ArgumentBasis, secret: bool, by_schema: bool) -> bool {
        let template = argument.template.as_ref().filter(|template| !by_schema || !template.has_text());
        match (template, template.and_then(RootTemplate::as_variable)) {
            (_, Some(variable)) => self.hide(name.clone(), &variable.to_string()),
            (Some(template), None) => {
                self.hide(name.clone(), "");
                self.add("templates", name, template.to_string());
            }
            (None, _) if secret => {
                let variables: Vec<String> = argument.variables.iter().map(|name| format!("var.{name}")).collect();
                self.hide(name.clone(), "");
                self.add("variables", name, variables.join(", "));
            }
            (None, _) => return false,
        }
        true
    }
}

/// The digest of an argument of a provider instance. `None` if its value is not known yet.
pub(crate) fn digest(instance: &ProviderInstance, value: &Value) -> Option<SmolStr> {
    let (value, _) = value.bare().unmark_deep();
    let ty = value.ty();
    let text = json::encode(&value, &ty).ok().filter(|_| value.is_wholly_known())?;
    // The hash includes the address, so that equal values of different provider instances have different digests.
    let hash = blake3::hash(format!("{instance}\n{}\n{text}", type_json::encode(&ty)).as_bytes());
    Some(hash.to_hex().as_str()[..DIGEST_DIGITS].into())
}

/// The arguments and blocks of a configuration that are not null.
fn without_nulls(configuration: &Value) -> BTreeMap<SmolStr, Value> {
    let fields = configuration.as_fields().into_iter().flat_map(|fields| fields.iter());
    fields.filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Replaces with null each part that must not be stored, and calls `hide` with its path. A part with a formula is
/// replaced as a whole if anything in it is secret.
fn without_secrets(value: &Value, secrets: &BTreeSet<SmolStr>, hide: &mut dyn FnMut(&Path)) -> Value {
    value.transform(&mut |path, part| {
        let marks = part.marks();
        let whole = part.formula().is_some() && (part.contains_sensitive() || part.deep().ephemeral);
        let known = part.as_str().is_some_and(|text| secrets.contains(text));
        if !whole && !known && !marks.is_sensitive() && !marks.is_ephemeral() {
            return Transform::Descend;
        }
        hide(path);
        Transform::Replace(Value::null(part.ty()))
    })
}

/// The texts in the sensitive parts of a value.
fn secret_texts(value: &Value) -> BTreeSet<SmolStr> {
    let mut found = BTreeSet::new();
    value.visit(&mut |_, part| {
        if part.marks().is_sensitive() {
            part.unmark_deep().0.visit(&mut |_, inner| found.extend(inner.as_str().map(SmolStr::new)));
        }
    });
    found.remove("");
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_graph_format::marks::Marks;
    use weft_state::RawJson;

    fn stored(value: &Value) -> Memory {
        let ty = value.ty();
        let record = OutputRecord {
            value: RawJson::new(json::encode(value, &ty).unwrap()),
            value_type: RawJson::new(type_json::encode(&ty)),
            sensitive: false,
            deprecated: None,
        };
        Memory::read(&record).unwrap()
    }

    fn secret(text: &str) -> Value {
        Value::string(text).mark(&Marks::SENSITIVE)
    }

    fn argument(text: &str) -> ArgumentBasis {
        let template = RootTemplate::parse(text).unwrap();
        let variables = template.variables().map(|variable| variable.name.clone()).collect();
        ArgumentBasis { variables, template: Some(template) }
    }

    #[test]
    fn secrets_are_kept_by_reference() {
        let basis = ProviderBasis {
            each_value: Some(Value::object([
                ("zone", Value::string("z")),
                ("key", secret("s3cret")),
                ("token", Value::string("s3cret")),
            ])),
            arguments: BTreeMap::from([
                ("token".into(), argument("${var.tokens.eu}")),
                ("place".into(), argument("${var.place}")),
                ("login_text".into(), argument("${var.user}:${var.password}")),
                ("url".into(), argument("https://${var.host}")),
                ("pin".into(), argument("1${var.pin}")),
                ("port".into(), ArgumentBasis { template: None, ..argument("${var.port}") }),
            ]),
        };
        let instance: ProviderInstance = "module.m.provider[\"a/b/c\"]".parse().unwrap();
        let nested = Value::list(Type::Dynamic, vec![Value::object([("pin", secret("s3cret"))])]);
        let configuration = Value::object([
            ("region", Value::string("eu")),
            ("place", Value::string("s3cret place")),
            ("token", secret("s3cret")),
            ("login", nested),
            ("login_text", secret("bob:s3cret")),
            ("url", Value::string("https://s3cret.test")),
            ("pin", secret("1s3cret")),
            ("port", Value::string("443")),
            ("unused", Value::null(Type::String)),
        ]);
        let value = remembered(&instance, &basis, &configuration, &BTreeSet::from(["token".into(), "pin".into()]));
        let text = format!("{value:?}");
        assert!(!text.contains("s3cret") && !text.contains("unused"), "{text}");
        let memory = stored(&value);
        assert_eq!(memory.hidden_of_value(), ["each.value.key", "each.value.token"]);
        let hidden = |text: &str, variables: &str, digest| Hidden {
            template: Some(text).filter(|text| !text.is_empty()).and_then(RootTemplate::parse),
            variables: variables.into(),
            digest,
        };
        let digest_of = |text: &str| digest(&instance, &Value::string(text));
        assert!(digest_of("a").is_some() && digest_of("a") != digest_of("b"));
        let arguments: Vec<_> =
            memory.hidden_arguments().map(|(path, hidden)| (path.as_str(), hidden.clone())).collect();
        assert_eq!(
            arguments,
            [
                ("login[0].pin", hidden("", "", None)),
                ("login_text", hidden("${var.user}:${var.password}", "", None)),
                ("pin", hidden("", "var.pin", None)),
                ("place", hidden("${var.place}", "", digest_of("s3cret place"))),
                ("token", hidden("${var.tokens.eu}", "", None)),
                ("url", hidden("https://${var.host}", "", digest_of("https://s3cret.test"))),
            ]
        );
        let region = memory.configuration.as_ref().and_then(Value::as_fields).and_then(|fields| fields.get("region"));
        assert_eq!(region.and_then(Value::as_str), Some("eu"));
    }
}
