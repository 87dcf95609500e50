//! The targets of traversals, and the references of expressions.

use smol_str::SmolStr;
use weft_graph_format::address::{InstanceKey, Resource, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::number::Number;
use weft_graph_format::path::ValueStep;
use weft_graph_format::source::SourceRange;
use weft_syntax::{ExprKind, Expression, Key, StepKind, Traversal, Tree, references};

use crate::problems;

/// The target of a reference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Referent {
    /// `var.name`
    Variable(SmolStr),
    /// `local.name`
    Local(SmolStr),
    /// `aws_vpc.main`, `data.aws_ami.x`
    Resource(Resource),
    /// `module.name`, with the output if one is named directly or after a literal key.
    Module(SmolStr, Option<SmolStr>),
    /// `each.key`
    EachKey,
    /// `each.value`
    EachValue,
    /// `count.index`
    CountIndex,
    /// `self`
    SelfObject,
    /// `path.module` and other attributes of `path`.
    Path(SmolStr),
    /// `terraform.workspace` and other attributes: the first name, `terraform` or `tofu`, and the attribute.
    Terraform(SmolStr, SmolStr),
    /// A call of a provider function: the local name of the provider, and the alias if there is one.
    ProviderFunction(SmolStr, Option<SmolStr>),
}

/// A [`Referent`] with its location.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The target.
    pub subject: Referent,
    /// The number of steps that name the target. The remaining steps lead into the value of the target.
    pub steps: usize,
    /// The range of the whole traversal.
    pub range: SourceRange,
    /// The literal key after the subject. A number that is not a valid key becomes the maximum.
    pub key: Option<InstanceKey>,
    /// Whether there are steps after the subject and its key. The output of a module is part of the subject.
    pub leads_on: bool,
    /// The attribute that follows the subject and its key. `None` if the next step is not an attribute.
    pub attribute: Option<SmolStr>,
    /// The range of `attribute`, with its dot.
    pub attribute_range: Option<SourceRange>,
    /// For a resource or `self`: the steps after `attribute`, or after the key if there is no attribute, with their
    /// ranges.
    pub rest: Vec<(ValueStep, SourceRange)>,
}

/// The steps of a traversal from index `from` on.
fn steps_from(tree: &Tree, traversal: &Traversal, from: usize) -> Vec<(ValueStep, SourceRange)> {
    let mut found = Vec::new();
    for step in traversal.steps.iter().skip(from) {
        found.push((value_step(&step.kind), tree.range(step.span)));
    }
    found
}

/// A step of a traversal as a step into a value. `null`, and a number that is not an index, become the largest index,
/// which no collection has.
pub(crate) fn value_step(step: &StepKind) -> ValueStep {
    match step {
        StepKind::Attribute(name) => ValueStep::Attribute(name.clone()),
        StepKind::Index(Key::String(key)) => ValueStep::Key(key.clone()),
        StepKind::Index(Key::Number(digits)) | StepKind::LegacyIndex(digits) => {
            let number = Number::parse(digits).ok();
            ValueStep::Index(number.and_then(|number| number.to_u64()).unwrap_or(u64::MAX))
        }
        StepKind::Index(Key::Bool(key)) => ValueStep::Key(key.to_string().into()),
        StepKind::Index(Key::Null) => ValueStep::Index(u64::MAX),
    }
}

fn attribute(traversal: &Traversal, index: usize) -> Option<&SmolStr> {
    match &traversal.steps.get(index)?.kind {
        StepKind::Attribute(name) => Some(name),
        _ => None,
    }
}

/// The literal key of a step, if it is a string or a number.
fn key(traversal: &Traversal, index: usize) -> Option<InstanceKey> {
    match &traversal.steps.get(index)?.kind {
        StepKind::Index(Key::String(key)) => Some(InstanceKey::String(key.clone())),
        StepKind::Index(Key::Number(digits)) | StepKind::LegacyIndex(digits) => {
            Some(InstanceKey::written(digits).unwrap_or(InstanceKey::Int(i64::MAX)))
        }
        StepKind::Attribute(_) | StepKind::Index(Key::Bool(_) | Key::Null) => None,
    }
}

/// The reference of a traversal, or its problem.
pub(crate) fn resolve(tree: &Tree, traversal: &Traversal) -> Result<Reference, Diagnostic> {
    let read = Reading { tree, traversal };
    let root = traversal.root.text.as_str();
    match root {
        "var" => Ok(read.reference(Referent::Variable(read.name("var.size")?), 1)),
        "local" => Ok(read.reference(Referent::Local(read.name("local.name")?), 1)),
        "path" => Ok(read.reference(Referent::Path(read.name("path.module")?), 1)),
        "terraform" | "tofu" => {
            let name = read.name("terraform.workspace")?;
            Ok(read.reference(Referent::Terraform(SmolStr::new(root), name), 1))
        }
        "count" | "each" => read.repetition(),
        "self" => Ok(read.reference(Referent::SelfObject, 0)),
        "module" => {
            let name = read.name("module.network.vpc_id")?;
            let behind_key = if key(traversal, 1).is_some() { 2 } else { 1 };
            if behind_key == 2
                && attribute(traversal, 2).is_none()
                && let Some(step) = traversal.steps.get(2)
            {
                return Err(problems::index_behind_module_key(&name, tree.range(step.span)));
            }
            let output = attribute(traversal, behind_key).cloned();
            read.instance(Referent::Module(name, output), 1)
        }
        "data" => read.resource(ResourceMode::Data),
        "ephemeral" => read.resource(ResourceMode::Ephemeral),
        "resource" => read.resource(ResourceMode::Managed),
        "template" | "lazy" | "arg" => Err(problems::reserved_name(root, read.root_range())),
        _ => read.plain_resource(),
    }
}

/// A traversal that is being resolved.
struct Reading<'a> {
    tree: &'a Tree,
    traversal: &'a Traversal,
}

impl Reading<'_> {
    /// The range of the whole traversal.
    fn range(&self) -> SourceRange {
        let root = self.traversal.root.span;
        self.tree.range(self.traversal.steps.last().map_or(root, |step| root.through(step.span)))
    }

    fn root_range(&self) -> SourceRange {
        self.tree.range(self.traversal.root.span)
    }

    fn reference(&self, subject: Referent, steps: usize) -> Reference {
        let Reading { tree, traversal } = *self;
        // `self` is one object, so an index behind it is no key.
        let key = key(traversal, steps).filter(|_| subject != Referent::SelfObject);
        let after = steps + usize::from(key.is_some());
        let found = attribute(traversal, after).cloned();
        let rest = match (&subject, &found) {
            (Referent::Resource(_) | Referent::SelfObject, Some(_)) => steps_from(tree, traversal, after + 1),
            // An index into a single object.
            (Referent::SelfObject, None) => steps_from(tree, traversal, steps),
            (Referent::Resource(_), None) if key.is_some() => steps_from(tree, traversal, after),
            _ => Vec::new(),
        };
        Reference {
            steps,
            rest,
            range: self.range(),
            key,
            leads_on: traversal.steps.len() > after + usize::from(matches!(subject, Referent::Module(_, Some(_)))),
            attribute_range: found.as_ref().map(|_| tree.range(traversal.steps[after].span)),
            attribute: found,
            subject,
        }
    }

    /// A reference to a resource or a module, or to one of its instances.
    fn instance(&self, subject: Referent, steps: usize) -> Result<Reference, Diagnostic> {
        let step = self.traversal.steps.get(steps);
        let is_invalid = match step.map(|step| &step.kind) {
            Some(StepKind::Index(Key::Number(digits))) => InstanceKey::written(digits).is_none(),
            Some(StepKind::Index(Key::Bool(_) | Key::Null)) => true,
            _ => false,
        };
        match step.filter(|_| is_invalid) {
            Some(step) => Err(problems::invalid_index_key(self.tree.range(step.span))),
            None => Ok(self.reference(subject, steps)),
        }
    }

    /// The name after the root. Messages show `example`.
    fn name(&self, example: &str) -> Result<SmolStr, Diagnostic> {
        let root = &self.traversal.root.text;
        attribute(self.traversal, 0).cloned().ok_or_else(|| match self.traversal.steps.is_empty() {
            true => problems::bare_root(root, example, self.root_range()),
            false => problems::root_without_name(root, example, self.range()),
        })
    }

    /// `count.index`, `each.key` or `each.value`.
    fn repetition(&self) -> Result<Reference, Diagnostic> {
        let root = self.traversal.root.text.as_str();
        let (example, known): (&str, &[&str]) = match root {
            "count" => ("count.index", &["count.index"]),
            _ => ("each.key", &["each.key", "each.value"]),
        };
        let name = self.name(example)?;
        let subject = match (root, name.as_str()) {
            ("count", "index") => Referent::CountIndex,
            ("each", "key") => Referent::EachKey,
            ("each", "value") => Referent::EachValue,
            _ => {
                let at = self.tree.range(self.traversal.steps[0].span);
                return Err(problems::no_repetition_attribute(root, &name, known, at));
            }
        };
        Ok(self.reference(subject, 1))
    }

    /// A resource with a mode prefix: `data.TYPE.NAME`.
    fn resource(&self, mode: ResourceMode) -> Result<Reference, Diagnostic> {
        let (Some(type_name), Some(name)) = (attribute(self.traversal, 0), attribute(self.traversal, 1)) else {
            return Err(problems::incomplete_resource(&self.traversal.root.text, self.range()));
        };
        let resource = Resource { mode, type_name: type_name.clone(), name: name.clone() };
        self.instance(Referent::Resource(resource), 2)
    }

    /// A managed resource: `TYPE.NAME`.
    fn plain_resource(&self) -> Result<Reference, Diagnostic> {
        let root = self.traversal.root.text.as_str();
        let Some(name) = attribute(self.traversal, 0) else {
            return Err(problems::bare_word(root, self.range()));
        };
        let resource = Resource { mode: ResourceMode::Managed, type_name: SmolStr::new(root), name: name.clone() };
        self.instance(Referent::Resource(resource), 1)
    }
}

/// All references of an expression. Invalid ones are reported.
pub(crate) fn references_of(expression: &Expression, diagnostics: &mut Vec<Diagnostic>) -> Vec<Reference> {
    let mut found = Vec::new();
    note_references(expression, &|_| false, &mut found, diagnostics);
    found
}

/// Adds the references of an expression to `found`, except those that start with a name that `is_bound` outside of the
/// expression. Invalid references are reported.
pub(crate) fn note_references(
    expression: &Expression,
    is_bound: &dyn Fn(&str) -> bool,
    found: &mut Vec<Reference>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let traversals = references(expression);
    // Every expression of a configuration has such a list, mostly with one or two entries, so the list must not waste
    // memory.
    found.reserve_exact(traversals.len());
    for traversal in traversals.into_iter().filter(|traversal| !is_bound(&traversal.root.text)) {
        match resolve(&expression.tree, traversal) {
            Ok(reference) => found.push(reference),
            Err(problem) => diagnostics.push(problem),
        }
    }
    provider_calls(expression, found);
}

/// Calls of provider functions in an expression.
pub(crate) fn provider_calls(expression: &Expression, found: &mut Vec<Reference>) {
    // Most expressions do not call provider functions.
    if !expression.text().contains("provider::") {
        return;
    }
    let mut pending = vec![expression.id];
    while let Some(id) = pending.pop() {
        let kind = &expression.tree.node(id).kind;
        if let ExprKind::Call(call) = kind {
            let parts: Vec<&str> = call.name.split("::").collect();
            let named = match parts.as_slice() {
                ["provider", name, _] => Some((SmolStr::new(*name), None)),
                ["provider", name, alias, _] => Some((SmolStr::new(*name), Some(SmolStr::new(*alias)))),
                _ => None,
            };
            found.extend(named.map(|(name, alias)| Reference {
                subject: Referent::ProviderFunction(name, alias),
                steps: 0,
                range: expression.tree.range(call.name_span),
                key: None,
                leads_on: false,
                attribute: None,
                attribute_range: None,
                rest: Vec::new(),
            }));
        }
        kind.for_each_child(|child| pending.push(child));
    }
}
