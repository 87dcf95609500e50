//! A fragment that is ready to run.

pub(crate) mod ephemeral;
mod formulas;
mod functions;
mod live;
pub(crate) mod provider;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use weft_graph_format::address::{DeposedKey, ProviderSource, ResourceInstance};
use weft_graph_format::formula::Formula;
use weft_graph_format::graph::{FormulaIndex, Operation, OperationId, PriorObject, Row};
use weft_graph_format::placement::InstanceBound;
use weft_graph_format::plan_file::{FragmentPackage, Manifest, ProviderPackage};
use weft_graph_format::run::RunId;
use weft_graph_format::schema::Schema;
use weft_graph_format::value::Value;
use weft_protocol::{OpenShard, ShardPackage};
use weft_providers::Builtin;

use ephemeral::LiveObjects;
use formulas::call_providers;
use live::LiveParts;
use provider::ProviderSlot;

use crate::carried;
use crate::host::Host;
use crate::problems::{self, PlanPart};
use crate::resource::{ResourceType, ResourceTypes};
use crate::results::{LiveResults, ShardResults};
use crate::subject::Problems;

/// An operation of a fragment.
pub(crate) type FragmentOperation = Operation<FormulaIndex>;

/// The values for one run of a formula that are never stored: results of live operations, by operation.
pub(crate) type LiveValues = Arc<FxHashMap<u32, Value>>;

/// An open shard.
pub(crate) struct Shard {
    manifest: Manifest,
    /// The operations, ascending by number.
    rows: Vec<Row>,
    formulas: Vec<Formula>,
    calls_providers: Vec<bool>,
    inputs: BTreeMap<String, Value>,
    types: ResourceTypes,
    /// The providers, by the number of their `open_provider`.
    providers: BTreeMap<OperationId, ProviderSlot>,
    /// The last `depose` operation of each instance, with the key of the deposed object.
    deposed: FxHashMap<ResourceInstance, (OperationId, DeposedKey)>,
    pub(crate) results: ShardResults,
    /// Ephemeral resource types.
    ephemeral: BTreeMap<ProviderSource, BTreeMap<SmolStr, Arc<Schema>>>,
    /// The live values that the shard reads.
    pub(crate) live: LiveParts,
    /// The ephemeral objects of the run, including those of other shards at this worker.
    pub(crate) objects: Arc<LiveObjects>,
}

impl Shard {
    /// Decodes and checks a fragment, and finds its packages. May block. The cost is linear in the size of the
    /// fragment.
    ///
    /// # Errors
    /// Returns the problems of the fragment, and every missing package.
    pub(crate) fn open(
        host: &Host,
        run: &RunId,
        live: &LiveResults,
        objects: Arc<LiveObjects>,
        open: OpenShard,
    ) -> Result<Shard, Problems> {
        let OpenShard { shard: number, restored, package } = open;
        let ShardPackage { fragment, exports, inputs: given, bound, .. } = package.unwrap_or_default();
        let package = FragmentPackage::decode(&fragment)
            .map_err(|error| vec![problems::unreadable(PlanPart::Fragment, &error)])?;
        let FragmentPackage { manifest, mut schemas, mut fragment, .. } = package;
        let mut problems = Vec::new();
        let mut inputs = BTreeMap::new();
        for (name, bytes) in &given {
            match carried::decode_value(bytes) {
                Ok(value) => drop(inputs.insert(name.clone(), value)),
                Err(error) => problems.push(problems::unreadable(PlanPart::Input(name), &error)),
            }
        }
        let formulas =
            fragment.formulas.formulas().map_err(|error| vec![problems::unreadable(PlanPart::Formula, &error)])?;
        let results = ShardResults::new(&fragment, exports);
        for (operation, bytes) in &restored {
            if let Err(error) = results.arrived(*operation, bytes, live) {
                problems.push(problems::unreadable(PlanPart::Result(*operation), &error));
            }
        }
        let mut types = ResourceTypes::default();
        types.add(&ProviderSource::builtin("terraform"), &Builtin::schema());
        for (source, schema) in &schemas {
            types.add(source, schema);
        }
        let ephemeral = schemas
            .iter_mut()
            .map(|(source, schema)| (source.clone(), std::mem::take(&mut schema.ephemeral)))
            .collect();
        let parts = LiveParts::of(&fragment, number, &objects);
        let mut shard = Shard {
            calls_providers: call_providers(&fragment.formulas),
            rows: std::mem::take(&mut fragment.rows),
            manifest,
            formulas,
            inputs,
            types,
            providers: BTreeMap::new(),
            deposed: FxHashMap::default(),
            results,
            ephemeral,
            live: parts,
            objects,
        };
        problems.extend(shard.index(host, run, bound));
        if problems.is_empty() {
            return Ok(shard);
        }
        // A shard that cannot be opened does not count as a user of its ephemeral objects.
        drop(shard.live.over());
        Err(problems)
    }

    /// Indexes the operations that others refer to, in one pass.
    fn index(&mut self, host: &Host, run: &RunId, bound: Option<InstanceBound>) -> Problems {
        let mut problems = Vec::new();
        let mut plugins = BTreeMap::new();
        for row in &self.rows {
            match &row.operation {
                Operation::OpenProvider { instance, config } => {
                    let source = &instance.source;
                    let plugin = plugins.entry(source.clone()).or_insert_with(|| match source.is_builtin() {
                        true => Ok(None),
                        false => host.options.packages.find(&self.package(source)).map(Some),
                    });
                    match plugin {
                        Ok(plugin) => {
                            let slot =
                                ProviderSlot::new(run.as_str(), instance.clone(), *config, plugin.clone(), bound);
                            self.providers.insert(row.id, slot);
                        }
                        Err(problem) if !problems.contains(problem) => problems.push(problem.clone()),
                        Err(_) => {}
                    }
                }
                Operation::Depose { address, key } => {
                    self.deposed.insert(address.clone(), (row.id, key.clone()));
                }
                _ => {}
            }
        }
        problems
    }

    /// The operation with this number.
    pub(crate) fn operation(&self, id: OperationId) -> Option<&FragmentOperation> {
        let place = self.rows.binary_search_by_key(&id, |row| row.id).ok()?;
        Some(&self.rows[place].operation)
    }

    /// The object of a `prior_state`.
    pub(crate) fn prior(&self, id: OperationId) -> Option<&PriorObject> {
        match self.operation(id)? {
            Operation::PriorState { object, .. } => Some(object),
            _ => None,
        }
    }

    /// The configuration formula of a `desired`.
    pub(crate) fn desired(&self, id: OperationId) -> Option<FormulaIndex> {
        match self.operation(id)? {
            Operation::Desired { config, .. } => Some(*config),
            _ => None,
        }
    }

    /// The provider of an `open_provider`.
    pub(crate) fn provider(&self, id: OperationId) -> Option<&ProviderSlot> {
        self.providers.get(&id)
    }

    /// All providers of the shard.
    pub(crate) fn providers(&self) -> impl Iterator<Item = &ProviderSlot> {
        self.providers.values()
    }

    /// Whether the shard has a provider that this worker has tried to open, always without success. Another worker may
    /// be able to open it.
    pub(crate) fn could_not_open(&self) -> bool {
        self.providers().any(ProviderSlot::could_not_open)
    }

    /// A resource type.
    pub(crate) fn resource_type(
        &self,
        source: &ProviderSource,
        address: &ResourceInstance,
    ) -> Option<Arc<ResourceType>> {
        self.types.of(source, address)
    }

    /// An ephemeral resource type.
    pub(crate) fn ephemeral_type(&self, source: &ProviderSource, name: &str) -> Option<&Schema> {
        self.ephemeral.get(source)?.get(name).map(|found| found.as_ref())
    }

    /// The key of the deposed object that an operation of this instance replaces.
    pub(crate) fn deposed_before(&self, address: &ResourceInstance, id: OperationId) -> Option<&DeposedKey> {
        self.deposed.get(address).filter(|(depose, _)| *depose < id).map(|(_, key)| key)
    }

    /// A formula.
    pub(crate) fn formula(&self, index: FormulaIndex) -> Option<&Formula> {
        self.formulas.get(index.0 as usize)
    }

    pub(crate) fn calls_providers(&self, index: FormulaIndex) -> bool {
        self.calls_providers.get(index.0 as usize).copied().unwrap_or_default()
    }

    /// The result of an operation for formulas: an available result, or an object in the plan itself.
    pub(crate) fn result(&self, id: OperationId) -> Option<Value> {
        self.results.get(id.0).or_else(|| self.prior(id).map(|object| object.value.clone()))
    }

    pub(crate) fn input(&self, name: &str) -> Option<&Value> {
        self.inputs.get(name)
    }

    /// The `provider_meta` of the instance's module.
    pub(crate) fn provider_meta(&self, address: &ResourceInstance, provider: &ProviderSource) -> Option<&Value> {
        self.manifest.provider_meta(address, provider)
    }

    /// The value of `plantimestamp()`.
    pub(crate) fn plan_timestamp(&self) -> Option<&str> {
        Some(self.manifest.timestamp.as_str()).filter(|text| !text.is_empty())
    }

    /// The provider package that was used for the plan.
    pub(crate) fn package(&self, source: &ProviderSource) -> ProviderPackage {
        self.manifest.package(source).cloned().unwrap_or_else(|| ProviderPackage {
            source: source.clone(),
            version: String::new(),
            checksum: String::new(),
            hashes: Vec::new(),
        })
    }
}
