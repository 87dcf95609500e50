//! Applies changes, in the cloud or offline.

use hyper::Method;
use serde_json::{Map, Value as Json};

use super::api::{Api, ApiError, Repeat};
use super::catalog::{Attribute, CLIENT_TOKEN, Mode, NAME_IMPORT, PASSWORD, Resource, TOKEN_IMPORT};
use super::offline;
use super::problem::Problem;
use super::value::{Attributes, Value};
use crate::client::encode;
use crate::cloud::config::default_zones;
use crate::cloud::fault::Twist;
use crate::cloud::reply::TWIST;

/// The summary of the error for an id or token without an object. Engines compare it.
pub const NO_SUCH_IMPORT: &str = "Cannot import non-existent remote object";

/// Where objects are stored.
#[derive(Debug)]
pub enum Backend {
    /// In a cloud.
    Cloud(Box<Api>),
    /// Nowhere: the plugin makes objects up.
    Offline,
    /// Unknown, because the provider's configuration has unknown values.
    Unknown,
}

/// The error of an import that finds no object.
pub fn no_such_import(detail: &str) -> Problem {
    Problem::new(NO_SUCH_IMPORT, detail)
}

fn not_configured() -> Problem {
    let detail = "The provider's url or region is known only after apply, so the cloud cannot be asked before that.";
    Problem::new("Provider configuration not known", detail)
}

impl Backend {
    /// Creates the planned object. Also returns what the plugin must do with it.
    pub async fn create(
        &self,
        resource: &Resource,
        region: &str,
        planned: &Attributes,
    ) -> Result<(Attributes, Option<Twist>), Problem> {
        let api = match self {
            Backend::Cloud(api) => api,
            Backend::Offline => return Ok((offline::create(resource, planned, region), None)),
            Backend::Unknown => return Err(not_configured()),
        };
        let mut planned = planned.clone();
        let mut body = Map::new();
        for attribute in resource.attributes.iter().filter(|attribute| attribute.is_configurable()) {
            let value = planned.entry(attribute.name.to_owned()).or_insert(Value::Null);
            if attribute.name == CLIENT_TOKEN && *value == Value::Unknown {
                *value = Value::Text(uuid::Uuid::new_v4().to_string());
            }
            if !matches!(value, Value::Null | Value::Unknown) {
                body.insert(field_name(attribute).to_owned(), value.to_json());
            }
        }
        let repeat = if body.contains_key("token") { Repeat::Safe } else { Repeat::Unsafe };
        let path = objects_path(resource, region);
        let made = api.call(Method::POST, &path, Some(&Json::Object(body)), repeat).await;
        let made = made.map_err(|error| problem("create", resource, &error))?;
        let twist = match made.get(TWIST).and_then(Json::as_str) {
            Some("partial") => Some(Twist::Partial),
            Some("empty") => Some(Twist::Empty),
            _ => None,
        };
        Ok((from_cloud(resource, &made, &planned)?, twist))
    }

    /// The current object, or `None` if the object no longer exists.
    pub async fn read(
        &self,
        resource: &Resource,
        region: &str,
        state: &Attributes,
    ) -> Result<Option<Attributes>, Problem> {
        let api = match self {
            Backend::Cloud(api) => api,
            Backend::Offline => return Ok(Some(state.clone())),
            Backend::Unknown => return Err(not_configured()),
        };
        match api.call(Method::GET, &object_path(resource, region, state), None, Repeat::Read).await {
            Ok(found) => from_cloud(resource, &found, state).map(Some),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(problem("read", resource, &error)),
        }
    }

    /// Changes the attributes that differ between the two objects.
    pub async fn update(
        &self,
        resource: &Resource,
        region: &str,
        prior: &Attributes,
        planned: &Attributes,
    ) -> Result<Attributes, Problem> {
        let api = match self {
            Backend::Cloud(api) => api,
            Backend::Offline => return Ok(planned.clone()),
            Backend::Unknown => return Err(not_configured()),
        };
        let changed = |attribute: &&Attribute| {
            attribute.is_configurable()
                && attribute.name != CLIENT_TOKEN
                && planned.get(attribute.name) != prior.get(attribute.name)
        };
        let field = |attribute: &Attribute| {
            let value = planned.get(attribute.name).map_or(Json::Null, Value::to_json);
            (field_name(attribute).to_owned(), value)
        };
        let body = Json::Object(resource.attributes.iter().filter(changed).map(field).collect());
        let path = object_path(resource, region, prior);
        let after = api.call(Method::PATCH, &path, Some(&body), Repeat::Safe).await;
        from_cloud(resource, &after.map_err(|error| problem("update", resource, &error))?, planned)
    }

    /// Removes an object. An absent object is no error.
    pub async fn delete(&self, resource: &Resource, region: &str, prior: &Attributes) -> Result<(), Problem> {
        let api = match self {
            Backend::Cloud(api) => api,
            Backend::Offline => return Ok(()),
            Backend::Unknown => return Err(not_configured()),
        };
        match api.call(Method::DELETE, &object_path(resource, region, prior), None, Repeat::Safe).await {
            Ok(_) => Ok(()),
            Err(error) if is_absent(&error) => Ok(()),
            Err(error) => Err(problem("delete", resource, &error)),
        }
    }

    /// Finds an object by `ID`, `REGION/ID`, `token:REGION:TOKEN` or, in the provider's region, `name:NAME`. The lookup
    /// is strongly consistent: if it finds nothing, the object did not exist at the time of the request.
    pub async fn import(&self, resource: &Resource, region: &str, id: &str) -> Result<Attributes, Problem> {
        let api = match self {
            Backend::Cloud(api) => api,
            Backend::Offline => return Err(offline::import(id)),
            Backend::Unknown => return Err(not_configured()),
        };
        let nothing = Attributes::new();
        let name = resource.name;
        if let Some(wanted) = id.strip_prefix(NAME_IMPORT) {
            let query = format!("{}?name={}", objects_path(resource, region), encode(wanted));
            let nothing_there = format!("No {name} in region {region} has the name {wanted:?}.");
            return only(api, resource, &query, &nothing_there).await;
        }
        let Some(token) = id.strip_prefix(TOKEN_IMPORT) else {
            let (region, id) = id.split_once('/').unwrap_or((region, id));
            let path = format!("{}/{}", objects_path(resource, region), encode(id));
            return match api.call(Method::GET, &path, None, Repeat::Read).await {
                Ok(found) => from_cloud(resource, &found, &nothing),
                Err(error) if is_absent(&error) => {
                    Err(no_such_import(&format!("There is no {name} with the id {id:?} in region {region}.")))
                }
                Err(error) => Err(problem("read", resource, &error)),
            };
        };
        let (true, Some((region, token))) = (resource.has_token(), token.split_once(':')) else {
            let detail = "To import by client token, use token:REGION:TOKEN. The type must have client tokens.";
            return Err(Problem::new("Invalid import id", detail));
        };
        let query = format!("{}?token={}", objects_path(resource, region), encode(token));
        let nothing_there = format!("No {name} in region {region} has the client token {token:?}.");
        only(api, resource, &query, &nothing_there).await
    }

    /// The data source: a region by its name.
    pub async fn region(&self, name: &str) -> Result<Attributes, Problem> {
        let object = |zones: Vec<Value>, endpoint: Value| {
            let name = Value::Text(name.to_owned());
            let attributes = [("name", name), ("zones", Value::List(zones)), ("endpoint", endpoint)];
            attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
        };
        let api = match self {
            Backend::Cloud(api) => api,
            Backend::Offline => {
                let zones = default_zones(name).into_iter().map(Value::Text).collect();
                return Ok(object(zones, Value::Text(format!("offline:{name}"))));
            }
            Backend::Unknown => return Err(not_configured()),
        };
        let found = api.call(Method::GET, &format!("/regions/{}", encode(name)), None, Repeat::Read).await;
        let found = found.map_err(|error| match &error {
            ApiError::Refused { status: 404, message, .. } => {
                Problem::new("No such region", format!("{message}.")).at("name")
            }
            _ => Problem::new("Cannot read cloud_region", error.to_string()),
        })?;
        let zones = match found.get("zones").map(Value::from_json) {
            Some(Value::List(zones)) => zones,
            _ => Vec::new(),
        };
        Ok(object(zones, Value::text(found.get("endpoint").and_then(Json::as_str))))
    }
}

/// The name of an attribute in the cloud. Only the client token has another name there.
fn field_name(attribute: &Attribute) -> &'static str {
    if attribute.name == CLIENT_TOKEN { "token" } else { attribute.name }
}

/// The only object in a list of at most one.
async fn only(api: &Api, resource: &Resource, query: &str, nothing_there: &str) -> Result<Attributes, Problem> {
    let found = api.call(Method::GET, query, None, Repeat::Read).await;
    let found = found.map_err(|error| problem("look up", resource, &error))?;
    match found.pointer("/items").and_then(Json::as_array).map(Vec::as_slice) {
        Some([one]) => from_cloud(resource, one, &Attributes::new()),
        Some([]) => Err(no_such_import(nothing_there)),
        _ => Err(Problem::new("Unusable answer", "The cloud returned neither an empty list nor one object.")),
    }
}

fn objects_path(resource: &Resource, region: &str) -> String {
    format!("/regions/{}/{}", encode(region), resource.kind)
}

fn object_path(resource: &Resource, region: &str, state: &Attributes) -> String {
    let id = state.get("id").and_then(Value::as_text).unwrap_or_default();
    format!("{}/{}", objects_path(resource, region), encode(id))
}

/// Converts an object from the cloud. Attributes that the cloud never returns are taken from `known`.
fn from_cloud(resource: &Resource, json: &Json, known: &Attributes) -> Result<Attributes, Problem> {
    let mut object = Attributes::new();
    for attribute in resource.attributes {
        let value = if attribute.name == PASSWORD {
            known.get(PASSWORD).cloned().unwrap_or(Value::Null)
        } else {
            json.get(field_name(attribute)).map_or(Value::Null, Value::from_json)
        };
        if !attribute.ty.holds(&value) || (value == Value::Null && attribute.mode == Mode::Required) {
            let detail = format!("The cloud returned an invalid {} for the {}.", attribute.name, resource.kind);
            return Err(Problem::new("Unusable answer", detail));
        }
        object.insert(attribute.name.to_owned(), value);
    }
    Ok(object)
}

/// Whether the object certainly does not exist. A 404 alone may be about the region, or may not come from the cloud.
fn is_absent(error: &ApiError) -> bool {
    matches!(error, ApiError::Refused { status: 404, code, .. } if code == "no-such-object")
}

fn problem(verb: &str, resource: &Resource, error: &ApiError) -> Problem {
    let name = resource.name;
    match error {
        ApiError::Uncertain(text) => {
            let detail = format!("{text} Whether the cloud did it is not known: look before trying again.");
            Problem::new(format!("Outcome of an attempt to {verb} {name} is not known"), detail)
        }
        ApiError::NotDone(text) => Problem::new(format!("Cannot {verb} {name}"), text.clone()),
        ApiError::Refused { field, .. } => {
            let problem = Problem::new(format!("Cannot {verb} {name}"), format!("{error}."));
            let attribute = |field: &str| resource.attributes.iter().find(|each| field_name(each) == field);
            match field.as_deref().and_then(attribute) {
                Some(attribute) => problem.at(attribute.name),
                None => problem,
            }
        }
    }
}
