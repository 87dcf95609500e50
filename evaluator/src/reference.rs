//! What a traversal refers to.

use smol_str::SmolStr;
use weft_graph_format::address::{InstanceKey, Resource, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::path::Step;
use weft_graph_format::source::SourceRange;
use weft_syntax::{Key, StepKind, Traversal, Tree};

/// Something that an expression names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// `var.name`
    Variable(SmolStr),
    /// `local.name`
    Local(SmolStr),
    /// `aws_vpc.main`, `data.aws_ami.x`
    Resource(Resource),
    /// `module.name`, and the output when one is named right behind it or behind a literal key.
    Module(SmolStr, Option<SmolStr>),
    /// `each.key`
    EachKey,
    /// `each.value`
    EachValue,
    /// `count.index`
    CountIndex,
    /// `self`
    SelfObject,
    /// `path.module` and its like.
    Path(SmolStr),
    /// `terraform.workspace` and its like: the first name, `terraform` or `tofu`, and the second.
    Terraform(SmolStr, SmolStr),
    /// A call of a provider's function: the local name of the provider, and the alias where one is named.
    ProviderFunction(SmolStr, Option<SmolStr>),
}

/// A [`Subject`] and where it is named.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// What is named.
    pub subject: Subject,
    /// How many steps of the traversal name it; the rest leads into its value.
    pub steps: usize,
    /// The text of the whole traversal.
    pub range: SourceRange,
    /// The literal key behind the subject. A number that no instance has is the greatest.
    pub key: Option<InstanceKey>,
    /// Whether anything follows the subject and its key.
    pub leads_on: bool,
    /// The first attribute behind the subject, when the next step (or the one behind a key) is one.
    pub attribute: Option<SmolStr>,
    /// Where that attribute stands, the dot before it included.
    pub attribute_range: Option<SourceRange>,
    /// Of a resource: the steps behind that attribute, and where they stand.
    pub rest: Vec<(Step, SourceRange)>,
}

/// The steps from an index on; as far as their keys are of a size that anything has.
fn steps_from(tree: &Tree, traversal: &Traversal, from: usize) -> Vec<(Step, SourceRange)> {
    let mut found = Vec::new();
    for step in traversal.steps.iter().skip(from) {
        let kind = match &step.kind {
            StepKind::Attribute(name) => Step::Attribute(name.clone()),
            StepKind::Index(Key::String(key)) => Step::Key(key.clone()),
            StepKind::Index(Key::Number(digits)) | StepKind::LegacyIndex(digits) => match digits.parse() {
                Ok(index) => Step::Index(index),
                Err(_) => break,
            },
        };
        found.push((kind, tree.range(step.span)));
    }
    found
}

fn attribute(traversal: &Traversal, index: usize) -> Option<&SmolStr> {
    match &traversal.steps.get(index)?.kind {
        StepKind::Attribute(name) => Some(name),
        _ => None,
    }
}

/// The literal key that a step is.
fn key(traversal: &Traversal, index: usize) -> Option<InstanceKey> {
    match &traversal.steps.get(index)?.kind {
        StepKind::Index(Key::String(key)) => Some(InstanceKey::String(key.clone())),
        StepKind::Index(Key::Number(digits)) | StepKind::LegacyIndex(digits) => {
            Some(InstanceKey::Int(digits.parse().unwrap_or(u64::MAX)))
        }
        StepKind::Attribute(_) => None,
    }
}

/// The subject of a traversal, or why it has none.
pub fn resolve(tree: &Tree, traversal: &Traversal) -> Result<Reference, Diagnostic> {
    let whole = match traversal.steps.last() {
        Some(step) => traversal.root.span.through(step.span),
        None => traversal.root.span,
    };
    let range = tree.range(whole);
    let root_range = tree.range(traversal.root.span);
    let reference = |subject: Subject, steps: usize| {
        let key = key(traversal, steps);
        let after = steps + usize::from(key.is_some());
        let found = attribute(traversal, after).cloned();
        let rest = match (&subject, &found) {
            (Subject::Resource(_) | Subject::SelfObject, Some(_)) => steps_from(tree, traversal, after + 1),
            _ => Vec::new(),
        };
        Reference {
            subject,
            steps,
            rest,
            range: range.clone(),
            key,
            leads_on: traversal.steps.len() > after,
            attribute_range: found.as_ref().map(|_| tree.range(traversal.steps[after].span)),
            attribute: found,
        }
    };
    let one_name = |kind: &str, example: &str| -> Result<SmolStr, Diagnostic> {
        attribute(traversal, 0).cloned().ok_or_else(|| {
            if traversal.steps.is_empty() {
                Diagnostic::error(
                    "Invalid reference",
                    format!("\"{kind}\" alone names nothing: a name must follow it, as in {example}."),
                )
                .at(root_range.clone())
            } else {
                Diagnostic::error(
                    "Invalid reference",
                    format!("\"{kind}\" must be followed by a dot and a name, as in {example}."),
                )
                .at(range.clone())
            }
        })
    };
    let root = traversal.root.text.as_str();
    match root {
        "var" => Ok(reference(Subject::Variable(one_name("var", "var.size")?), 1)),
        "local" => Ok(reference(Subject::Local(one_name("local", "local.name")?), 1)),
        "path" => Ok(reference(Subject::Path(one_name("path", "path.module")?), 1)),
        "terraform" | "tofu" => {
            let name = one_name(root, "terraform.workspace")?;
            Ok(reference(Subject::Terraform(SmolStr::new(root), name), 1))
        }
        "count" => match one_name("count", "count.index")?.as_str() {
            "index" => Ok(reference(Subject::CountIndex, 1)),
            other => Err(Diagnostic::error(
                "Invalid \"count\" attribute",
                format!("count has no attribute {other:?}; the only one is count.index."),
            )
            .at(tree.range(traversal.steps[0].span))),
        },
        "each" => match one_name("each", "each.key")?.as_str() {
            "key" => Ok(reference(Subject::EachKey, 1)),
            "value" => Ok(reference(Subject::EachValue, 1)),
            other => Err(Diagnostic::error(
                "Invalid \"each\" attribute",
                format!("each has no attribute {other:?}; there are each.key and each.value."),
            )
            .at(tree.range(traversal.steps[0].span))),
        },
        "self" => Ok(reference(Subject::SelfObject, 0)),
        "module" => {
            let name = one_name("module", "module.network.vpc_id")?;
            let behind_key = if key(traversal, 1).is_some() { 2 } else { 1 };
            let output = attribute(traversal, behind_key).cloned();
            Ok(reference(Subject::Module(name, output), 1))
        }
        "data" | "ephemeral" | "resource" => {
            let mode = match root {
                "data" => ResourceMode::Data,
                "ephemeral" => ResourceMode::Ephemeral,
                _ => ResourceMode::Managed,
            };
            let (Some(type_name), Some(name)) = (attribute(traversal, 0), attribute(traversal, 1)) else {
                return Err(Diagnostic::error(
                    "Invalid reference",
                    format!("\"{root}\" must be followed by a resource type and a name: {root}.TYPE.NAME."),
                )
                .at(range));
            };
            let resource = Resource { mode, type_name: type_name.clone(), name: name.clone() };
            Ok(reference(Subject::Resource(resource), 2))
        }
        "template" | "lazy" | "arg" => Err(Diagnostic::error(
            "Reserved symbol name",
            format!(
                "The name {root:?} is kept for later use. To mean a resource type of this name, write resource.{root}."
            ),
        )
        .at(root_range)),
        _ => {
            let Some(name) = attribute(traversal, 0) else {
                return Err(Diagnostic::error(
                    "Invalid reference",
                    format!(
                        "{root:?} alone refers to nothing: a reference to a resource needs the type and the name. \
                         A string must stand in quotes."
                    ),
                )
                .at(range));
            };
            let resource = Resource { mode: ResourceMode::Managed, type_name: SmolStr::new(root), name: name.clone() };
            Ok(reference(Subject::Resource(resource), 1))
        }
    }
}
