//! Drafts data sources that are read at apply.

use weft_graph_format::address::{ProviderInstance, ResourceInstance};
use weft_graph_format::graph::{OperationId, Shard};
use weft_graph_format::origin::Origin;
use weft_graph_format::value::Value;

use super::{Drafting, shard};
use crate::agenda::planned::Read;
use crate::whole::checking::is_kept_for_conditions;
use crate::whole::order::ReadObjects;

impl Drafting<'_> {
    /// Drafts the read of a data source.
    pub(super) fn read(
        &mut self,
        address: ResourceInstance,
        instance: &ProviderInstance,
        result: OperationId,
        read: Read,
    ) {
        // Remote state is read at home, on the machine of the user.
        let at_home = instance.source.is_builtin();
        let (provider, shard) = match at_home {
            true => {
                let nothing = Value::empty_object().to_formula();
                (self.builder.open_provider_in(instance.clone(), nothing, None, Shard::Home), Shard::Home)
            }
            false => (self.opened(instance), shard(instance)),
        };
        let recorded = read.first.map(|record| Origin::after(self.record(record)));
        let waits = [read.waits, self.after_configuration(instance), recorded];
        let operation = self.builder.reserved(result).read_data(
            address,
            provider,
            read.config,
            read.planned,
            read.record,
            read.sensitive,
            read.for_check,
            shard.clone(),
            Origin::union(waits.into_iter().flatten()),
        );
        match at_home {
            true => {
                let close = self.builder.close_provider(provider, shard);
                self.builder.wait(close, Some(Origin::after(operation.id())));
            }
            false => drop(self.applied(instance, operation)),
        }
        match read.for_check {
            true => self.ordering.reads_last(result),
            false => {
                let facts = self.facts;
                let objects = read.names.into_iter().map(|named| {
                    let instance = named.key.as_ref().map(|key| named.resource.instance(key.clone()));
                    let has_conditions = instance.is_some_and(|instance| is_kept_for_conditions(facts, &instance));
                    ReadObjects { named, has_conditions }
                });
                self.ordering.reads(result, objects.collect());
            }
        }
    }
}
