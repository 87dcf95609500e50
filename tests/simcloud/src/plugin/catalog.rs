//! The types of the provider, their attributes, and the behavior of each attribute.

use super::value::Type;

/// The source of an attribute's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The configuration, required.
    Required,
    /// The configuration, optional.
    Optional,
    /// The cloud.
    Computed,
    /// The configuration, or otherwise the cloud or the provider.
    OptionalComputed,
}

/// The rule for a known value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Any value.
    Any,
    /// 1 to 63 characters.
    Name,
    /// An IPv4 range.
    Cidr,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// A number from the first to the second.
    Within(f64, f64),
    /// At least one element.
    NotEmpty,
}

/// An attribute.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// The name of the attribute.
    pub name: &'static str,
    /// The type of the attribute.
    pub ty: Type,
    /// The source of the attribute's value.
    pub mode: Mode,
    /// Whether a change of the attribute replaces the object.
    pub replace: bool,
    /// Whether the attribute's value is a secret.
    pub sensitive: bool,
    /// The rule for a known value.
    pub rule: Rule,
    /// The description, for users.
    pub description: &'static str,
}

impl Attribute {
    const fn new(name: &'static str, ty: Type, mode: Mode, description: &'static str) -> Attribute {
        Attribute { name, ty, mode, replace: false, sensitive: false, rule: Rule::Any, description }
    }

    const fn replacing(self) -> Attribute {
        Attribute { replace: true, ..self }
    }

    const fn secret(self) -> Attribute {
        Attribute { sensitive: true, ..self }
    }

    const fn ruled(self, rule: Rule) -> Attribute {
        Attribute { rule, ..self }
    }

    /// Whether the configuration may set the attribute.
    pub fn is_configurable(&self) -> bool {
        self.mode != Mode::Computed
    }
}

/// A resource type.
#[derive(Clone, Copy, Debug)]
pub struct Resource {
    /// The name of the resource type in configurations.
    pub name: &'static str,
    /// The name of the kind of object in the cloud's URLs.
    pub kind: &'static str,
    /// The version of the type's stored objects.
    pub version: i64,
    /// The attributes of the resource type.
    pub attributes: &'static [Attribute],
    /// The description, for users.
    pub description: &'static str,
}

/// The attribute that carries the client token of a create.
pub const CLIENT_TOKEN: &str = "client_token";

/// The attribute with the region of an object.
pub const REGION: &str = "region";

/// The attribute that the cloud accepts but never returns.
pub const PASSWORD: &str = "password";

/// The line in a type's description that describes to engines how to find an object by its planned values. `README.md`
/// has the contract.
pub const LOOKUP: &str = r#"weft: lookup=import "token:{region}:{client_token}" consistency=strong"#;

/// The prefix of an import id that contains a client token.
pub const TOKEN_IMPORT: &str = "token:";

/// The prefix of an import id that contains a name.
pub const NAME_IMPORT: &str = "name:";

/// The sizes of instances.
pub const SIZES: &[&str] = &["small", "medium", "large"];

const ID: Attribute = Attribute::new("id", Type::Text, Mode::Computed, "Names the object in the whole cloud.");
const URN: Attribute = Attribute::new("urn", Type::Text, Mode::Computed, "Names the object and its region.");
const CREATED_AT: Attribute = Attribute::new("created_at", Type::Text, Mode::Computed, "When it was made, RFC 3339.");
const IN_REGION: Attribute = Attribute::new(REGION, Type::Text, Mode::Computed, "The provider's region at creation.");
const TAGS: Attribute = Attribute::new("tags", Type::TextMap, Mode::Optional, "Free-form labels.");
const TOKEN: Attribute = Attribute::new(
    CLIENT_TOKEN,
    Type::Text,
    Mode::OptionalComputed,
    "Makes a repeated create find the first one's object. Planned, unless given.",
)
.replacing();

const fn name(description: &'static str) -> Attribute {
    Attribute::new("name", Type::Text, Mode::Required, description).ruled(Rule::Name)
}

/// All resource types.
pub const RESOURCES: &[Resource] = &[
    Resource {
        name: "cloud_network",
        kind: "network",
        version: 0,
        attributes: &[
            name("The network's name."),
            Attribute::new("cidr", Type::Text, Mode::Required, "Its range of addresses.").replacing().ruled(Rule::Cidr),
            TAGS,
            TOKEN,
            IN_REGION,
            ID,
            URN,
            CREATED_AT,
        ],
        description: "A range of addresses in a region.",
    },
    Resource {
        name: "cloud_subnet",
        kind: "subnet",
        version: 0,
        attributes: &[
            name("The subnet's name."),
            Attribute::new("network_id", Type::Text, Mode::Required, "The network that it lies in.").replacing(),
            Attribute::new("cidr", Type::Text, Mode::Required, "Its part of the network's range.")
                .replacing()
                .ruled(Rule::Cidr),
            Attribute::new("zone", Type::Text, Mode::OptionalComputed, "Its zone; the cloud chooses one.").replacing(),
            TOKEN,
            IN_REGION,
            ID,
            URN,
            CREATED_AT,
        ],
        description: "A part of a network, in one zone.",
    },
    Resource {
        name: "cloud_instance",
        kind: "instance",
        version: 1,
        attributes: &[
            name("The instance's name."),
            Attribute::new("subnet_id", Type::Text, Mode::Required, "The subnet of its address.").replacing(),
            Attribute::new("size", Type::Text, Mode::Required, "small, medium or large.").ruled(Rule::OneOf(SIZES)),
            Attribute::new("image", Type::Text, Mode::Required, "What it boots from.").replacing(),
            Attribute::new("user_data", Type::Text, Mode::Optional, "The user data for its first boot."),
            Attribute::new(PASSWORD, Type::Text, Mode::Optional, "Of its administrator. The cloud never shows it.")
                .secret(),
            TAGS,
            TOKEN,
            IN_REGION,
            ID,
            URN,
            Attribute::new("address", Type::Text, Mode::Computed, "Its address in the subnet."),
            Attribute::new("private_ip", Type::Text, Mode::Computed, "Its address in the region's own fabric."),
            CREATED_AT,
        ],
        description: "A machine with an address.",
    },
    Resource {
        name: "cloud_dns_record",
        kind: "dns_record",
        version: 0,
        attributes: &[
            name("The record's name, without its zone.").replacing(),
            Attribute::new("type", Type::Text, Mode::Required, "A, CNAME or TXT.")
                .replacing()
                .ruled(Rule::OneOf(&["A", "CNAME", "TXT"])),
            Attribute::new("values", Type::Texts, Mode::Required, "What the name stands for.").ruled(Rule::NotEmpty),
            Attribute::new("ttl", Type::Number, Mode::OptionalComputed, "Seconds that it may be kept; 300.")
                .ruled(Rule::Within(1.0, 86_400.0)),
            IN_REGION,
            ID,
            URN,
            Attribute::new("fqdn", Type::Text, Mode::Computed, "The whole name."),
            CREATED_AT,
        ],
        description: "A name and what it stands for. Its creates carry no token: a repeated one makes a second record.",
    },
    Resource {
        name: "cloud_bucket",
        kind: "bucket",
        version: 0,
        attributes: &[
            name("The bucket's name, unique in its region.").replacing(),
            TAGS,
            IN_REGION,
            ID,
            URN,
            CREATED_AT,
        ],
        description: "A container. Its creates carry no token, and its name finds it.",
    },
];

/// The provider's own configuration.
pub const PROVIDER: &[Attribute] = &[
    Attribute::new("region", Type::Text, Mode::Optional, "Where objects are made; else SIMCLOUD_REGION, eu-central.")
        .ruled(Rule::Name),
    Attribute::new("url", Type::Text, Mode::Optional, "Where the cloud is; else SIMCLOUD_URL."),
    Attribute::new("offline", Type::Bool, Mode::Optional, "No cloud at all: objects are made up, and never drift."),
    Attribute::new("plan_tokens", Type::Bool, Mode::Optional, "Plan client tokens; else SIMCLOUD_PLAN_TOKENS, true."),
    Attribute::new("retries", Type::Number, Mode::Optional, "Repetitions after a lost or refused request; 8.")
        .ruled(Rule::Within(0.0, 100.0)),
    Attribute::new("timeout", Type::Number, Mode::Optional, "Seconds that one request may take; 300.")
        .ruled(Rule::Within(1.0, 86_400.0)),
];

/// The data source's name.
pub const REGION_DATA: &str = "cloud_region";

/// The data source's attributes.
pub const REGION_ATTRIBUTES: &[Attribute] = &[
    Attribute::new("name", Type::Text, Mode::Required, "The region's name.").ruled(Rule::Name),
    Attribute::new("zones", Type::Texts, Mode::Computed, "Its zones."),
    Attribute::new("endpoint", Type::Text, Mode::Computed, "The URL of its part of the cloud."),
];

/// The attributes of `provider_meta` blocks, with which a module describes itself to the provider.
pub const META: &[Attribute] = &[Attribute::new(
    "announce",
    Type::Text,
    Mode::Optional,
    "Every call about an object of the module warns that it was made for this.",
)];

impl Resource {
    /// The type with this name.
    pub fn named(name: &str) -> Option<&'static Resource> {
        RESOURCES.iter().find(|resource| resource.name == name)
    }

    /// Whether creates of this type have a client token.
    pub fn has_token(&self) -> bool {
        self.attributes.iter().any(|attribute| attribute.name == CLIENT_TOKEN)
    }

    /// The description, with the lookup line if the type has one.
    pub fn full_description(&self) -> String {
        if self.has_token() { format!("{}\n\n{LOOKUP}", self.description) } else { self.description.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::object::Kind;

    #[test]
    fn the_catalog_fits_the_cloud() {
        for resource in RESOURCES {
            let kind = Kind::named(resource.kind).unwrap();
            assert_eq!(kind.has_token(), resource.has_token());
            for field in kind.fields() {
                let attribute = resource.attributes.iter().find(|attribute| attribute.name == field.name).unwrap();
                assert!(attribute.is_configurable());
                assert_eq!(field.required, attribute.mode == Mode::Required, "{} {}", resource.name, field.name);
                assert!(field.mutable || attribute.replace, "{} {}", resource.name, field.name);
            }
        }
    }
}
