//! Module instances, and the cells of their declarations.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{AbsResource, InstanceKey, ModuleInstance, Resource, ResourceInstance};
use weft_graph_format::origin::Origin;
use weft_graph_format::value::Value;

use super::Evaluation;
use super::cell::Cells;
use super::provider_instances::ProviderInstances;
use super::repetition_data::RepetitionData;
use crate::config::{CompiledModule, ModuleCall};
use crate::glue::{ExpansionKind, ImportWish};

/// The call of a module instance.
pub(crate) struct Caller {
    /// The calling module.
    pub(crate) parent: Arc<ModuleNode>,
    /// The block of the call.
    pub(crate) call: Arc<ModuleCall>,
    /// The values of `each` and `count` in this instance.
    pub(crate) repeated: RepetitionData,
    /// The origins that all content of the module waits for: the origins of the repetition and of `depends_on` of this
    /// call, and of the calls around it.
    pub(crate) waits: Option<Origin>,
}

/// An instance of a module.
pub(crate) struct ModuleNode {
    pub(crate) evaluation: Arc<Evaluation>,
    pub(crate) address: ModuleInstance,
    pub(crate) config: Arc<CompiledModule>,
    pub(crate) caller: Option<Caller>,
    pub(crate) variables: Cells<SmolStr, Value>,
    pub(crate) locals: Cells<SmolStr, Value>,
    pub(crate) outputs: Cells<SmolStr, Value>,
    pub(crate) resources: Cells<Resource, Arc<Instances>>,
    pub(crate) calls: Cells<SmolStr, Arc<CallInstances>>,
    pub(crate) providers: Cells<(SmolStr, Option<SmolStr>), Arc<ProviderInstances>>,
    /// The origins of everything in this module instance.
    pub(super) whole_origin: Cells<(), Option<Origin>>,
    /// Whether everything in this module instance was evaluated without errors.
    pub(super) content: Cells<(), ()>,
    /// The imports by resource. Only the root module's instance has imports.
    pub(crate) imports: Cells<SmolStr, Imports>,
}

/// All instances of a module call.
pub(crate) struct CallInstances {
    /// The kind of repetition.
    pub(crate) kind: ExpansionKind,
    /// The instances.
    pub(crate) nodes: BTreeMap<InstanceKey, Arc<ModuleNode>>,
}

/// The planned instances of a resource.
pub(crate) struct Instances {
    /// The value of a reference to the resource.
    pub(crate) whole: Value,
    /// The value of a reference during validation, if the resource has at most one instance.
    pub(crate) in_validation: Option<Value>,
}

/// All imports of one resource.
pub(crate) type Imports = Arc<BTreeMap<ResourceInstance, ImportWish>>;

impl ModuleNode {
    pub(crate) fn root(evaluation: Arc<Evaluation>, config: Arc<CompiledModule>) -> ModuleNode {
        ModuleNode::new(evaluation, super::root_address(), config, None)
    }

    pub(super) fn new(
        evaluation: Arc<Evaluation>,
        address: ModuleInstance,
        config: Arc<CompiledModule>,
        caller: Option<Caller>,
    ) -> ModuleNode {
        ModuleNode {
            evaluation,
            address,
            config,
            caller,
            variables: Cells::default(),
            locals: Cells::default(),
            outputs: Cells::default(),
            resources: Cells::default(),
            calls: Cells::default(),
            providers: Cells::default(),
            whole_origin: Cells::default(),
            content: Cells::default(),
            imports: Cells::default(),
        }
    }

    /// The origins that all content of the module waits for.
    pub(crate) fn waits(&self) -> Option<Origin> {
        self.caller.as_ref().and_then(|c| c.waits.clone())
    }

    /// The instance of the root module.
    pub(crate) fn root_node(self: &Arc<Self>) -> Arc<ModuleNode> {
        let mut node = self.clone();
        while let Some(caller) = &node.caller {
            let parent = caller.parent.clone();
            node = parent;
        }
        node
    }

    pub(crate) fn absolute(&self, resource: &Resource) -> AbsResource {
        AbsResource { module: self.address.clone(), resource: resource.clone() }
    }

    /// Frees the values of this module and its descendants. Called after evaluation.
    pub(crate) fn release(self: &Arc<Self>) {
        let mut pending = vec![self.clone()];
        while let Some(node) = pending.pop() {
            for name in node.config.children.keys() {
                if let Some(Some(Ok(instances))) = node.calls.peek(name) {
                    pending.extend(instances.nodes.values().cloned());
                }
            }
            node.variables.clear();
            node.locals.clear();
            node.outputs.clear();
            node.resources.clear();
            node.calls.clear();
            node.providers.clear();
            node.whole_origin.clear();
            node.content.clear();
            node.imports.clear();
        }
    }
}
