//! The kinds of objects, their fields, and an object as JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

/// A kind of object. Its name is its path in URLs and its `type` in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A range of addresses in a region.
    Network,
    /// A part of a network's range.
    Subnet,
    /// A machine with an address in a subnet.
    Instance,
    /// A name and its values. It has no client token.
    DnsRecord,
    /// A container whose name is unique in its region. It has no client token.
    Bucket,
}

/// The type of a field in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A string.
    Text,
    /// A whole number.
    Whole,
    /// A list of strings.
    Texts,
    /// A map of strings.
    TextMap,
}

/// A field that a client may send.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name of the field in JSON.
    pub name: &'static str,
    /// The type of the field.
    pub shape: Shape,
    /// Whether a create requires the field.
    pub required: bool,
    /// Whether an update may change the field.
    pub mutable: bool,
}

const fn field(name: &'static str, shape: Shape, required: bool, mutable: bool) -> Field {
    Field { name, shape, required, mutable }
}

const NETWORK: &[Field] = &[
    field("name", Shape::Text, true, true),
    field("cidr", Shape::Text, true, false),
    field("tags", Shape::TextMap, false, true),
];

const SUBNET: &[Field] = &[
    field("name", Shape::Text, true, true),
    field("network_id", Shape::Text, true, false),
    field("cidr", Shape::Text, true, false),
    field("zone", Shape::Text, false, false),
];

const INSTANCE: &[Field] = &[
    field("name", Shape::Text, true, true),
    field("subnet_id", Shape::Text, true, false),
    field("size", Shape::Text, true, true),
    field("image", Shape::Text, true, false),
    field("user_data", Shape::Text, false, true),
    field(PASSWORD, Shape::Text, false, true),
    field("tags", Shape::TextMap, false, true),
];

const DNS_RECORD: &[Field] = &[
    field("name", Shape::Text, true, false),
    field("type", Shape::Text, true, false),
    field("values", Shape::Texts, true, true),
    field("ttl", Shape::Whole, false, true),
];

const BUCKET: &[Field] = &[field("name", Shape::Text, true, false), field("tags", Shape::TextMap, false, true)];

/// The field that is accepted but neither stored nor returned.
pub const PASSWORD: &str = "password";

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 5] = [Kind::Network, Kind::Subnet, Kind::Instance, Kind::DnsRecord, Kind::Bucket];

    /// The name in URLs, in the ledger and in fault rules.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Network => "network",
            Kind::Subnet => "subnet",
            Kind::Instance => "instance",
            Kind::DnsRecord => "dns_record",
            Kind::Bucket => "bucket",
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The prefix of ids of this kind.
    pub fn prefix(self) -> &'static str {
        match self {
            Kind::Network => "net",
            Kind::Subnet => "sub",
            Kind::Instance => "ins",
            Kind::DnsRecord => "rec",
            Kind::Bucket => "buc",
        }
    }

    /// Whether creates of this kind may have a client token.
    pub fn has_token(self) -> bool {
        !matches!(self, Kind::DnsRecord | Kind::Bucket)
    }

    /// The fields that a client may send, except `token`.
    pub fn fields(self) -> &'static [Field] {
        match self {
            Kind::Network => NETWORK,
            Kind::Subnet => SUBNET,
            Kind::Instance => INSTANCE,
            Kind::DnsRecord => DNS_RECORD,
            Kind::Bucket => BUCKET,
        }
    }
}

impl Shape {
    /// Whether a value other than null has this type.
    pub fn fits(self, value: &Json) -> bool {
        match (self, value) {
            (Shape::Text, value) => value.is_string(),
            (Shape::Whole, value) => value.as_i64().is_some(),
            (Shape::Texts, Json::Array(elements)) => elements.iter().all(Json::is_string),
            (Shape::TextMap, Json::Object(elements)) => elements.values().all(Json::is_string),
            _ => false,
        }
    }

    /// A description of the type, for error messages.
    pub fn words(self) -> &'static str {
        match self {
            Shape::Text => "a string",
            Shape::Whole => "a whole number",
            Shape::Texts => "a list of strings",
            Shape::TextMap => "a map of strings",
        }
    }
}

/// An object of the cloud.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// The kind of the object.
    pub kind: Kind,
    /// The id, unique over all regions and kinds.
    pub id: String,
    /// The region of the object.
    pub region: String,
    /// The client token of the object's create.
    pub token: Option<String>,
    /// All other attributes: those that the client sent, and those that the server computed.
    pub attributes: Map<String, Json>,
}

impl Object {
    /// A text attribute, or an empty string if it is absent.
    pub fn text(&self, attribute: &str) -> &str {
        self.attributes.get(attribute).and_then(Json::as_str).unwrap_or_default()
    }

    /// The object as clients see it: `id`, `region`, `token` and the attributes, flat. It does not contain the kind: a
    /// field for the kind would be named `type`, and DNS records have an attribute of this name.
    pub fn to_json(&self) -> Json {
        let mut flat = Map::new();
        flat.insert("id".to_owned(), json!(self.id));
        flat.insert("region".to_owned(), json!(self.region));
        flat.insert("token".to_owned(), json!(self.token));
        flat.extend(self.attributes.clone());
        Json::Object(flat)
    }
}
