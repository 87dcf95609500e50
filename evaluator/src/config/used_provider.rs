//! The provider configuration of a resource's block. It is known without an evaluation, except for the key.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{ModuleInstance, ProviderSource, ResourceInstance};

use super::{CompiledModule, ModuleCall, PassedProvider};

/// The provider configuration that a resource uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedProvider {
    /// The module instance with the configuration.
    pub module: ModuleInstance,
    /// The source of the provider.
    pub source: ProviderSource,
    /// The `alias` argument; `None` for the default configuration.
    pub alias: Option<SmolStr>,
    /// Whether the block, or a call that passes the configuration, chooses an instance by a key.
    pub is_keyed: bool,
}

/// Where a provider configuration of a module comes from.
pub(crate) enum ProviderLink<'a> {
    /// A block of the module, or nothing: the root module has every default configuration.
    Own,
    /// The caller passes it.
    Passed(&'a PassedProvider),
    /// It is the default configuration of the caller, with this local name.
    Inherited(SmolStr),
    /// Nothing configures it.
    Missing,
}

impl CompiledModule {
    /// The provider configuration that a resource uses, found by following the calls of its modules. `self` is the root
    /// module. `None` if the resource has no block, if nothing passes the configuration, or if an expression chooses
    /// it.
    pub fn provider_of(self: &Arc<Self>, address: &ResourceInstance) -> Option<UsedProvider> {
        let mut callers: Vec<&Arc<CompiledModule>> = Vec::with_capacity(address.module.0.len());
        let mut here = self;
        for step in address.module.0.iter() {
            callers.push(here);
            here = here.children.get(&step.name)?;
        }
        let block = here.resources.get(&address.resource)?;
        if block.provider_value.is_some() {
            return None;
        }
        let mut name = block.provider_local_name();
        let mut alias = block.provider.as_ref().and_then(|provider| provider.alias.clone());
        let mut is_keyed = block.provider.as_ref().is_some_and(|provider| provider.key.is_some());
        loop {
            let source = here.provider_source(&name);
            let depth = callers.len();
            let caller = callers.pop();
            let call = caller.and_then(|caller| {
                let call = caller.calls.get(&address.module.0[depth - 1].name)?;
                Some((caller.as_ref(), call.as_ref()))
            });
            match here.provider_link(call, &name, alias.as_ref()) {
                ProviderLink::Own => {
                    let module = ModuleInstance(address.module.0[..depth].into());
                    return Some(UsedProvider { module, source, alias, is_keyed });
                }
                ProviderLink::Passed(PassedProvider { value: None, parent, .. }) => {
                    is_keyed |= parent.key.is_some();
                    (name, alias) = (parent.local_name.clone(), parent.alias.clone());
                }
                ProviderLink::Inherited(parent_name) => name = parent_name,
                ProviderLink::Passed(_) | ProviderLink::Missing => return None,
            }
            here = caller?;
        }
    }

    /// Where the provider configuration with this name in this module comes from. `caller` is the module that calls
    /// this module, with the call. `caller` is `None` for the root module.
    pub(crate) fn provider_link<'a>(
        &self,
        caller: Option<(&CompiledModule, &'a ModuleCall)>,
        name: &SmolStr,
        alias: Option<&SmolStr>,
    ) -> ProviderLink<'a> {
        let source = self.provider_source(name);
        let passed = caller.and_then(|(parent, call)| {
            let wanted = (name, alias);
            let passed = call.providers.iter().find(|p| (&p.child_name, p.child_alias.as_ref()) == wanted)?;
            // As in OpenTofu, a passed configuration of another provider is ignored.
            let theirs = parent.provider_source(&passed.parent.local_name);
            (theirs == source || alias.is_some() || passed.value.is_some()).then_some(passed)
        });
        let own = match self.providers.get(&(name.clone(), alias.cloned())) {
            // An empty block in a child represents the configuration from the caller, if the caller passes one.
            Some(block) => block.is_configured() || passed.is_none(),
            None => false,
        };
        match (caller, passed) {
            _ if own => ProviderLink::Own,
            (None, _) if alias.is_none() => ProviderLink::Own,
            (_, Some(passed)) => ProviderLink::Passed(passed),
            // A module inherits the default configuration of the same provider.
            (Some((parent, _)), None) if alias.is_none() => {
                ProviderLink::Inherited(parent.inherited_name(name.clone(), &source))
            }
            _ => ProviderLink::Missing,
        }
    }

    /// The local name in this module for the provider `source`, whose default configuration a called module inherits.
    /// The called module uses `local_name` for it.
    fn inherited_name(&self, local_name: SmolStr, source: &ProviderSource) -> SmolStr {
        let required = self.settings.required_providers.iter().find(|(_, required)| required.source == *source);
        match required {
            Some((name, _)) => name.clone(),
            None if self.provider_source(&local_name) == *source => local_name,
            // The caller may use this name for another provider, but the source address is unique.
            None => source.to_string().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    const MAIN: &str = r#"
provider "a" {
  alias = "x"
}
provider "a" {
  alias    = "keyed"
  for_each = toset(["k"])
}
resource "a_thing" "plain" {}
resource "a_thing" "aliased" {
  provider = a.x
}
module "m" {
  source = "./m"
  providers = {
    a      = a.x
    a.some = a.keyed["k"]
    d      = d
    e      = a.x
  }
}
"#;

    const CHILD: &str = r#"
terraform {
  required_providers {
    a = { configuration_aliases = [a.some] }
  }
}
provider "b" {
  x = 1
}
resource "a_thing" "passed" {}
resource "a_thing" "keyed" {
  provider = a.some
}
resource "b_thing" "own" {}
resource "c_thing" "inherited" {}
provider "d" {}
resource "d_thing" "empty" {}
resource "e_thing" "other" {}
"#;

    #[test]
    fn configurations_are_followed_through_calls() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("m")).expect("created");
        std::fs::write(dir.path().join("main.tf"), MAIN).expect("written");
        std::fs::write(dir.path().join("m/main.tf"), CHILD).expect("written");
        let (root, _, _) = crate::config::load_tree(dir.path(), &BTreeMap::new());
        for (address, want) in [
            ("a_thing.plain[0]", Some(("", "a", None, false))),
            ("a_thing.aliased", Some(("", "a", Some("x"), false))),
            ("a_thing.absent", None),
            ("module.m[1].a_thing.passed", Some(("", "a", Some("x"), false))),
            ("module.m[1].a_thing.keyed", Some(("", "a", Some("keyed"), true))),
            ("module.m[1].b_thing.own", Some(("module.m[1]", "b", None, false))),
            ("module.m[1].c_thing.inherited", Some(("", "c", None, false))),
            ("module.m[1].d_thing.empty", Some(("", "d", None, false))),
            ("module.m[1].e_thing.other", Some(("", "e", None, false))),
            ("module.n.a_thing.plain", None),
        ] {
            let found = root.provider_of(&address.parse().expect("an address"));
            let found = found.as_ref().map(|used| {
                let type_name = used.source.type_name.as_str();
                (used.module.to_string(), type_name, used.alias.as_deref(), used.is_keyed)
            });
            let want = want.map(|(module, name, alias, keyed)| (module.to_owned(), name, alias, keyed));
            assert_eq!(found, want, "{address}");
        }
    }
}
