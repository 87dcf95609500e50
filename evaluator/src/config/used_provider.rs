//! The provider configuration of a resource's block. It is known without an evaluation, except for the key.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{ModuleInstance, ProviderSource, ResourceInstance};

use super::CompiledModule;

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

impl CompiledModule {
    /// The provider configuration of the block of a resource, followed through the calls of its modules. `self` is the
    /// root module. `None` if the resource has no block, if nothing passes the configuration, or if an expression
    /// chooses it.
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
            let call = caller.and_then(|caller| caller.calls.get(&address.module.0[depth - 1].name));
            let passed = call.into_iter().flat_map(|call| &call.providers).find(|passed| {
                let theirs =
                    || caller.is_some_and(|caller| caller.provider_source(&passed.parent.local_name) == source);
                (&passed.child_name, &passed.child_alias) == (&name, &alias)
                    && (alias.is_some() || passed.value.is_some() || theirs())
            });
            let own = here.providers.get(&(name.clone(), alias.clone()));
            let is_own = own.is_some_and(|block| block.is_configured() || passed.is_none());
            let Some(caller) = caller.filter(|_| !is_own) else {
                let module = ModuleInstance(address.module.0[..depth].into());
                return (is_own || alias.is_none()).then_some(UsedProvider { module, source, alias, is_keyed });
            };
            match passed {
                Some(passed) if passed.value.is_some() => return None,
                Some(passed) => {
                    is_keyed |= passed.parent.key.is_some();
                    (name, alias) = (passed.parent.local_name.clone(), passed.parent.alias.clone());
                }
                None if alias.is_none() => name = caller.inherited_name(name, &source),
                None => return None,
            }
            here = caller;
        }
    }
}

impl CompiledModule {
    /// The local name that this module uses for a provider whose default configuration a called module inherits. The
    /// called module uses `local_name`.
    pub(crate) fn inherited_name(&self, local_name: SmolStr, source: &ProviderSource) -> SmolStr {
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
