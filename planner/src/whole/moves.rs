//! `moved` blocks: maps old addresses to new ones. Plain functions over addresses.
//!
//! Statements run one after the other over all addresses of the state. A statement runs after the statements that lead
//! to its source, so a chain of moves works from any of its addresses. When a resource or module gains or loses
//! `count`, its first instance moves even without a statement.

mod addresses;
mod order;
mod problems;

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use weft_evaluator::config::{MovedBlock, RelativeAddress};
use weft_graph_format::address::{
    ConfigResource, InstanceKey, Module, ModuleInstance, ModuleStep, Resource, ResourceInstance,
};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use addresses::Addresses;

pub use order::in_order;

/// A `moved` block with its module.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The module. The block applies to all its instances.
    pub base: Module,
    /// The old address.
    pub from: RelativeAddress,
    /// The new address.
    pub to: RelativeAddress,
    /// The header of the block.
    pub range: SourceRange,
}

/// The kind of keys of a resource or a module call, as far as implied moves depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// Without `count` and `for_each`.
    Once,
    /// With `count`.
    Count,
    /// With `for_each`, or not declared.
    Otherwise,
}

/// Questions about the configuration.
pub trait Shape {
    /// The kind of keys of a resource.
    fn resource(&self, config: &ConfigResource) -> KeyKind;
    /// The kind of keys of a called module.
    fn module(&self, module: &Module) -> KeyKind;
}

/// The results of all moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// The old address of each moved object, by new address.
    pub moved: BTreeMap<ResourceInstance, ResourceInstance>,
    /// Moves that were blocked because another object has the target address: source and target.
    pub blocked: Vec<(ResourceInstance, ResourceInstance)>,
}

impl Statement {
    /// Converts the block of a module.
    pub fn new(base: &Module, block: &MovedBlock) -> Statement {
        Statement { base: base.clone(), from: block.from.clone(), to: block.to.clone(), range: block.range.clone() }
    }

    /// Whether the statement moves a single instance. Otherwise, it moves all instances, and each instance keeps its
    /// key.
    pub fn by_instance(&self) -> bool {
        last_key(&self.from) != InstanceKey::None || last_key(&self.to) != InstanceKey::None
    }

    /// The new address of an object; `None` if the statement does not apply.
    fn apply(&self, address: &ResourceInstance) -> Option<ResourceInstance> {
        let steps = &address.module.0;
        let base = self.base.0.len();
        let inside = steps.len() >= base && steps.iter().zip(self.base.0.iter()).all(|(step, name)| step.name == *name);
        if !inside {
            return None;
        }
        let (outer, rest) = steps.split_at(base);
        let from = &self.from.module.0;
        if let (Some((resource, key)), Some((to, to_key))) = (&self.from.resource, &self.to.resource) {
            if *rest != **from || address.resource != *resource || (self.by_instance() && address.key != *key) {
                return None;
            }
            let module = outer.iter().chain(self.to.module.0.iter()).cloned().collect();
            let key = if self.by_instance() { to_key.clone() } else { address.key.clone() };
            return Some(ResourceInstance { module: ModuleInstance(module), resource: to.clone(), key });
        }
        let (last, before) = from.split_last()?;
        let (to_last, to_before) = self.to.module.0.split_last()?;
        let own = rest.get(before.len())?;
        if rest[..before.len()] != *before || own.name != last.name || (self.by_instance() && own.key != last.key) {
            return None;
        }
        let key = if self.by_instance() { to_last.key.clone() } else { own.key.clone() };
        let step = ModuleStep { name: to_last.name.clone(), key };
        let inner = &rest[before.len() + 1..];
        let module = outer.iter().chain(to_before).cloned().chain([step]).chain(inner.iter().cloned()).collect();
        Some(ResourceInstance { module: ModuleInstance(module), ..address.clone() })
    }

    /// The configured address of an end: the module, and the resource if there is one.
    fn end(&self, end: &RelativeAddress) -> (Module, Option<Resource>) {
        (end.module_from(&self.base), end.resource.as_ref().map(|(resource, _)| resource.clone()))
    }

    /// An end of the statement as a pattern of addresses.
    fn pattern<'a>(&'a self, end: &'a RelativeAddress) -> Pattern<'a> {
        let by_instance = self.by_instance();
        let inner = end.module.0.iter().map(|step| (&step.name, Some(&step.key)));
        let mut modules: Vec<_> = self.base.0.iter().map(|name| (name, None)).chain(inner).collect();
        let resource = end.resource.as_ref().map(|(resource, key)| (resource, by_instance.then_some(key)));
        if let (None, false, Some(last)) = (&resource, by_instance, modules.last_mut()) {
            last.1 = None;
        }
        Pattern { modules, resource }
    }

    /// Whether the statement only changes the key of a module.
    fn is_reindex(&self) -> bool {
        let names = |end: &RelativeAddress| end.module.0.iter().map(|step| step.name.clone()).collect::<Vec<_>>();
        self.from.resource.is_none() && self.to.resource.is_none() && names(&self.from) == names(&self.to)
    }

    /// Whether this statement must run before the other statement. There are three cases:
    ///
    /// - The target of this statement is the source of the other one.
    /// - An end (source or target) of the other statement is inside the target of this statement.
    /// - An end of this statement is inside the source of the other statement.
    fn precedes(&self, other: &Statement) -> bool {
        let (own_from, own_to) = (self.pattern(&self.from), self.pattern(&self.to));
        let (from, to) = (other.pattern(&other.from), other.pattern(&other.to));
        if own_to.chains_to(&from) {
            return true;
        }
        let nested =
            from.is_within(&own_to) || to.is_within(&own_to) || own_from.is_within(&from) || own_to.is_within(&from);
        // If only the key of a module changes, the contents of both ends overlap. The outer statement runs first.
        nested && !(other.is_reindex() && other.base.0.len() < self.base.0.len())
    }

    /// The resources at both ends.
    fn names(&self) -> impl Iterator<Item = ConfigResource> {
        let ends = [&self.from, &self.to].map(|end| self.end(end));
        ends.into_iter().filter_map(|(module, resource)| Some(ConfigResource { module, resource: resource? }))
    }

    /// An end as text, for messages.
    pub(super) fn text(&self, end: &RelativeAddress) -> String {
        let own = match &end.resource {
            Some((resource, key)) => {
                let module = end.module.clone();
                ResourceInstance { module, resource: resource.clone(), key: key.clone() }.to_string()
            }
            None => end.module.to_string(),
        };
        if self.base.is_root() { own } else { format!("{}.{own}", self.base) }
    }
}

/// A pattern of addresses. A key of `None` matches every key.
struct Pattern<'a> {
    /// The modules from the root.
    modules: Vec<(&'a SmolStr, Option<&'a InstanceKey>)>,
    /// The resource; `None` if the end is a module.
    resource: Option<(&'a Resource, Option<&'a InstanceKey>)>,
}

impl Pattern<'_> {
    /// Whether some address matches both patterns. The shorter pattern is compared with the start of the longer one.
    fn meets(&self, other: &Pattern<'_>) -> bool {
        let one_key = |a: Option<&InstanceKey>, b: Option<&InstanceKey>| a.is_none() || b.is_none() || a == b;
        self.modules.iter().zip(&other.modules).all(|((name, key), (other, at))| name == other && one_key(*key, *at))
    }

    /// Whether an object that has moved to this end matches the other pattern.
    fn chains_to(&self, other: &Pattern<'_>) -> bool {
        self.modules.len() == other.modules.len() && self.meets(other) && self.resource == other.resource
    }

    /// Whether this pattern is inside the other pattern.
    fn is_within(&self, other: &Pattern<'_>) -> bool {
        let (own, outer) = (self.modules.len(), other.modules.len());
        let inside = match (&self.resource, &other.resource) {
            (None, None) => own > outer,
            (Some(_), None) => own >= outer,
            // This end is one instance of a resource that the other end moves as a whole.
            (Some((resource, Some(_))), Some((whole, None))) => own == outer && resource == whole,
            _ => false,
        };
        inside && self.meets(other)
    }
}

fn last_key(end: &RelativeAddress) -> InstanceKey {
    match &end.resource {
        Some((_, key)) => key.clone(),
        None => end.module.0.last().map_or(InstanceKey::None, |step| step.key.clone()),
    }
}

/// Problems of statements that do not depend on state. Exact duplicates are accepted.
pub fn statement_problems(statements: &[Statement]) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    // One instance and a whole resource or module are different ends, as in OpenTofu.
    let mut sources: BTreeMap<(bool, String), &Statement> = BTreeMap::new();
    let mut destinations: BTreeMap<(bool, String), &Statement> = BTreeMap::new();
    for statement in statements {
        let (from, to) = (statement.text(&statement.from), statement.text(&statement.to));
        if from == to {
            problems.push(problems::redundant_move(statement, &from));
            continue;
        }
        let end = |text: &str| (statement.by_instance(), text.to_owned());
        match sources.get(&end(&from)) {
            Some(other) if other.text(&other.to) != to => {
                problems.push(problems::two_targets(statement, other, &from, &to));
            }
            _ => drop(sources.entry(end(&from)).or_insert(statement)),
        }
        match destinations.get(&end(&to)) {
            Some(other) if other.text(&other.from) != from => {
                problems.push(problems::two_sources(statement, other, &from, &to));
            }
            _ => drop(destinations.entry(end(&to)).or_insert(statement)),
        }
    }
    problems
}

/// Applies sorted statements to the addresses of a state.
pub fn apply_statements(
    statements: &[&Statement],
    addresses: impl Iterator<Item = ResourceInstance>,
    shape: &dyn Shape,
) -> Moves {
    let mut addresses = Addresses::of(addresses);
    let mut blocked = Vec::new();
    for statement in statements {
        for address in addresses.about(statement) {
            let Some(to) = statement.apply(&address).filter(|to| *to != address) else { continue };
            if addresses.has(&to) {
                blocked.push((address, to));
            } else {
                addresses.rename(&address, to);
            }
        }
    }
    let named: FxHashSet<ConfigResource> = statements.iter().flat_map(|statement| statement.names()).collect();
    for address in addresses.all() {
        if named.contains(&address.config()) {
            continue;
        }
        let to = implied(&address, shape);
        if to != address && !addresses.has(&to) {
            addresses.rename(&address, to);
        }
    }
    Moves { moved: addresses.moved(), blocked }
}

/// The new address of an object whose resource or module gained or lost `count`. The instance with the key 0 becomes
/// the instance without a key, or the reverse.
fn implied(address: &ResourceInstance, shape: &dyn Shape) -> ResourceInstance {
    let follow = |key: &InstanceKey, repeated: KeyKind| match (key, repeated) {
        (InstanceKey::None, KeyKind::Count) => InstanceKey::Int(0),
        (InstanceKey::Int(0), KeyKind::Once) => InstanceKey::None,
        (key, _) => key.clone(),
    };
    let mut here = Module::root();
    let mut steps = Vec::with_capacity(address.module.0.len());
    for step in address.module.0.iter() {
        here = here.child(&step.name);
        steps.push(ModuleStep { name: step.name.clone(), key: follow(&step.key, shape.module(&here)) });
    }
    ResourceInstance {
        module: ModuleInstance(steps.into()),
        resource: address.resource.clone(),
        key: follow(&address.key, shape.resource(&address.config())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Always(KeyKind);

    impl Shape for Always {
        fn resource(&self, _: &ConfigResource) -> KeyKind {
            self.0
        }
        fn module(&self, _: &Module) -> KeyKind {
            KeyKind::Otherwise
        }
    }

    fn end(text: &str) -> RelativeAddress {
        let range = SourceRange::default();
        match text.parse::<ResourceInstance>() {
            Ok(found) => RelativeAddress { module: found.module, resource: Some((found.resource, found.key)), range },
            Err(_) => RelativeAddress { module: text.parse().unwrap(), resource: None, range },
        }
    }

    pub(super) fn statement(base: &str, from: &str, to: &str) -> Statement {
        let base = if base.is_empty() { Module::root() } else { Module::root().child(base) };
        Statement { base, from: end(from), to: end(to), range: SourceRange::default() }
    }

    fn moved(statements: &[Statement], state: &[&str], repeated: KeyKind) -> Vec<String> {
        let order = in_order(statements).unwrap();
        let moves = apply_statements(&order, state.iter().map(|a| a.parse().unwrap()), &Always(repeated));
        let moved = moves.moved.iter().map(|(new, old)| format!("{old} -> {new}"));
        moved.chain(moves.blocked.iter().map(|(from, to)| format!("{from} blocked at {to}"))).collect()
    }

    #[test]
    fn objects_move_as_the_statements_say() {
        for (statements, state, want) in [
            (vec![("", "a.x", "a.y")], vec!["a.x", "a.z"], vec!["a.x -> a.y"]),
            (vec![("", "a.x", "a.y")], vec!["a.x[0]", "a.x[1]"], vec!["a.x[0] -> a.y[0]", "a.x[1] -> a.y[1]"]),
            (vec![("", "a.x", "a.x[\"k\"]")], vec!["a.x", "a.x[0]"], vec!["a.x -> a.x[\"k\"]"]),
            // A chain, entered at its end and in the middle.
            (vec![("", "a.y", "a.z"), ("", "a.x", "a.y")], vec!["a.x"], vec!["a.x -> a.z"]),
            (vec![("", "a.x", "a.y")], vec!["a.x", "a.y"], vec!["a.x blocked at a.y"]),
            (
                vec![("", "module.m", "module.n"), ("n", "a.x", "a.y")],
                vec!["module.m[0].a.x", "module.m[1].module.i.a.x"],
                vec!["module.m[0].a.x -> module.n[0].a.y", "module.m[1].module.i.a.x -> module.n[1].module.i.a.x"],
            ),
            (
                vec![("", "module.m[0]", "module.m[\"k\"]")],
                vec!["module.m[0].a.x", "module.m[1].a.x"],
                vec!["module.m[0].a.x -> module.m[\"k\"].a.x"],
            ),
            (
                vec![("", "module.m[0]", "module.m[\"k\"]"), ("m", "a.x", "a.y[0]")],
                vec!["module.m[0].a.x"],
                vec!["module.m[0].a.x -> module.m[\"k\"].a.y[0]"],
            ),
            (vec![("", "module.m.a.x", "a.x")], vec!["module.m.a.x"], vec!["module.m.a.x -> a.x"]),
            // A module gains a key, another object moves into the instance, and the module has statements of its own.
            (
                vec![("", "module.m", "module.m[\"k\"]"), ("", "a.t", "module.m[\"k\"].a.t"), ("m", "a.x", "a.y")],
                vec!["module.m.a.x", "a.t"],
                vec!["a.t -> module.m[\"k\"].a.t", "module.m.a.x -> module.m[\"k\"].a.y"],
            ),
            // One instance moves separately before the rest of the resource.
            (
                vec![("", "a.x", "a.y"), ("", "a.x[0]", "a.z")],
                vec!["a.x[0]", "a.x[1]"],
                vec!["a.x[1] -> a.y[1]", "a.x[0] -> a.z"],
            ),
        ] {
            let list: Vec<_> = statements.iter().map(|(base, from, to)| statement(base, from, to)).collect();
            assert_eq!(moved(&list, &state, KeyKind::Otherwise), want, "{statements:?} over {state:?}");
        }
    }

    #[test]
    fn the_first_and_the_only_instance_follow_each_other() {
        assert_eq!(moved(&[], &["a.x"], KeyKind::Count), ["a.x -> a.x[0]"]);
        assert_eq!(moved(&[], &["a.x[0]", "a.x[1]"], KeyKind::Once), ["a.x[0] -> a.x"]);
        assert!(moved(&[], &["a.x[0]", "a.x"], KeyKind::Once).is_empty());
        let own = [statement("", "a.x[1]", "a.x")];
        assert_eq!(moved(&own, &["a.x[0]", "a.x[1]"], KeyKind::Once), ["a.x[1] -> a.x"]);
    }

    #[test]
    fn contradicting_statements_are_errors() {
        let summaries = |list: &[(&str, &str)]| -> Vec<String> {
            let list: Vec<_> = list.iter().map(|(from, to)| statement("", from, to)).collect();
            statement_problems(&list).into_iter().map(|p| p.summary.to_string()).collect()
        };
        assert!(summaries(&[("a.x", "a.y"), ("a.x", "a.y")]).is_empty());
        assert_eq!(summaries(&[("a.x", "a.x")]), ["Redundant move statement"]);
        assert_eq!(summaries(&[("a.x", "a.y"), ("a.x", "a.z")]), ["Ambiguous move statements"]);
        assert_eq!(summaries(&[("a.x", "a.z"), ("a.y", "a.z")]), ["Ambiguous move statements"]);
        assert!(in_order(&[statement("", "a.x", "a.y"), statement("", "a.y", "a.x")]).is_err());
    }
}
