//! Drafts of small graphs for the tests of graphs and plan files.
#![allow(dead_code)]

pub mod random;

use weft_graph_format::address::{DeposedKey, InstanceKey, ProviderInstance, ResourceInstance};
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::graph::{
    Action, Applied, Builder, ExecutionGraph, FinalPlanned, OperationId, PlannedObject, PriorObject, Provider, Ref,
    Shard, StateRecord, disassemble, verify,
};
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Refinement, Value};

/// The instance of the simulated cloud for a region.
pub fn region(name: &str) -> ProviderInstance {
    let text = format!("provider[\"weft.test/sim/cloud\"].by_region[\"{name}\"]");
    text.parse().expect("a provider instance")
}

pub fn address(text: &str) -> ResourceInstance {
    text.parse().expect("a resource instance")
}

pub fn keyed(name: &str, index: u64) -> ResourceInstance {
    let key = InstanceKey::counted(index).expect("an index");
    ResourceInstance { key, ..address(&format!("cloud_network.{name}")) }
}

pub fn object(id: Value, name: &str) -> Value {
    Value::object([("id", id), ("name", Value::string(name))])
}

pub fn unknown_id() -> Value {
    Value::refined(Type::String, Refinement::not_null())
}

pub fn planned(action: Action, value: Value) -> PlannedObject {
    PlannedObject {
        action,
        value,
        private: Vec::new(),
        legacy: false,
        provisioned: false,
        config_known: true,
        record: StateRecord { schema_version: 1, ..StateRecord::default() },
        sensitive: Vec::new(),
        lookup: None,
    }
}

pub fn prior(value: Value) -> PriorObject {
    PriorObject { value, private: Vec::new(), tainted: false, revision: 7, record: StateRecord::default() }
}

pub fn id_of(operation: OperationId) -> Formula {
    Formula::result(operation, Path::ROOT.attribute("id"), Type::String)
}

pub fn template(parts: Vec<Formula>) -> Formula {
    Formula::new(FormulaOp::Template(parts), Type::String, None)
}

pub fn call(function: &str, arguments: Vec<Formula>) -> Formula {
    let function = function.into();
    let op = FormulaOp::Call { function, arguments, expand_final: false, occurrence: None };
    Formula::new(op, Type::String, None)
}

pub fn text(text: &str) -> Formula {
    Formula::constant(Value::string(text))
}

pub fn config(name: Formula) -> Formula {
    let ty = Type::object([("name", Type::String)]);
    Formula::new(FormulaOp::Object(vec![("name".into(), name)]), ty, None)
}

/// A provider instance that is opened and closed, and the operations drafted with it.
pub struct Region<'b> {
    pub builder: &'b Builder,
    pub provider: Ref<Provider>,
    pub shard: Shard,
}

impl<'b> Region<'b> {
    pub fn open(builder: &'b Builder, name: &str) -> Region<'b> {
        let config = Formula::constant(Value::object([("region", Value::string(name))]));
        Region::open_with(builder, name, config, None)
    }

    pub fn open_with(builder: &'b Builder, name: &str, config: Formula, waits: Option<Origin>) -> Region<'b> {
        let provider = builder.open_provider(region(name), config, waits);
        let shard = Shard::Provider(region(name));
        builder.close_provider(provider, shard.clone());
        Region { builder, provider, shard }
    }

    pub fn create(&self, address: &ResourceInstance, name: Formula, waits: Option<Origin>) -> Ref<Applied> {
        let planned = planned(Action::Create, object(unknown_id(), "n"));
        self.create_as(address, name, waits, planned)
    }

    pub fn create_as(
        &self,
        address: &ResourceInstance,
        name: Formula,
        waits: Option<Origin>,
        planned: PlannedObject,
    ) -> Ref<Applied> {
        let desired = self.builder.desired(address.clone(), config(name), self.shard.clone(), waits);
        let plan = self.final_plan(address, None, Some(desired), planned);
        self.builder.apply(address.clone(), None, plan, self.shard.clone())
    }

    pub fn delete(&self, address: &ResourceInstance, deposed: Option<&str>) -> Ref<Applied> {
        let key = deposed.map(|key| DeposedKey(key.into()));
        let object = prior(object(Value::string("i-1"), "old"));
        let prior = self.builder.prior_state(address.clone(), key.clone(), object, self.shard.clone());
        let plan = planned(Action::Delete, Value::null(Type::Dynamic));
        let plan = self.final_plan(address, Some(prior), None, plan);
        self.builder.apply(address.clone(), key, plan, self.shard.clone())
    }

    pub fn final_plan(
        &self,
        address: &ResourceInstance,
        prior: Option<Ref<weft_graph_format::graph::Prior>>,
        desired: Option<Ref<weft_graph_format::graph::Desired>>,
        planned: PlannedObject,
    ) -> Ref<FinalPlanned> {
        self.builder.final_plan(address.clone(), self.provider, prior, desired, planned, self.shard.clone())
    }
}

pub fn after(operations: &[Ref<Applied>]) -> Option<Origin> {
    Origin::union(operations.iter().map(|o| Origin::after(o.id())))
}

/// Finishes a graph, which must be valid.
pub fn finish(builder: Builder) -> ExecutionGraph {
    let graph = builder.finish().expect("a graph");
    assert_eq!(verify(&graph), []);
    graph
}

/// Finishes a graph and prints it.
pub fn text_of(builder: Builder) -> String {
    disassemble(&finish(builder))
}

/// The number of edges between operations: needs in the outline and members of waiters.
pub fn edges(graph: &ExecutionGraph) -> usize {
    let of = |waits: &weft_graph_format::graph::Waits| waits.operations.len() + waits.waiters.len();
    graph.outline.iter().map(|row| of(&row.needs)).sum::<usize>() + graph.waiters.iter().map(of).sum::<usize>()
}
