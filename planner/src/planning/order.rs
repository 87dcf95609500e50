//! The order of deletes: what depends on an object is done with it before the object goes.

use weft_graph_format::graph::OperationId;
use weft_graph_format::origin::Origin;

use super::{DeleteKind, Planning};

impl Planning {
    /// Draws the edges of deletes, once all of them are drafted.
    ///
    /// Everything that is deleted and named the resource among its stored dependencies is deleted first. What is
    /// created or changed and depends on it comes first too, when nothing takes the object's place or the new object
    /// is there already; not when the new object is only created after the delete, since those wait for that. For each
    /// resource one set serves all its instances, so edges grow with instances and not with pairs of them.
    pub(crate) fn order_deletes(&self) {
        let ordering = std::mem::take(&mut *self.ordering.lock());
        let union = |operations: Option<&Vec<OperationId>>| {
            operations.and_then(|ops| Origin::union(ops.iter().copied().map(Origin::after)))
        };
        for (config, deletes) in &ordering.deletes {
            let name = config.to_string();
            let deleted = union(ordering.deleted_dependents.get(name.as_str()));
            let changed = union(ordering.changed_dependents.get(name.as_str()));
            for delete in deletes {
                self.builder.wait(delete.first, deleted.clone());
                if delete.kind != DeleteKind::BeforeCreate {
                    self.builder.wait(delete.first, changed.clone());
                }
            }
        }
    }
}
