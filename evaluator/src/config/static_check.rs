//! What can be said of references without values: do they lead to something, and do they go in circles?

use std::collections::BTreeMap;

use weft_graph_format::diagnostic::Diagnostic;

use super::CompiledModule;
use super::content::did_you_mean;
use crate::reference::{Reference, Subject};

/// Where references stand decides what else may be named there.
#[derive(Clone, Copy)]
struct Allowed {
    count: bool,
    each: bool,
    self_object: bool,
}

const NOTHING: Allowed = Allowed { count: false, each: false, self_object: false };

/// Reports references of a module that lead nowhere.
pub(super) fn check_module(module: &CompiledModule, diagnostics: &mut Vec<Diagnostic>) {
    let mut check = |references: &[Reference], allowed: Allowed| {
        for reference in references {
            if let Some(problem) = problem(module, reference, allowed) {
                diagnostics.push(problem);
            }
        }
    };
    for local in module.locals.values() {
        check(&local.references, NOTHING);
    }
    for output in module.outputs.values() {
        check(&output.references, NOTHING);
    }
    for provider in module.providers.values() {
        check(&provider.references, Allowed { each: true, ..NOTHING });
    }
    for resource in module.resources.values() {
        check(&resource.references, Allowed { count: true, each: true, self_object: true });
    }
    for call in module.calls.values() {
        check(&call.references, Allowed { count: true, each: true, self_object: false });
    }
}

fn place(module: &CompiledModule) -> String {
    if module.path.is_root() { String::from("the root module") } else { module.path.to_string() }
}

fn problem(module: &CompiledModule, reference: &Reference, allowed: Allowed) -> Option<Diagnostic> {
    let error = |summary: &str, detail: String| Some(Diagnostic::error(summary, detail).at(reference.range.clone()));
    match &reference.subject {
        Subject::Variable(name) if !module.variables.contains_key(name) => {
            let hint = did_you_mean(name, module.variables.keys().map(|n| n.as_str()));
            let hint = if hint.is_empty() { format!(" Declare it with a variable {name:?} {{}} block.") } else { hint };
            error(
                "Reference to undeclared input variable",
                format!("{} has no input variable named {name:?}.{hint}", place(module)),
            )
        }
        Subject::Local(name) if !module.locals.contains_key(name) => {
            let hint = did_you_mean(name, module.locals.keys().map(|n| n.as_str()));
            error(
                "Reference to undeclared local value",
                format!("{} has no local value named {name:?}.{hint}", place(module)),
            )
        }
        Subject::Resource(resource) if !module.resources.contains_key(resource) => {
            let same_type = module.resources.keys().filter(|r| r.type_name == resource.type_name);
            let hint = did_you_mean(&resource.name, same_type.map(|r| r.name.as_str()));
            error(
                "Reference to undeclared resource",
                format!("{resource} is not declared in {}.{hint}", place(module)),
            )
        }
        Subject::Module(name, _) if !module.calls.contains_key(name) => {
            let hint = did_you_mean(name, module.calls.keys().map(|n| n.as_str()));
            error(
                "Reference to undeclared module",
                format!("No module call named {name:?} is declared in {}.{hint}", place(module)),
            )
        }
        Subject::CountIndex if !allowed.count => error(
            "Reference to \"count\" in non-counted context",
            String::from("count.index has a value only inside resource, data and module blocks that set count."),
        ),
        Subject::EachKey | Subject::EachValue if !allowed.each => error(
            "Reference to \"each\" in context without for_each",
            String::from("each.key and each.value have values only inside blocks that set for_each."),
        ),
        Subject::SelfObject if !allowed.self_object => error(
            "Invalid \"self\" reference",
            String::from("self has a value only in provisioner, connection and postcondition blocks of a resource."),
        ),
        Subject::Path(name) if !matches!(name.as_str(), "module" | "root" | "cwd") => error(
            "Invalid \"path\" attribute",
            format!("path has no attribute {name:?}; there are path.module, path.root and path.cwd."),
        ),
        Subject::Terraform(name) if !matches!(name.as_str(), "workspace" | "applying") => error(
            "Invalid \"terraform\" attribute",
            format!("terraform has no attribute {name:?}; there is terraform.workspace."),
        ),
        _ => None,
    }
}

/// A place in the tree of modules whose value is computed from others.
type Node = String;

/// Circles in what refers to what, over the whole tree of modules: one diagnostic each, every step named.
pub(crate) fn cycles(root: &CompiledModule) -> Vec<Diagnostic> {
    let mut edges: BTreeMap<Node, Vec<Node>> = BTreeMap::new();
    collect(root, &mut edges);
    let names: Vec<&Node> = edges.keys().collect();
    let index: BTreeMap<&Node, usize> = names.iter().enumerate().map(|(i, n)| (*n, i)).collect();
    let next: Vec<Vec<usize>> =
        edges.values().map(|to| to.iter().filter_map(|n| index.get(n).copied()).collect()).collect();
    components(&next)
        .into_iter()
        .filter(|members| members.len() > 1 || next[members[0]].contains(&members[0]))
        .map(|members| {
            let mut steps: Vec<&str> = members.iter().map(|i| names[*i].as_str()).collect();
            steps.sort_unstable();
            if steps.len() == 1 {
                return Diagnostic::error(
                    "Self-referential block",
                    format!("{} refers to itself, so its value can never be known.", steps[0]),
                );
            }
            Diagnostic::error(
                format!("Cycle: {}", steps.join(", ")),
                "Each of these needs the value of another one of them first. Take one reference out of the circle.",
            )
        })
        .collect()
}

fn collect(module: &CompiledModule, edges: &mut BTreeMap<Node, Vec<Node>>) {
    let prefix = if module.path.is_root() { String::new() } else { format!("{}.", module.path) };
    let here = |subject: &Subject| -> Vec<Node> {
        match subject {
            Subject::Variable(name) => vec![format!("{prefix}var.{name}")],
            Subject::Local(name) => vec![format!("{prefix}local.{name}")],
            Subject::Resource(resource) => vec![format!("{prefix}{resource}")],
            Subject::Module(name, Some(output)) => vec![format!("{prefix}module.{name}.output.{output}")],
            Subject::Module(name, None) => vec![format!("{prefix}module.{name} (close)")],
            _ => Vec::new(),
        }
    };
    let targets = |references: &[Reference]| -> Vec<Node> {
        references.iter().flat_map(|r| here(&r.subject)).collect()
    };
    for local in module.locals.values() {
        edges.insert(format!("{prefix}local.{}", local.name), targets(&local.references));
    }
    for resource in module.resources.values() {
        edges.insert(format!("{prefix}{}", resource.resource), targets(&resource.references));
    }
    for output in module.outputs.values() {
        edges.insert(format!("{prefix}output.{}", output.name), targets(&output.references));
    }
    for call in module.calls.values() {
        let Some(child) = module.children.get(&call.name) else { continue };
        let inner = format!("{prefix}module.{}.", call.name);
        let expand = format!("{prefix}module.{} (expand)", call.name);
        let mut needs = targets(&call.depends_on);
        if let Some(expression) = call.repetition.expression() {
            needs.extend(targets(&super::meta::references_of(expression, &mut Vec::new())));
        }
        edges.insert(expand.clone(), needs);
        for name in child.variables.keys() {
            let mut to = vec![expand.clone()];
            if let Some((value, _)) = call.arguments.get(name) {
                to.extend(targets(&super::meta::references_of(value, &mut Vec::new())));
            }
            edges.insert(format!("{inner}var.{name}"), to);
        }
        for resource in child.resources.keys() {
            edges.entry(format!("{inner}{resource}")).or_default().push(expand.clone());
        }
        let mut close: Vec<Node> = child.resources.keys().map(|r| format!("{inner}{r}")).collect();
        close.extend(child.outputs.keys().map(|o| format!("{inner}output.{o}")));
        edges.insert(format!("{prefix}module.{} (close)", call.name), close);
        let mut below = BTreeMap::new();
        collect(child, &mut below);
        for (node, to) in below {
            edges.entry(node).or_default().extend(to);
        }
    }
}

/// Strongly connected components, without recursion.
fn components(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let count = next.len();
    let (mut index, mut low) = (vec![UNSEEN; count], vec![0; count]);
    let (mut on_stack, mut stack) = (vec![false; count], Vec::new());
    let mut found = Vec::new();
    let mut counter = 0;
    for start in 0..count {
        if index[start] != UNSEEN {
            continue;
        }
        let mut calls = vec![(start, 0)];
        while let Some((node, child)) = calls.pop() {
            if child == 0 {
                index[node] = counter;
                low[node] = counter;
                counter += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(to) = next[node].get(child) {
                calls.push((node, child + 1));
                if index[*to] == UNSEEN {
                    calls.push((*to, 0));
                } else if on_stack[*to] {
                    low[node] = low[node].min(index[*to]);
                }
                continue;
            }
            if low[node] == index[node] {
                let mut members = Vec::new();
                while let Some(member) = stack.pop() {
                    on_stack[member] = false;
                    members.push(member);
                    if member == node {
                        break;
                    }
                }
                found.push(members);
            }
            if let Some((parent, _)) = calls.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
        }
    }
    found
}
