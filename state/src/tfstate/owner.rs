//! Which provider a state file says manages a resource.
//!
//! The address stands with the resource or with each of its instances; only the latter may have an instance key, and all
//! instances of a resource must name the same provider configuration. Files of Terraform 0.12 have a short form.

use weft_graph_format::address::{InstanceKey, ProviderInstance, ProviderParts, ProviderSource};

use super::Problem;

/// Summary of an address that is none.
const ADDRESS: &str = "Invalid provider configuration address";

/// The providers of all instances of a resource.
pub(super) struct Owners<'a> {
    resource: &'a str,
    of_all: Option<ProviderInstance>,
    first: Option<ProviderInstance>,
    conflict: bool,
}

impl<'a> Owners<'a> {
    /// Those of the resource of this name, for which `text` stands with the resource itself. None with a problem where
    /// that is no address: nothing more is said of the resource then.
    pub(super) fn new(resource: &'a str, text: Option<&str>, problems: &mut Vec<Problem>) -> Option<Owners<'a>> {
        let of_all = match text.filter(|text| !text.is_empty()).map(of_resource) {
            Some(Ok(found)) => Some(found),
            Some(Err(detail)) => {
                problems.push(problem(detail));
                return None;
            }
            None => None,
        };
        Some(Owners { resource, of_all, first: None, conflict: false })
    }

    /// The provider of one instance; none with a problem.
    pub(super) fn of(&mut self, text: Option<&str>, problems: &mut Vec<Problem>) -> Option<String> {
        let own = match text.filter(|text| !text.is_empty()).map(parse) {
            Some(Ok(own)) => Some(own),
            Some(Err(detail)) => {
                problems.push(problem(detail));
                return None;
            }
            None => None,
        };
        let Some(owner) = own.or_else(|| self.of_all.clone()) else {
            problems.push(Problem {
                summary: "Provider field missing state",
                detail: format!(
                    "Resource {} is missing a provider address, both on the resource and the resource instances.",
                    self.resource
                ),
            });
            return None;
        };
        let first = self.first.get_or_insert_with(|| owner.clone()).config();
        if first != owner.config() && !self.conflict {
            self.conflict = true;
            let quoted = |text: String| format!("\"{}\"", text.replace('"', "\\\""));
            problems.push(Problem {
                summary: "Provider instance field conflict in state",
                detail: format!(
                    "Resource {} has instances with different provider addresses: {} != {}.",
                    self.resource,
                    quoted(first.to_string()),
                    quoted(owner.config().to_string())
                ),
            });
        }
        Some(owner.to_string())
    }
}

fn problem(detail: &str) -> Problem {
    Problem { summary: ADDRESS, detail: detail.to_owned() }
}

/// An address that stands with a resource: of a configuration, in the long or the short form.
fn of_resource(text: &str) -> Result<ProviderInstance, &'static str> {
    let found = parse(text).or_else(|problem| short_form(text).ok_or(problem))?;
    match found.key {
        InstanceKey::None => Ok(found),
        _ => Err("A provider address must not include an instance key."),
    }
}

fn parse(text: &str) -> Result<ProviderInstance, &'static str> {
    text.parse().map_err(|_| match text.starts_with("provider.") || text.contains(".provider.") {
        true => "The prefix \"provider.\" must be followed by a provider type name.",
        false => "Provider address must begin with \"provider.\", followed by a provider type name.",
    })
}

/// `provider.aws` and `provider.aws.alias`, with a module before it.
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
