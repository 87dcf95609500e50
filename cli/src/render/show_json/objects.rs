//! The tree of modules with their objects, as in `planned_values` and in states.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use weft_graph_format::address::{InstanceKey, ModuleInstance, ResourceInstance, ResourceMode};

/// The common members of a resource instance: address, module, mode, type, name and index.
pub fn named(address: &ResourceInstance, with_module: bool) -> Map<String, Json> {
    let mut object = Map::new();
    object.insert("address".into(), address.to_string().into());
    if with_module && !address.module.is_root() {
        object.insert("module_address".into(), address.module.to_string().into());
    }
    let mode = if address.resource.mode == ResourceMode::Data { "data" } else { "managed" };
    object.insert("mode".into(), mode.into());
    object.insert("type".into(), address.resource.type_name.as_str().into());
    object.insert("name".into(), address.resource.name.as_str().into());
    if let Some(index) = key(&address.key) {
        object.insert("index".into(), index);
    }
    object
}

/// The key of an instance as JSON. `None` if it has no key.
pub fn key(key: &InstanceKey) -> Option<Json> {
    match key {
        InstanceKey::None => None,
        InstanceKey::Int(i) => Some((*i).into()),
        InstanceKey::String(s) => Some(s.as_str().into()),
    }
}

/// The order of the objects of a module. In OpenTofu, the order depends on the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectOrder {
    /// By the address as a string, as in a plan: `r[10]` before `r[2]`.
    Texts,
    /// By resource and key, as in a state: `r[2]` before `r[10]`.
    Keys,
}

/// An object with its sort keys.
#[derive(Debug)]
struct Placed {
    order: (String, InstanceKey),
    object: Json,
}

/// The objects of each module.
#[derive(Debug)]
pub struct Modules {
    order: ObjectOrder,
    objects: BTreeMap<ModuleInstance, Vec<Placed>>,
}

impl Modules {
    /// A tree without objects.
    pub fn new(order: ObjectOrder) -> Modules {
        Modules { order, objects: BTreeMap::new() }
    }

    /// Adds a module and all of its ancestors, even if they contain only modules.
    pub fn add_module(&mut self, module: &ModuleInstance) {
        let mut module = Some(module.clone());
        while let Some(here) = module {
            module = here.parent();
            self.objects.entry(here).or_default();
        }
    }

    /// Adds an object. The objects of a module are listed in the selected order. Objects with equal addresses stay in
    /// insertion order.
    pub fn add(&mut self, address: &ResourceInstance, object: Map<String, Json>) {
        self.add_module(&address.module);
        let order = match self.order {
            ObjectOrder::Texts => (address.to_string(), InstanceKey::None),
            ObjectOrder::Keys => (address.resource.to_string(), address.key.clone()),
        };
        let objects = self.objects.entry(address.module.clone()).or_default();
        objects.push(Placed { order, object: Json::Object(object) });
    }

    /// The tree as the value of `root_module`.
    pub fn root(self) -> Json {
        // A module sorts after its ancestors. In reverse order, all children come before their parents.
        let mut children: BTreeMap<ModuleInstance, Vec<(String, Json)>> = BTreeMap::new();
        for (module, mut objects) in self.objects.into_iter().rev() {
            objects.sort_by(|a, b| a.order.cmp(&b.order));
            let mut node = Map::new();
            let parent = module.parent();
            if !objects.is_empty() {
                node.insert("resources".into(), objects.into_iter().map(|placed| placed.object).collect());
            }
            if parent.is_some() {
                node.insert("address".into(), module.to_string().into());
            }
            if let Some(mut inside) = children.remove(&module) {
                // Modules are sorted by their addresses as strings: `m[10]` comes before `m[2]`.
                inside.sort_by(|(a, _), (b, _)| a.cmp(b));
                node.insert("child_modules".into(), inside.into_iter().map(|(_, node)| node).collect());
            }
            match parent {
                Some(parent) => {
                    let address = module.to_string();
                    children.entry(parent).or_default().push((address, Json::Object(node)));
                }
                None => return Json::Object(node),
            }
        }
        Json::Object(Map::new())
    }
}
