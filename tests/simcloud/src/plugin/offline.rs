//! Objects without a cloud. A create makes its object up, and objects are never read. This mode is for measuring
//! engines without the cost of a cloud.

use std::net::Ipv4Addr;

use uuid::Uuid;

use super::catalog::{Resource, TOKEN_IMPORT};
use super::problem::Problem;
use super::value::{Attributes, Value};

/// Fills in the attributes that a cloud would compute.
pub fn create(resource: &Resource, planned: &Attributes, region: &str) -> Attributes {
    let unique = Uuid::new_v4();
    let bits = unique.as_u128();
    let id = format!("{}-{:012x}", resource.kind.get(..3).unwrap_or(resource.kind), bits & 0xffff_ffff_ffff);
    let mut object = planned.clone();
    for (name, value) in &mut object {
        if *value != Value::Unknown {
            continue;
        }
        let text = match name.as_str() {
            "id" => id.clone(),
            "urn" => format!("urn:sim:{region}:{}/{id}", resource.kind),
            "region" => region.to_owned(),
            "zone" => format!("{region}-a"),
            "client_token" => unique.to_string(),
            "created_at" => jiff::Timestamp::now().to_string(),
            "address" => Ipv4Addr::from_bits(0x0a00_0000 | (bits as u32 & 0x00ff_ffff)).to_string(),
            "private_ip" => Ipv4Addr::from_bits(0x6440_0000 | ((bits >> 32) as u32 & 0x003f_ffff)).to_string(),
            "fqdn" => {
                let name = planned.get("name").and_then(Value::as_text).unwrap_or_default();
                format!("{name}.{region}.sim.test")
            }
            _ => continue,
        };
        *value = Value::Text(text);
    }
    object
}

/// The error of an import, because no objects exist.
pub fn import(id: &str) -> Problem {
    let what = if id.starts_with(TOKEN_IMPORT) { "no object has that client token" } else { "no object has that id" };
    super::backend::no_such_import(&format!("The provider is offline: {what}."))
}
