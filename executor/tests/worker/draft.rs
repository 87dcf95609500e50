//! Small graphs over `terraform_data` and other types.

use weft_graph_format::address::{
    DeposedKey, InstanceKey, ProviderInstance, ProviderParts, ProviderSource, ResourceInstance,
};
use weft_graph_format::formula::Formula;
use weft_graph_format::graph::{
    Action, Applied, Builder, ExecutionGraph, OperationId, PlannedObject, PriorObject, Provider, Ref, Shard,
    StateRecord,
};
use weft_graph_format::path::Path;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Refinement, Value};

/// A graph with one configured provider.
pub struct Draft {
    pub builder: Builder,
    pub provider: Ref<Provider>,
    pub shard: Shard,
    pub instance: ProviderInstance,
}

pub fn instance(source: ProviderSource) -> ProviderInstance {
    ProviderParts { module: Default::default(), source, alias: None, key: InstanceKey::None }.into()
}

pub fn address(text: &str) -> ResourceInstance {
    text.parse().unwrap()
}

pub fn null() -> Value {
    Value::null(Type::Dynamic)
}

impl Draft {
    pub fn builtin() -> Draft {
        Draft::new(ProviderSource::builtin("terraform"), Formula::constant(Value::empty_object()))
    }

    pub fn new(source: ProviderSource, config: Formula) -> Draft {
        let builder = Builder::new();
        let instance = instance(source);
        let provider = builder.open_provider(instance.clone(), config, None);
        let shard = Shard::Provider(instance.clone());
        Draft { builder, provider, shard, instance }
    }

    pub fn planned(action: Action, value: Value, config_known: bool) -> PlannedObject {
        PlannedObject {
            action,
            value,
            private: Vec::new(),
            legacy: false,
            provisioned: false,
            config_known,
            record: StateRecord { dependencies: vec!["terraform_data.before".into()], ..StateRecord::default() },
            sensitive: Vec::new(),
            lookup: None,
        }
    }

    /// A create of an object of any type.
    pub fn change(
        &self,
        text: &str,
        prior: Option<PriorObject>,
        config: Formula,
        planned: PlannedObject,
    ) -> Ref<Applied> {
        let prior = prior.map(|object| self.builder.prior_state(address(text), None, object, self.shard.clone()));
        let desired = self.builder.desired(address(text), config, self.shard.clone(), None);
        let shard = self.shard.clone();
        let plan = self.builder.final_plan(address(text), self.provider, prior, Some(desired), planned, shard);
        self.builder.apply(address(text), None, plan, self.shard.clone())
    }

    /// Creates a `terraform_data` with an input that may be unknown.
    pub fn create(&self, text: &str, input: Value) -> Ref<Applied> {
        self.create_as(text, input, true)
    }

    pub fn create_as(&self, text: &str, input: Value, config_known: bool) -> Ref<Applied> {
        let config_known = config_known && input.is_wholly_known();
        let planned =
            Draft::planned(Action::Create, data(unknown_id(), &input, Value::unknown(input.ty())), config_known);
        self.change(text, None, configured(&input).to_formula(), planned)
    }

    pub fn update(&self, text: &str, before: PriorObject, input: Value) -> Ref<Applied> {
        let id = before.value.as_fields().unwrap().get("id").unwrap().clone();
        let config_known = input.is_wholly_known();
        let planned = Draft::planned(Action::Update, data(id, &input, Value::unknown(input.ty())), config_known);
        self.change(text, Some(before), configured(&input).to_formula(), planned)
    }

    pub fn delete(&self, text: &str, deposed: Option<&str>, before: PriorObject) -> Ref<Applied> {
        let deposed = deposed.map(|key| DeposedKey(key.into()));
        let planned = Draft::planned(Action::Delete, Value::null(before.value.ty()), true);
        let prior = self.builder.prior_state(address(text), deposed.clone(), before, self.shard.clone());
        let shard = self.shard.clone();
        let plan = self.builder.final_plan(address(text), self.provider, Some(prior), None, planned, shard);
        self.builder.apply(address(text), deposed, plan, self.shard.clone())
    }

    pub fn depose(&self, text: &str, key: &str) -> Ref<Applied> {
        self.builder.depose(address(text), DeposedKey(key.into()), self.shard.clone())
    }

    pub fn output(&self, name: &str, value: Value) -> OperationId {
        self.builder.output(name.into(), Some(value.to_formula()), Type::Dynamic, false, value, None).id()
    }

    pub fn finish(self) -> ExecutionGraph {
        self.builder.close_provider(self.provider, self.shard);
        self.builder.finish().unwrap()
    }
}

/// A part of a result that is known only after the apply.
pub fn result(of: OperationId, path: &[&str], ty: Type) -> Value {
    let path = path.iter().fold(Path::ROOT, |path, name| path.attribute(*name));
    Value::unknown(ty.clone()).with_formula(Some(Formula::result(of, path, ty)))
}

pub fn unknown_id() -> Value {
    Value::refined(Type::String, Refinement::not_null())
}

/// An object of `terraform_data`.
pub fn data(id: Value, input: &Value, output: Value) -> Value {
    let input = input.unmark_deep().0.without_provenance();
    Value::object([("id", id), ("input", input), ("output", output), ("triggers_replace", null())])
}

pub fn configured(input: &Value) -> Value {
    Value::object([
        ("id", Value::null(Type::String)),
        ("input", input.clone()),
        ("output", null()),
        ("triggers_replace", null()),
    ])
}

/// An existing object.
pub fn prior(id: &str, input: &str) -> PriorObject {
    PriorObject {
        value: data(Value::string(id), &Value::string(input), Value::string(input)),
        private: vec![7],
        tainted: false,
        revision: 1,
        record: StateRecord::default(),
    }
}
