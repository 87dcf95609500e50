//! Addresses of states in backends, such as `s3://BUCKET/KEY?region=REGION`.
//!
//! The scheme selects the backend. The host, the path and the query parameters set arguments of the backend. A
//! parameter can set a part of an argument: `endpoints.s3=http://localhost:9000`. A parameter for a list may be
//! repeated.

use serde_json::{Map, Value as Json};
use url::Url;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::types::Type;

use crate::arguments::BackendSettings;
use crate::catalog;
use crate::problems::{self, AddressProblem};

/// A scheme of addresses.
struct Scheme {
    name: &'static str,
    /// The type of the backend.
    kind: &'static str,
    /// The argument that the host sets. `None` if the scheme has the field `whole` instead.
    host: Option<&'static str>,
    /// The argument that the path sets, and whether the path is required.
    path: Option<(&'static str, bool)>,
    /// The argument that the whole address sets. The parameters that are arguments of the backend are removed first.
    whole: Option<&'static str>,
}

const SCHEMES: [Scheme; 5] = [
    Scheme { name: "s3", kind: "s3", host: Some("bucket"), path: Some(("key", true)), whole: None },
    Scheme { name: "gs", kind: "gcs", host: Some("bucket"), path: Some(("prefix", false)), whole: None },
    Scheme { name: "azblob", kind: "azurerm", host: Some("container_name"), path: Some(("key", true)), whole: None },
    Scheme { name: "postgres", kind: "pg", host: None, path: None, whole: Some("conn_str") },
    Scheme { name: "postgresql", kind: "pg", host: None, path: None, whole: Some("conn_str") },
];
/// The arguments of `s3` that select how the state is locked.
const S3_LOCKS: [&str; 2] = ["use_lockfile", "dynamodb_table"];

/// An address of a state in a backend.
#[derive(Clone, Debug)]
pub struct BackendAddress {
    /// The type of the backend.
    pub kind: &'static str,
    /// The settings of the backend.
    pub settings: BackendSettings,
}

impl BackendAddress {
    /// Parses an address. Returns `None` if its scheme is not the scheme of a backend.
    ///
    /// # Errors
    /// Returns an error if a part is missing, a parameter is unknown, or a value has the wrong type. The error contains
    /// no values, because values may be secret.
    pub fn parse(address: &str) -> Result<Option<BackendAddress>, Diagnostic> {
        let scheme = address.split_once("://").map(|(scheme, _)| scheme);
        let Some(scheme) = SCHEMES.iter().find(|known| Some(known.name) == scheme) else { return Ok(None) };
        let invalid = |why: AddressProblem| problems::store_address(scheme.name, &why);
        let Some(schema) = catalog::schema(scheme.kind) else { return Err(problems::not_here(scheme.kind)) };
        let Type::Object(arguments) = schema.implied_type() else { return Ok(None) };
        let url = Url::parse(address).map_err(|error| invalid(error.into()))?;
        let mut settings = BackendSettings::new();
        if let Some(argument) = scheme.host {
            let host = url.host_str().filter(|host| !host.is_empty());
            let host = host.ok_or_else(|| invalid(AddressProblem::NoHost(argument)))?;
            settings.insert(argument.to_owned(), host.into());
        }
        if let Some((argument, required)) = scheme.path {
            let path = percent_encoding::percent_decode_str(url.path().trim_matches('/')).decode_utf8_lossy();
            match (path.is_empty(), required) {
                (false, _) => drop(settings.insert(argument.to_owned(), path.into())),
                (true, true) => return Err(invalid(AddressProblem::NoPath(argument))),
                (true, false) => {}
            }
        }
        let mut foreign = Vec::new();
        for (name, value) in url.query_pairs() {
            let (argument, part) =
                name.split_once('.').map_or((&*name, None), |(argument, part)| (argument, Some(part)));
            match arguments.attributes.get(argument) {
                Some(ty) => add(settings.entry(argument).or_insert(Json::Null), ty, part, &value)
                    .ok_or_else(|| invalid(AddressProblem::Type { name: name.to_string(), ty: ty.clone() }))?,
                None if scheme.whole.is_some() => foreign.push((name.into_owned(), value.into_owned())),
                None => {
                    let name = name.into_owned();
                    return Err(invalid(AddressProblem::UnknownArgument { backend: scheme.kind, name }));
                }
            }
        }
        if let Some(argument) = scheme.whole {
            let mut whole = url;
            whole.set_query(None);
            if !foreign.is_empty() {
                whole.query_pairs_mut().extend_pairs(foreign);
            }
            settings.insert(argument.to_owned(), whole.to_string().into());
        }
        if scheme.kind == "s3" && !S3_LOCKS.iter().any(|name| settings.contains_key(*name)) {
            settings.insert(S3_LOCKS[0].to_owned(), true.into());
        }
        Ok(Some(BackendAddress { kind: scheme.kind, settings }))
    }
}

/// Adds the text of a parameter to the argument `to` of the type `ty`. If `part` is set, adds the text to that part of
/// the argument. `None` if the text does not match the type.
fn add(to: &mut Json, ty: &Type, part: Option<&str>, text: &str) -> Option<()> {
    match (ty, part) {
        (Type::String, None) => *to = text.into(),
        (Type::Bool, None) => *to = text.parse::<bool>().ok()?.into(),
        (Type::Number, None) => *to = text.parse::<serde_json::Number>().ok()?.into(),
        (Type::List(element) | Type::Set(element), None) => {
            let mut value = Json::Null;
            add(&mut value, element, None, text)?;
            if to.is_null() {
                *to = Json::Array(Vec::new());
            }
            to.as_array_mut()?.push(value);
        }
        (Type::Map(element), Some(part)) => add(object(to)?.entry(part).or_insert(Json::Null), element, None, text)?,
        (Type::Object(ty), Some(part)) => {
            let (name, rest) = part.split_once('.').map_or((part, None), |(name, rest)| (name, Some(rest)));
            let field = ty.attributes.get(name)?;
            let fields = object(to)?;
            // Every attribute of the object must be present, so missing ones are null.
            for name in ty.attributes.keys() {
                fields.entry(name.as_str()).or_insert(Json::Null);
            }
            add(fields.entry(name).or_insert(Json::Null), field, rest, text)?;
        }
        _ => return None,
    }
    Some(())
}

fn object(value: &mut Json) -> Option<&mut Map<String, Json>> {
    if value.is_null() {
        *value = Json::Object(Map::new());
    }
    value.as_object_mut()
}

#[cfg(all(test, feature = "all"))]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(address: &str) -> Json {
        Json::Object(BackendAddress::parse(address).unwrap().unwrap().settings)
    }

    #[test]
    fn parts_are_arguments() {
        for (address, want) in [
            (
                "s3://states/team/a%20b.tfstate?region=eu-west-1&max_retries=3",
                json!({"bucket": "states", "key": "team/a b.tfstate", "region": "eu-west-1", "max_retries": 3,
                       "use_lockfile": true}),
            ),
            (
                "s3://b/k?dynamodb_table=locks&allowed_account_ids=1&allowed_account_ids=2",
                json!({"bucket": "b", "key": "k", "dynamodb_table": "locks", "allowed_account_ids": ["1", "2"]}),
            ),
            (
                "s3://b/k?use_lockfile=false&state_tags.owner=a&endpoints.s3=http://h",
                json!({"bucket": "b", "key": "k", "use_lockfile": false, "state_tags": {"owner": "a"},
                       "endpoints": {"dynamodb": null, "iam": null, "s3": "http://h", "sts": null}}),
            ),
            ("gs://b", json!({"bucket": "b"})),
            ("gs://b/some/prefix/", json!({"bucket": "b", "prefix": "some/prefix"})),
            (
                "postgres://ann:word@db/x?sslmode=disable&schema_name=weft",
                json!({"conn_str": "postgres://ann:word@db/x?sslmode=disable", "schema_name": "weft"}),
            ),
        ] {
            assert_eq!(settings(address), want, "{address}");
        }
    }

    #[test]
    fn other_addresses_are_refused_or_left_to_others() {
        for other in ["redis://h/0?state=a", "embedded", "", "http://h/s"] {
            assert!(BackendAddress::parse(other).unwrap().is_none(), "{other}");
        }
        for (address, want) in [
            ("s3://b", "the path is missing: it sets the argument \"key\""),
            ("s3:///k", "the host is missing: it sets the argument \"bucket\""),
            ("s3://b/k?bukket=x", "the backend \"s3\" has no argument \"bukket\""),
            ("s3://b/k?encrypt=word", "the value of \"encrypt\" must be bool"),
            ("s3://b/k?endpoints.s4=word", "the value of \"endpoints.s4\""),
            ("s3://b/k?region.x=word", "the value of \"region.x\" must be string"),
        ] {
            let problem = BackendAddress::parse(address).unwrap_err();
            assert!(problem.detail.contains(want), "{address}: {}", problem.detail);
            assert!(!problem.detail.contains("word"), "{}", problem.detail);
        }
    }
}
