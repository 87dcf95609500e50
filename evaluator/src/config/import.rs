//! `import` blocks: existing objects to import.

use smol_str::SmolStr;
use weft_graph_format::address::{InstanceKey, Module, ModuleInstance, ModuleStep, Resource, ResourceInstance, quoted};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::{Position, SourceRange};
use weft_syntax::{ExprKind, Expression};

use super::compiling::Compiling;
use super::content::{ContentRules, FoundBlock};
use super::literal::{optional, required};
use super::problems;
use super::relative_address::{RelativeAddress, address_of};
use super::{CompiledModule, ProviderReference, local_name};
use crate::reference::{Reference, references_of};

/// The file name in diagnostics of an import ID that is not in a file.
const ID: &str = "<import id>";

const IMPORT: ContentRules = ContentRules {
    attributes: &[required("to"), optional("id"), optional("identity"), optional("provider"), optional("for_each")],
    blocks: &[],
    open: false,
};

/// An `import` block.
#[derive(Clone, Debug)]
pub struct ImportBlock {
    /// The resource that the object is imported to, without keys.
    pub to: ImportAddress,
    /// The provider's ID of the object.
    pub(crate) id: Option<Expression>,
    /// The identity of the object, by the provider's identity schema.
    pub(crate) identity: Option<Expression>,
    /// The `provider` argument.
    pub provider: Option<ProviderReference>,
    /// The `for_each` argument.
    pub(crate) for_each: Option<Expression>,
    /// The references of the block.
    pub references: Vec<Reference>,
    /// The header of the block.
    pub range: SourceRange,
}

/// The address in `to`.
#[derive(Clone, Debug)]
pub struct ImportAddress {
    /// The module calls. Each has the expression of its key, unless the key is constant.
    pub(crate) module: Vec<(ModuleStep, Option<Expression>)>,
    /// The resource.
    pub resource: Resource,
    /// The key of the resource, if the address has one.
    pub(crate) key: ImportKey,
    /// The range of the address.
    pub range: SourceRange,
}

/// A key in the address of an import.
#[derive(Clone, Debug)]
pub(crate) enum ImportKey {
    /// A literal key, or no key.
    Constant(InstanceKey),
    /// An expression, which may use `each`.
    Computed(Expression),
}

impl ImportBlock {
    /// An import of the object with this ID. Diagnostics show `range`.
    ///
    /// # Errors
    /// Returns an error if the ID is not valid as a string of the language.
    pub fn of_object(address: &ResourceInstance, id: &str, range: SourceRange) -> Result<ImportBlock, Diagnostic> {
        let (id, problems) = weft_syntax::parse_expression(ID, quoted(id).into(), Position::START);
        if let Some(problem) = problems.into_iter().find(Diagnostic::is_error) {
            return Err(problem);
        }
        let to = ImportAddress {
            module: address.module.0.iter().map(|step| (step.clone(), None)).collect(),
            resource: address.resource.clone(),
            key: ImportKey::Constant(address.key.clone()),
            range: range.clone(),
        };
        let (identity, provider, for_each, references) = (None, None, None, Vec::new());
        Ok(ImportBlock { to, id: Some(id), identity, provider, for_each, references, range })
    }

    /// The local name of the provider: from the `provider` argument, or from the type of the resource.
    pub fn provider_local_name(&self) -> SmolStr {
        local_name(self.provider.as_ref(), &self.to.resource)
    }

    /// The problem of a `provider` argument that differs from that of the resource's block in the root module.
    pub fn other_provider(&self, root: &CompiledModule) -> Option<Diagnostic> {
        let provider = self.provider.as_ref()?;
        let target = root.resources.get(&self.to.resource).filter(|_| self.to.module.is_empty())?;
        let same = |own: &ProviderReference| own.local_name == provider.local_name && own.alias == provider.alias;
        if target.provider.as_ref().is_some_and(same) {
            return None;
        }
        let name = |provider: &ProviderReference| match &provider.alias {
            Some(alias) => format!("{}.{alias}", provider.local_name),
            None => provider.local_name.to_string(),
        };
        let own = target.provider.as_ref().map(name);
        Some(problems::import::other_provider(&self.to.resource, own.as_deref(), &name(provider), &provider.range))
    }

    /// Whether the block is an import to this instance. `false` if its address has expressions.
    fn means(&self, address: &ResourceInstance) -> bool {
        self.to.static_address().as_ref() == Some(address)
    }
}

impl ImportAddress {
    /// The address, if it contains no expressions.
    fn static_address(&self) -> Option<ResourceInstance> {
        let ImportKey::Constant(key) = &self.key else { return None };
        Some(ResourceInstance { module: self.static_module()?, resource: self.resource.clone(), key: key.clone() })
    }

    /// The configured module.
    pub fn module_config(&self) -> Module {
        Module(self.module.iter().map(|(step, _)| step.name.clone()).collect())
    }

    /// The module instance, if its keys contain no expressions.
    pub fn static_module(&self) -> Option<ModuleInstance> {
        let all = self.module.iter().all(|(_, key)| key.is_none());
        all.then(|| ModuleInstance(self.module.iter().map(|(step, _)| step.clone()).collect()))
    }
}

/// Reads an `import` block.
pub(super) fn import(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let content = compiling.content(block, &IMPORT);
    if !compiling.module.path.is_root() {
        let problem = problems::import::outside_root(&compiling.module.path, &block.range);
        compiling.report(problem);
        return;
    }
    let (id, identity) = (content.get("id").cloned(), content.get("identity").cloned());
    match (content.attributes.get("id"), content.attributes.get("identity")) {
        (None, None) => compiling.report(problems::import::no_object(&block.range)),
        (Some(id), Some(identity)) => {
            let both = match id.range.start < identity.range.start {
                true => id.range.through(&identity.range),
                false => identity.range.through(&id.range),
            };
            compiling.report(problems::import::two_names(both));
        }
        _ => {}
    }
    let provider = content.get("provider").and_then(|e| compiling.provider_reference(e));
    let Some(expression) = content.get("to") else { return };
    let to = match expression.unquoted().and_then(|inner| target(&inner).map_err(|problem| vec![problem])) {
        Ok(to) => to,
        Err(problems) => return compiling.diagnostics.extend(problems),
    };
    if let Some(provider) = content.attributes.get("provider").filter(|_| !to.module.is_empty()) {
        compiling.report(problems::import::provider_of_module(&provider.range));
    }
    let for_each = content.get("for_each").cloned();
    let mut references = Vec::new();
    let keys = to.module.iter().filter_map(|(_, key)| key.as_ref());
    let own_key = match &to.key {
        ImportKey::Computed(key) => Some(key),
        ImportKey::Constant(_) => None,
    };
    // Planning reports invalid references in keys.
    references.extend(keys.chain(own_key).flat_map(|key| references_of(key, &mut Vec::new())));
    for part in id.iter().chain(&identity).chain(&for_each) {
        references.extend(compiling.references(part));
    }
    let range = block.range.clone();
    if let Some(address) = to.static_address() {
        let earlier = compiling.module.statements.imports.iter().filter(|other| other.means(&address));
        let problems: Vec<_> =
            earlier.map(|first| problems::import::duplicate(&address, &first.range, &range)).collect();
        problems.into_iter().for_each(|problem| compiling.report_together(problem));
    }
    compiling.module.statements.imports.push(ImportBlock { to, id, identity, provider, for_each, references, range });
}

/// Reads an address. The keys of modules and the last key may be expressions.
fn target(expression: &Expression) -> Result<ImportAddress, Diagnostic> {
    let range = expression.range();
    // `a.b[each.key]` is an index into a traversal. `module.a[each.key].b.c` is a relative traversal from an index into
    // a traversal.
    let mut computed: Vec<Expression> = Vec::new();
    let mut texts: Vec<RelativePart> = Vec::new();
    let mut here = expression.clone();
    let start = loop {
        if let Some(traversal) = here.as_traversal() {
            break traversal;
        }
        let next = match here.kind() {
            ExprKind::Index { collection, key, .. } => {
                computed.push(here.child(*key));
                texts.push(RelativePart::Key);
                here.child(*collection)
            }
            ExprKind::RelativeTraversal { source, steps } => {
                texts.push(RelativePart::Steps(steps.clone()));
                here.child(*source)
            }
            _ => return Err(problems::import::target_not_an_address(here.range())),
        };
        here = next;
    };
    let mut whole = start;
    let mut holes: Vec<usize> = Vec::new();
    for part in texts.into_iter().rev() {
        match part {
            RelativePart::Steps(steps) => whole.steps.extend(steps),
            // The computed key belongs to the name at this position.
            RelativePart::Key => holes.push(whole.steps.len()),
        }
    }
    computed.reverse();
    let address = address_of(&whole, range.clone())?;
    let RelativeAddress { module, resource, .. } = address;
    let Some((resource, key)) = resource else {
        return Err(problems::import::target_is_module(range));
    };
    let mut steps: Vec<(ModuleStep, Option<Expression>)> = module.0.iter().cloned().map(|step| (step, None)).collect();
    let mut own = ImportKey::Constant(key);
    for (expression, hole) in computed.into_iter().zip(holes) {
        match behind_module(&whole, hole) {
            Some(index) if index < steps.len() => steps[index].1 = Some(expression),
            _ if hole == whole.steps.len() => own = ImportKey::Computed(expression),
            _ => return Err(problems::import::misplaced_key(range)),
        }
    }
    Ok(ImportAddress { module: steps, resource, key: own, range })
}

enum RelativePart {
    Steps(Vec<weft_syntax::TraversalStep>),
    Key,
}

/// If the first `steps` steps of a traversal end with the name of a module call, the position of this call among the
/// module calls. For example, `module.a.module.b.c.d` with 3 steps ends with the call `b`, at position 1. A key after
/// these steps belongs to this call. `None` if the steps end elsewhere.
fn behind_module(traversal: &weft_syntax::Traversal, steps: usize) -> Option<usize> {
    use weft_syntax::StepKind;
    let names =
        std::iter::once(Some(traversal.root.text.as_str())).chain(traversal.steps.iter().map(
            |step| match &step.kind {
                StepKind::Attribute(name) => Some(name.as_str()),
                _ => None,
            },
        ));
    let names: Vec<&str> = names.take(steps + 1).flatten().collect();
    let calls = names.chunks(2).take_while(|pair| pair[0] == "module").count();
    (calls > 0 && names.len() == calls * 2).then(|| calls - 1)
}
