//! Addresses in `moved`, `removed` and `import` blocks. They are relative to the module of the block.

use smol_str::SmolStr;
use weft_graph_format::address::{InstanceKey, Module, ModuleInstance, ModuleStep, Resource, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_syntax::{Expression, Key, StepKind, Traversal};

use super::problems;

/// A module call or a resource, with its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelativeAddress {
    /// The module calls, starting in the module of the block. A call without a key may match all its instances.
    pub module: ModuleInstance,
    /// The resource with the key of the instance; `None` for a module.
    pub resource: Option<(Resource, InstanceKey)>,
    /// The range of the address.
    pub range: SourceRange,
}

impl RelativeAddress {
    /// The configured module, relative to `base`.
    pub fn module_from(&self, base: &Module) -> Module {
        Module(base.0.iter().cloned().chain(self.module.0.iter().map(|step| step.name.clone())).collect())
    }

    /// Whether a module call has a key.
    pub fn has_module_keys(&self) -> bool {
        self.module.0.iter().any(|step| step.key != InstanceKey::None)
    }
}

/// Parses an address from a traversal. `None` for other expressions.
pub(super) fn read_address(expression: &Expression) -> Option<Result<RelativeAddress, Diagnostic>> {
    let traversal = expression.as_traversal()?;
    Some(address_of(&traversal, expression.range()))
}

/// Parses an address from a traversal at `range`.
pub(super) fn address_of(traversal: &Traversal, range: SourceRange) -> Result<RelativeAddress, Diagnostic> {
    let (module, resource) = NameCursor { traversal, range: &range, next: 0 }.read()?;
    Ok(RelativeAddress { module: ModuleInstance(module.into()), resource, range })
}

/// Parses the address of a module. `None` for expressions that are not traversals. The inner `None` is for addresses
/// with further steps after the module.
pub(super) fn read_module(expression: &Expression) -> Option<Result<Option<ModuleInstance>, Diagnostic>> {
    let (traversal, range) = (expression.as_traversal()?, expression.range());
    let mut names = NameCursor { traversal: &traversal, range: &range, next: 0 };
    let read = names.modules().map(|steps| names.is_done().then(|| ModuleInstance(steps.into())));
    Some(read)
}

/// Whether exactly one step follows the address of a resource. This step counts as the key of an instance.
pub(super) fn has_step_behind_resource(expression: &Expression) -> bool {
    let Some(mut traversal) = expression.as_traversal() else { return false };
    traversal.steps.pop().is_some()
        && address_of(&traversal, expression.range())
            .is_ok_and(|address| address.resource.is_some_and(|(_, key)| key == InstanceKey::None))
}

/// A cursor over the names and keys of a traversal, starting with the root.
struct NameCursor<'a> {
    traversal: &'a Traversal,
    range: &'a SourceRange,
    next: usize,
}

type Parts = (Vec<ModuleStep>, Option<(Resource, InstanceKey)>);

impl NameCursor<'_> {
    fn name(&mut self) -> Option<SmolStr> {
        let found = match self.next.checked_sub(1) {
            None => self.traversal.root.text.clone(),
            Some(step) => match &self.traversal.steps.get(step)?.kind {
                StepKind::Attribute(name) => name.clone(),
                _ => return None,
            },
        };
        self.next += 1;
        Some(found)
    }

    /// Reads a key, if there is one. `invalid` is the problem of a key that no instance can have.
    fn key(&mut self, invalid: fn(&str, &SourceRange) -> Diagnostic) -> Result<InstanceKey, Diagnostic> {
        let Some(step) = self.next.checked_sub(1).and_then(|at| self.traversal.steps.get(at)) else {
            return Ok(InstanceKey::None);
        };
        let key = match &step.kind {
            StepKind::Attribute(_) => return Ok(InstanceKey::None),
            StepKind::Index(Key::String(text)) => InstanceKey::String(text.clone()),
            StepKind::Index(Key::Number(digits)) | StepKind::LegacyIndex(digits) => {
                InstanceKey::written(digits).ok_or_else(|| invalid(digits, self.range))?
            }
            StepKind::Index(Key::Bool(key)) => return Err(invalid(&key.to_string(), self.range)),
            StepKind::Index(Key::Null) => return Err(invalid("null", self.range)),
        };
        self.next += 1;
        Ok(key)
    }

    fn is_done(&self) -> bool {
        self.next > self.traversal.steps.len()
    }

    /// Reads the module calls at the start.
    fn modules(&mut self) -> Result<Vec<ModuleStep>, Diagnostic> {
        let mut modules = Vec::new();
        loop {
            let before = self.next;
            if self.name().is_none_or(|name| name != "module") {
                self.next = before;
                return Ok(modules);
            }
            let Some(name) = self.name() else { return Err(problems::address::unnamed_module(self.range)) };
            modules.push(ModuleStep { name, key: self.key(problems::address::invalid_module_key)? });
        }
    }

    fn read(mut self) -> Result<Parts, Diagnostic> {
        let modules = self.modules()?;
        if self.is_done() {
            return Ok((modules, None));
        }
        let Some(name) = self.name() else { return Err(problems::address::incomplete_resource(self.range)) };
        let (mode, type_name) = match name.as_str() {
            "data" => (ResourceMode::Data, self.name()),
            "ephemeral" => (ResourceMode::Ephemeral, self.name()),
            "resource" => (ResourceMode::Managed, self.name()),
            _ => (ResourceMode::Managed, Some(name)),
        };
        let (Some(type_name), Some(name)) = (type_name, self.name()) else {
            return Err(problems::address::incomplete_resource(self.range));
        };
        let key = self.key(problems::address::invalid_key)?;
        if !self.is_done() {
            return Err(problems::address::steps_after_resource(self.range));
        }
        Ok((modules, Some((Resource { mode, type_name, name }, key))))
    }
}
