//! The provider of a resource, as a state file names it.
//!
//! The address of the provider is on the resource or on each of its instances. Only an address on an instance may have
//! the key of a provider instance, and all instances of a resource must name the same provider configuration. In files
//! of Terraform 0.12, the address on a resource may have a short form.

use weft_graph_format::address::{InstanceKey, ProviderConfig, ProviderInstance, ProviderParts, ProviderSource};

use super::ContentProblem;
use super::problems::{self, ProviderAddressFault};
use crate::provider::StoredProvider;

/// The providers of all instances of a resource.
pub(super) struct Owners<'a> {
    resource: &'a str,
    of_all: Option<ProviderInstance>,
    first: Option<ProviderInstance>,
    conflict: bool,
}

impl<'a> Owners<'a> {
    /// Begins to collect the providers of the resource with this name. `text` is the provider address that the file has
    /// for the whole resource. If the address is not valid, reports a problem and returns `None`, so that the resource
    /// causes no further problems.
    pub(super) fn new(resource: &'a str, text: Option<&str>, found: &mut Vec<ContentProblem>) -> Option<Owners<'a>> {
        let of_all = match text.filter(|text| !text.is_empty()).map(of_resource) {
            Some(Ok(owner)) => Some(owner),
            Some(Err(fault)) => {
                found.push(problems::provider_address(fault));
                return None;
            }
            None => None,
        };
        Some(Owners { resource, of_all, first: None, conflict: false })
    }

    /// The provider configuration on the resource itself, if there is one.
    pub(super) fn of_resource(&self) -> Option<ProviderConfig> {
        self.of_all.as_ref().map(ProviderInstance::config)
    }

    /// The provider of one instance. `text` is the provider address that the file has for the instance. If this address
    /// is not valid, or if the file has a provider address for neither the instance nor the resource, reports a problem
    /// and returns `None`.
    pub(super) fn of(&mut self, text: Option<&str>, found: &mut Vec<ContentProblem>) -> Option<StoredProvider> {
        let own = match text.filter(|text| !text.is_empty()).map(parse) {
            Some(Ok(own)) => Some(own),
            Some(Err(fault)) => {
                found.push(problems::provider_address(fault));
                return None;
            }
            None => None,
        };
        let Some(owner) = own.or_else(|| self.of_all.clone()) else {
            found.push(problems::no_provider(self.resource));
            return None;
        };
        let first = self.first.get_or_insert_with(|| owner.clone()).config();
        if first != owner.config() && !self.conflict {
            self.conflict = true;
            found.push(problems::different_providers(self.resource, &first, &owner.config()));
        }
        Some(StoredProvider::from(&owner))
    }
}

/// Parses the address on a resource, in the long or the short form. The address must not have an instance key.
fn of_resource(text: &str) -> Result<ProviderInstance, ProviderAddressFault> {
    let found = parse(text).or_else(|problem| short_form(text).ok_or(problem))?;
    match found.key {
        InstanceKey::None => Ok(found),
        _ => Err(ProviderAddressFault::InstanceKey),
    }
}

fn parse(text: &str) -> Result<ProviderInstance, ProviderAddressFault> {
    text.parse().map_err(|_| match text.starts_with("provider.") || text.contains(".provider.") {
        true => ProviderAddressFault::NoType,
        false => ProviderAddressFault::NoPrefix,
    })
}

/// Parses `provider.aws` and `provider.aws.alias`, with an optional module prefix.
fn short_form(text: &str) -> Option<ProviderInstance> {
    let (module, rest) = match text.strip_prefix("provider.") {
        Some(rest) => (Default::default(), rest),
        None => {
            let (module, rest) = text.split_once(".provider.")?;
            (module.parse().ok()?, rest)
        }
    };
    let (name, alias) = match rest.split_once('.') {
        Some((name, alias)) => (name, Some(alias.into())),
        None => (rest, None),
    };
    let source = match name {
        "terraform" => ProviderSource::builtin("terraform"),
        name => name.parse().ok()?,
    };
    Some(ProviderParts { module, source, alias, key: InstanceKey::None }.into())
}
