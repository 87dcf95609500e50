//! The objects that a data source or an ephemeral object refers to directly.

use std::sync::Arc;

use weft_graph_format::address::ResourceMode;

use crate::config::ResourceBlock;
use crate::evaluation::ModuleNode;
use crate::glue::NamedObjects;
use crate::reference::Referent;

impl ModuleNode {
    /// The objects that [`DesiredInstance::direct`](crate::glue::DesiredInstance::direct) lists. Empty for a managed
    /// resource.
    pub(super) async fn direct_dependencies(self: &Arc<Self>, block: &ResourceBlock) -> Vec<NamedObjects> {
        if block.resource.mode == ResourceMode::Managed {
            return Vec::new();
        }
        let mut whole = self.depends_on_resources(block.depends_on.clone()).await;
        let mut node = self.clone();
        while let Some(caller) = &node.caller {
            let references = caller.call.depends_on.clone();
            whole.extend(caller.parent.depends_on_resources(references).await);
            let parent = caller.parent.clone();
            node = parent;
        }
        let mut direct: Vec<_> = whole.into_iter().map(|resource| NamedObjects { resource, key: None }).collect();
        direct.extend(block.references.iter().filter_map(|reference| match &reference.subject {
            Referent::Resource(resource) => {
                Some(NamedObjects { resource: self.absolute(resource), key: reference.key.clone() })
            }
            _ => None,
        }));
        direct.sort();
        direct.dedup();
        direct
    }
}
