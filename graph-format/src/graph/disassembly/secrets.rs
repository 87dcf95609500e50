//! The parts of an operation's values that a disassembly hides.

use std::collections::BTreeMap;

use crate::address::{ProviderSource, ResourceInstance};
use crate::graph::{ExecutionGraph, FormulaIndex, Fragment, Operation, OperationId, Row, Shard};
use crate::path::{Path, ValueStep};
use crate::schema::{Attribute, Block, NestedAttributes, Nesting, ProviderSchema};

/// The secret parts of values, according to the schemas of providers and to the plan itself.
pub(super) struct Secrets<'a> {
    /// The schemas of the plan. `None` if only the secrets that the plan itself names are hidden.
    schemas: Option<&'a BTreeMap<ProviderSource, ProviderSchema>>,
    /// The sensitive paths of configurations, by their `desired` operation. Values lose their marks before they are
    /// sent to the provider, but the plan contains the paths.
    configured: BTreeMap<OperationId, &'a [Path]>,
}

impl<'a> Secrets<'a> {
    pub(super) fn of(
        graph: &'a ExecutionGraph,
        schemas: Option<&'a BTreeMap<ProviderSource, ProviderSchema>>,
    ) -> Secrets<'a> {
        let rows = graph.fragments.iter().flat_map(|fragment| &fragment.rows);
        let configured = rows.filter_map(|row| match &row.operation {
            Operation::FinalPlan { desired: Some(desired), planned, .. } => {
                Some((*desired, planned.sensitive.as_slice()))
            }
            _ => None,
        });
        Secrets { schemas, configured: configured.collect() }
    }

    /// The secret parts of the value or configuration that is printed for a row.
    pub(super) fn places(&self, fragment: &Fragment, row: &Row) -> Vec<Path> {
        let of_shard = match &fragment.shard {
            Shard::Provider(instance) => Some(&instance.source),
            Shard::Home | Shard::Unplaced => None,
        };
        let of_type = |address: &ResourceInstance| self.of_type(of_shard, address);
        match &row.operation {
            Operation::<FormulaIndex>::OpenProvider { instance, .. } => {
                self.of_schema(Some(&instance.source), |schema| Some(&schema.provider.block))
            }
            Operation::Desired { address, .. } => {
                let configured = self.configured.get(&row.id).copied().unwrap_or_default();
                [configured, &of_type(address)].concat()
            }
            Operation::FinalPlan { address, planned, .. } => [&*planned.sensitive, &of_type(address)].concat(),
            Operation::ReadData { address, sensitive, .. } => [&**sensitive, &of_type(address)].concat(),
            Operation::PriorState { address, .. } | Operation::OpenEphemeral { address, .. } => of_type(address),
            Operation::Record { address, provider, .. } => self.of_type(Some(&provider.source), address),
            Operation::Output { sensitive: true, .. } => vec![Path::ROOT],
            _ => Vec::new(),
        }
    }

    fn of_type(&self, source: Option<&ProviderSource>, address: &ResourceInstance) -> Vec<Path> {
        let resource = &address.resource;
        self.of_schema(source, |schema| schema.types(resource.mode).get(&resource.type_name).map(|found| &found.block))
    }

    /// The secret parts according to the schema that `block` finds. Everything is secret if the schema is missing, but
    /// nothing is secret for the built-in provider and for operations without a provider.
    fn of_schema(
        &self,
        source: Option<&ProviderSource>,
        block: impl FnOnce(&ProviderSchema) -> Option<&Block>,
    ) -> Vec<Path> {
        let source = source.filter(|source| !source.is_builtin());
        let (Some(schemas), Some(source)) = (self.schemas, source) else { return Vec::new() };
        schemas.get(source).and_then(block).map_or_else(|| vec![Path::ROOT], places)
    }
}

/// The paths of the sensitive and write-only parts of a schema. Paths have no wildcard for all elements of a
/// collection, so a list, set or map of objects with such a part is hidden as a whole.
fn places(block: &Block) -> Vec<Path> {
    let mut found = Vec::new();
    in_block(block, &Path::ROOT, &mut found);
    found
}

fn in_block(block: &Block, at: &Path, found: &mut Vec<Path>) {
    in_attributes(&block.attributes, at, found);
    for (name, nested) in &block.blocks {
        let at = at.with(ValueStep::Attribute(name.clone()));
        let mut inside = Vec::new();
        in_block(&nested.block, &at, &mut inside);
        add(nested.nesting, at, inside, found);
    }
}

fn in_attributes(attributes: &BTreeMap<smol_str::SmolStr, Attribute>, at: &Path, found: &mut Vec<Path>) {
    for (name, attribute) in attributes {
        let at = at.with(ValueStep::Attribute(name.clone()));
        match &attribute.nested {
            _ if attribute.sensitive || attribute.write_only => found.push(at),
            Some(nested) => {
                let NestedAttributes { attributes, nesting } = &**nested;
                let mut inside = Vec::new();
                in_attributes(attributes, &at, &mut inside);
                add(*nesting, at, inside, found);
            }
            None => {}
        }
    }
}

fn add(nesting: Nesting, at: Path, inside: Vec<Path>, found: &mut Vec<Path>) {
    match nesting {
        Nesting::Single | Nesting::Group => found.extend(inside),
        Nesting::List | Nesting::Set | Nesting::Map if !inside.is_empty() => found.push(at),
        Nesting::List | Nesting::Set | Nesting::Map => {}
    }
}
