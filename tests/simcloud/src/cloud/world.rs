//! The rules of the cloud, as plain functions over data: no clock, no network, no database.
//!
//! Every effect has the next sequence number, from which the id of a new object is derived. An effect consists of the
//! object, the change of the stored object, and the ledger line. The store writes the object and the line in one
//! transaction.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::fault::Op;
use super::object::{Kind, Object, PASSWORD};
use super::range::{self, Hosts};

/// The maximum length of an object's name, as for host names.
pub const MAX_NAME: usize = 63;

/// The default time to live of a record, in seconds.
pub const DEFAULT_TTL: i64 = 300;

/// The start of the addresses of the regions' internal network: 100.64.0.0/10, the range reserved for carriers.
const FABRIC: u32 = 0x6440_0000;
const FABRIC_SIZE: u64 = 1 << 22;

/// A line of the ledger.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LedgerEntry {
    /// The sequence number, from 1 without gaps.
    pub seq: u64,
    /// The time, RFC 3339 in UTC.
    pub time: String,
    /// `create`, `update` or `delete`.
    pub op: &'static str,
    /// The kind of object.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The object's id.
    pub id: String,
    /// The object's name after the effect.
    pub name: String,
    /// The object's region.
    pub region: String,
    /// The client token of the object's create.
    pub token: Option<String>,
    /// `done`, or [`DUPLICATE_TOKEN`].
    pub outcome: &'static str,
}

/// The outcome of an effect that happened.
pub const DONE: &str = "done";

/// The outcome of a create that found the object of an earlier create with the same token. No object was created.
pub const DUPLICATE_TOKEN: &str = "duplicate-token";

/// The effect of a request.
#[derive(Clone, Debug)]
pub struct Effect {
    /// The ledger line.
    pub entry: LedgerEntry,
    /// The object after the effect.
    pub object: Object,
    /// What to do with the stored object.
    pub change: Change,
}

/// What an effect does to the stored object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Write the object.
    Put,
    /// Remove the object.
    Remove,
    /// Leave the object unchanged.
    Keep,
}

/// Why the cloud refuses a request.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The object does not exist: 404.
    #[error("there is no {} {id} in region {region}", kind.name())]
    Absent {
        /// The requested kind.
        kind: Kind,
        /// The requested region.
        region: String,
        /// The requested id.
        id: String,
    },
    /// A field is missing, unknown or invalid: 422.
    #[error("{what}")]
    Invalid {
        /// The field.
        field: String,
        /// What is wrong with the field.
        what: String,
    },
    /// The request conflicts with existing objects: 409.
    #[error("{what}")]
    Conflict {
        /// The field at fault, if there is one.
        field: Option<&'static str>,
        /// The conflict.
        what: String,
    },
}

fn invalid(field: &str, what: String) -> Refusal {
    Refusal::Invalid { field: field.to_owned(), what }
}

/// The parameters of a request, except the body.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The region.
    pub region: &'a str,
    /// The zones of the region; at least one.
    pub zones: &'a [String],
    /// The kind of object.
    pub kind: Kind,
    /// The time for the ledger.
    pub time: &'a str,
}

/// All objects of all regions.
#[derive(Debug, Default)]
pub struct World {
    seq: u64,
    regions: BTreeMap<String, Holdings>,
}

/// The objects of one region, with indexes that make the rules fast.
#[derive(Debug, Default)]
struct Holdings {
    objects: BTreeMap<(Kind, String), Object>,
    /// Client token to id.
    tokens: BTreeMap<(Kind, String), String>,
    /// Subnets: the last address by network and first address.
    ranges: BTreeMap<(String, u32), u32>,
    /// The addresses in use, by subnet.
    hosts: BTreeMap<String, Hosts>,
}

impl World {
    /// The world from its stored form: the last sequence number, and all objects in any order.
    pub fn restore(seq: u64, objects: Vec<Object>) -> Result<World, Refusal> {
        let mut world = World { seq, regions: BTreeMap::new() };
        let mut objects = objects;
        // Networks come before subnets, and subnets before instances, so that the container of each object exists.
        objects.sort_by(|a, b| (a.kind, &a.id).cmp(&(b.kind, &b.id)));
        for object in objects {
            world.regions.entry(object.region.clone()).or_default().restore(object)?;
        }
        Ok(world)
    }

    /// The sequence number of the last effect.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// All objects, by region, kind and id.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.regions.values().flat_map(|holdings| holdings.objects.values())
    }

    /// One object.
    pub fn get(&self, region: &str, kind: Kind, id: &str) -> Result<&Object, Refusal> {
        self.regions
            .get(region)
            .and_then(|holdings| holdings.objects.get(&(kind, id.to_owned())))
            .ok_or_else(|| absent(region, kind, id))
    }

    /// The objects of a kind, by id. With a token or a name, only the objects with this token or name.
    pub fn find(&self, region: &str, kind: Kind, token: Option<&str>, name: Option<&str>) -> Vec<&Object> {
        let Some(holdings) = self.regions.get(region) else { return Vec::new() };
        let named = |object: &&Object| name.is_none_or(|name| object.text("name") == name);
        if let Some(token) = token {
            let id = holdings.tokens.get(&(kind, token.to_owned()));
            let object = id.and_then(|id| holdings.objects.get(&(kind, id.clone())));
            return object.into_iter().filter(named).collect();
        }
        holdings.objects.values().filter(|object| object.kind == kind).filter(named).collect()
    }

    /// Creates an object, or finds the object of an earlier create with the same token.
    pub fn create(&mut self, asked: Asked<'_>, mut body: Map<String, Json>) -> Result<Effect, Refusal> {
        let token = take_token(asked.kind, &mut body)?;
        check_fields(asked.kind, &body, true)?;
        let next = self.seq + 1;
        let holdings = self.regions.entry(asked.region.to_owned()).or_default();
        if let Some(token) = &token
            && let Some(id) = holdings.tokens.get(&(asked.kind, token.clone()))
            && let Some(object) = holdings.objects.get(&(asked.kind, id.clone()))
        {
            let object = object.clone();
            return Ok(self.effect(asked, Op::Create, object, Change::Keep, DUPLICATE_TOKEN));
        }
        let id = format!("{}-{next:08x}", asked.kind.prefix());
        let mut object = Object {
            kind: asked.kind,
            id,
            region: asked.region.to_owned(),
            token,
            attributes: settle(body).into_iter().filter(|(_, value)| !value.is_null()).collect(),
        };
        holdings.place(&mut object, asked, next)?;
        Ok(self.effect(asked, Op::Create, object, Change::Put, DONE))
    }

    /// Changes the fields in the body. Null removes an optional field.
    pub fn update(&mut self, asked: Asked<'_>, id: &str, body: Map<String, Json>) -> Result<Effect, Refusal> {
        let mut object = self.get(asked.region, asked.kind, id)?.clone();
        check_fields(asked.kind, &body, false)?;
        for field in asked.kind.fields() {
            let Some(value) = body.get(field.name) else { continue };
            let before = object.attributes.get(field.name).unwrap_or(&Json::Null);
            if !field.mutable && before != value {
                let what = format!("{} of a {} cannot be changed", field.name, asked.kind.name());
                return Err(invalid(field.name, what));
            }
        }
        let fields = settle(body);
        for (name, value) in fields {
            match value {
                Json::Null => object.attributes.shift_remove(&name),
                value => object.attributes.insert(name, value),
            };
        }
        if asked.kind == Kind::DnsRecord {
            object.attributes.entry("ttl").or_insert(json!(DEFAULT_TTL));
        }
        object.attributes.insert("updated_at".to_owned(), json!(asked.time));
        if let Some(holdings) = self.regions.get_mut(asked.region) {
            holdings.objects.insert((asked.kind, id.to_owned()), object.clone());
        }
        Ok(self.effect(asked, Op::Update, object, Change::Put, DONE))
    }

    /// Removes an object that contains no other objects.
    pub fn delete(&mut self, asked: Asked<'_>, id: &str) -> Result<Effect, Refusal> {
        let object = self.get(asked.region, asked.kind, id)?.clone();
        if let Some(holdings) = self.regions.get_mut(asked.region) {
            holdings.remove(&object)?;
        }
        Ok(self.effect(asked, Op::Delete, object, Change::Remove, DONE))
    }

    fn effect(&mut self, asked: Asked<'_>, op: Op, object: Object, change: Change, outcome: &'static str) -> Effect {
        self.seq += 1;
        let entry = LedgerEntry {
            seq: self.seq,
            time: asked.time.to_owned(),
            op: op.name(),
            kind: asked.kind.name(),
            id: object.id.clone(),
            name: object.text("name").to_owned(),
            region: object.region.clone(),
            token: object.token.clone(),
            outcome,
        };
        Effect { entry, object, change }
    }
}

impl Holdings {
    /// Fills in the attributes that the server computes, checks the object against the existing ones, and adds it.
    /// Changes nothing if there is an error.
    fn place(&mut self, object: &mut Object, asked: Asked<'_>, seq: u64) -> Result<(), Refusal> {
        let mut computed = Map::new();
        computed.insert("urn".to_owned(), json!(urn(object)));
        computed.insert("created_at".to_owned(), json!(asked.time));
        match object.kind {
            Kind::Network => {
                range::parse(object.text("cidr")).map_err(|what| invalid("cidr", what))?;
            }
            Kind::Subnet => {
                let (first, last) = self.room_for_subnet(object)?;
                let zone = object.text("zone");
                if zone.is_empty() {
                    let turn = (seq % asked.zones.len().max(1) as u64) as usize;
                    computed.insert("zone".to_owned(), json!(asked.zones.get(turn)));
                } else if !asked.zones.iter().any(|known| known == zone) {
                    let what = format!("region {} has no zone {zone:?}, only {}", asked.region, asked.zones.join(", "));
                    return Err(invalid("zone", what));
                }
                self.ranges.insert((object.text("network_id").to_owned(), first), last);
                self.hosts.insert(object.id.clone(), Hosts::new(&parsed_cidr(object)?));
            }
            Kind::Instance => {
                let subnet = object.text("subnet_id");
                let hosts = self.hosts.get_mut(subnet).ok_or_else(|| missing_parent(object, "subnet_id"))?;
                let address = hosts.take().ok_or_else(|| Refusal::Conflict {
                    field: Some("subnet_id"),
                    what: format!("subnet {subnet} has no address left"),
                })?;
                computed.insert("address".to_owned(), json!(address));
                let private = Ipv4Addr::from_bits(FABRIC + (seq % FABRIC_SIZE) as u32);
                computed.insert("private_ip".to_owned(), json!(private));
            }
            Kind::DnsRecord => {
                if !object.attributes.contains_key("ttl") {
                    computed.insert("ttl".to_owned(), json!(DEFAULT_TTL));
                }
                let fqdn = format!("{}.{}.sim.test", object.text("name"), object.region);
                computed.insert("fqdn".to_owned(), json!(fqdn));
            }
            Kind::Bucket => {
                let name = object.text("name");
                let buckets = self.objects.range((Kind::Bucket, String::new())..);
                if buckets
                    .take_while(|((kind, _), _)| *kind == Kind::Bucket)
                    .any(|(_, other)| other.text("name") == name)
                {
                    let what = format!("region {} has a bucket {name} already", object.region);
                    return Err(Refusal::Conflict { field: Some("name"), what });
                }
            }
        }
        object.attributes.extend(computed);
        if let Some(token) = &object.token {
            self.tokens.insert((object.kind, token.clone()), object.id.clone());
        }
        self.objects.insert((object.kind, object.id.clone()), object.clone());
        Ok(())
    }

    /// The bounds of a new subnet. It must be within its network and must not overlap other subnets.
    fn room_for_subnet(&self, object: &Object) -> Result<(u32, u32), Refusal> {
        let network_id = object.text("network_id").to_owned();
        let network = self
            .objects
            .get(&(Kind::Network, network_id.clone()))
            .ok_or_else(|| missing_parent(object, "network_id"))?;
        let inner = range::parse(object.text("cidr")).map_err(|what| invalid("cidr", what))?;
        if !parsed_cidr(network)?.contains(&inner) {
            let what = format!("{inner} is not within {} of network {network_id}", network.text("cidr"));
            return Err(invalid("cidr", what));
        }
        let (first, last) = range::bounds(&inner);
        let before = self.ranges.range((network_id.clone(), 0)..=(network_id.clone(), last)).next_back();
        if before.is_some_and(|(_, other_last)| *other_last >= first) {
            let what = format!("{inner} overlaps another subnet of network {network_id}");
            return Err(Refusal::Conflict { field: Some("cidr"), what });
        }
        Ok((first, last))
    }

    fn remove(&mut self, object: &Object) -> Result<(), Refusal> {
        let in_use = |what: String| Err(Refusal::Conflict { field: None, what });
        match object.kind {
            Kind::Network => {
                let id = &object.id;
                if self.ranges.range((id.clone(), 0)..=(id.clone(), u32::MAX)).next().is_some() {
                    return in_use(format!("network {id} still has subnets"));
                }
            }
            Kind::Subnet => {
                if self.hosts.get(&object.id).is_some_and(|hosts| !hosts.is_empty()) {
                    return in_use(format!("subnet {} still has instances", object.id));
                }
                self.hosts.remove(&object.id);
                let (first, _) = range::bounds(&parsed_cidr(object)?);
                self.ranges.remove(&(object.text("network_id").to_owned(), first));
            }
            Kind::Instance => {
                if let (Some(hosts), Ok(address)) =
                    (self.hosts.get_mut(object.text("subnet_id")), object.text("address").parse())
                {
                    hosts.release(address);
                }
            }
            Kind::DnsRecord | Kind::Bucket => {}
        }
        if let Some(token) = &object.token {
            self.tokens.remove(&(object.kind, token.clone()));
        }
        self.objects.remove(&(object.kind, object.id.clone()));
        Ok(())
    }

    /// Adds a stored object.
    fn restore(&mut self, object: Object) -> Result<(), Refusal> {
        match object.kind {
            Kind::Subnet => {
                let cidr = parsed_cidr(&object)?;
                let (first, last) = range::bounds(&cidr);
                self.ranges.insert((object.text("network_id").to_owned(), first), last);
                self.hosts.insert(object.id.clone(), Hosts::new(&cidr));
            }
            Kind::Instance => {
                let hosts = self.hosts.get_mut(object.text("subnet_id"));
                if let (Some(hosts), Ok(address)) = (hosts, object.text("address").parse()) {
                    hosts.restore(address);
                }
            }
            Kind::Network | Kind::DnsRecord | Kind::Bucket => {}
        }
        if let Some(token) = &object.token {
            self.tokens.insert((object.kind, token.clone()), object.id.clone());
        }
        self.objects.insert((object.kind, object.id.clone()), object);
        Ok(())
    }
}

fn absent(region: &str, kind: Kind, id: &str) -> Refusal {
    Refusal::Absent { kind, region: region.to_owned(), id: id.to_owned() }
}

fn missing_parent(object: &Object, field: &'static str) -> Refusal {
    let parent = field.trim_end_matches("_id");
    invalid(field, format!("there is no {parent} {} in region {}", object.text(field), object.region))
}

fn parsed_cidr(object: &Object) -> Result<ipnet::Ipv4Net, Refusal> {
    range::parse(object.text("cidr")).map_err(|what| invalid("cidr", what))
}

fn urn(object: &Object) -> String {
    format!("urn:sim:{}:{}/{}", object.region, object.kind.name(), object.id)
}

/// Removes the client token from the body of a create.
fn take_token(kind: Kind, body: &mut Map<String, Json>) -> Result<Option<String>, Refusal> {
    match body.shift_remove("token") {
        None | Some(Json::Null) => Ok(None),
        Some(_) if !kind.has_token() => Err(invalid("token", format!("a {} takes no token", kind.name()))),
        Some(Json::String(token)) if (1..=128).contains(&token.len()) => Ok(Some(token)),
        Some(_) => Err(invalid("token", "token must be a string of 1 to 128 bytes".to_owned())),
    }
}

/// Checks names, types and presence of fields. An update requires no field.
fn check_fields(kind: Kind, body: &Map<String, Json>, create: bool) -> Result<(), Refusal> {
    if let Some(name) = body.keys().find(|name| !kind.fields().iter().any(|field| field.name == **name)) {
        return Err(invalid(name, format!("a {} has no field {name}", kind.name())));
    }
    for field in kind.fields() {
        match body.get(field.name) {
            None if !(create && field.required) => {}
            Some(Json::Null) if !field.required => {}
            None | Some(Json::Null) => {
                return Err(invalid(field.name, format!("{} is required", field.name)));
            }
            Some(value) if !field.shape.fits(value) => {
                return Err(invalid(field.name, format!("{} must be {}", field.name, field.shape.words())));
            }
            Some(value) => {
                let text = value.as_str().unwrap_or("-");
                let empty = text.is_empty() || value.as_array().is_some_and(Vec::is_empty);
                if field.required && empty {
                    return Err(invalid(field.name, format!("{} must not be empty", field.name)));
                }
                if field.name == "name" && text.chars().count() > MAX_NAME {
                    return Err(invalid("name", format!("a name has at most {MAX_NAME} characters")));
                }
            }
        }
    }
    Ok(())
}

/// The part of a body that is stored: everything except the password. The stored object only says whether there is a
/// password.
fn settle(mut body: Map<String, Json>) -> Map<String, Json> {
    if let Some(password) = body.shift_remove(PASSWORD) {
        body.insert("password_set".to_owned(), json!(!password.is_null()));
    }
    body
}
