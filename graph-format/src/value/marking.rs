//! Removes marks from the parts of a value, and adds marks at paths.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use super::{Kind, Value};
use crate::marks::Marks;
use crate::path::{Path, ValueStep};

/// How far a path leads into a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The path leads to a part. A set or an unknown value counts as one part. Contains the number of steps to the
    /// part.
    There(usize),
    /// The path leads nowhere: the part after this number of steps does not have the next step.
    Lost(usize),
    /// The path leads into null, which has no parts.
    Null,
}

impl Value {
    /// The value without any marks, and the union of the removed marks.
    #[must_use]
    pub fn unmark_deep(&self) -> (Value, Marks) {
        if !self.deep().marked {
            return (self.clone(), Marks::NONE);
        }
        let mut all = Marks::NONE;
        let bare = unmark_into(self, &mut |_, marks| all = all.union(marks), &mut Path::ROOT.clone());
        (bare, all)
    }

    /// The value without any marks, and the removed marks by path. Sets count as single parts.
    #[must_use]
    pub fn unmark_with_paths(&self) -> (Value, Vec<(Path, Marks)>) {
        let mut found = Vec::new();
        if !self.deep().marked {
            return (self.clone(), found);
        }
        let bare =
            unmark_into(self, &mut |path, marks| found.push((path.clone(), marks.clone())), &mut Path(Vec::new()));
        (bare, found)
    }

    /// Adds marks at paths. If a path leads nowhere, its last part that exists is marked, so that the mark is not lost.
    /// The only exception is a path into null: it marks nothing, because null has no parts. Parts whose marks do not
    /// change stay shared.
    #[must_use]
    pub fn mark_paths(&self, marks: &[(Path, Marks)]) -> Value {
        let refs: Vec<(&[ValueStep], &Marks)> = marks.iter().map(|(p, m)| (p.0.as_slice(), m)).collect();
        mark_into(self, &refs)
    }

    /// How far a path leads into the value. [`Value::mark_paths`] marks the part where the path ends.
    pub fn reach(&self, path: &Path) -> Reach {
        let mut here = self;
        for (steps, step) in path.0.iter().enumerate() {
            let next = match (&here.kind, step) {
                (Kind::Null(_), _) => return Reach::Null,
                (Kind::Set(_) | Kind::Unknown(_), _) => return Reach::There(steps),
                (Kind::Object(f) | Kind::Map(f), ValueStep::Attribute(name) | ValueStep::Key(name)) => f.get(name),
                (Kind::List(s) | Kind::Tuple(s), ValueStep::Index(i)) => {
                    usize::try_from(*i).ok().and_then(|i| s.items().get(i))
                }
                _ => None,
            };
            let Some(next) = next else { return Reach::Lost(steps) };
            here = next;
        }
        Reach::There(path.0.len())
    }
}

fn unmark_into(value: &Value, found: &mut dyn FnMut(&Path, &Marks), path: &mut Path) -> Value {
    if !value.deep().marked {
        return value.clone();
    }
    let (bare, marks) = value.unmark();
    if !marks.is_empty() {
        found(path, &marks);
    }
    let mut parts = Vec::new();
    for (step, part) in bare.parts() {
        if let Some(step) = &step {
            path.0.push(step.clone());
        }
        parts.push(unmark_into(part, found, path));
        if step.is_some() {
            path.0.pop();
        }
    }
    if parts.is_empty() { bare } else { bare.retagged(parts) }
}

fn mark_into(value: &Value, marks: &[(&[ValueStep], &Marks)]) -> Value {
    if marks.is_empty() {
        return value.clone();
    }
    let mut here = value.clone();
    let deeper = by_first_step(marks);
    #[cfg(test)]
    tests::STEPS.with(|steps| steps.set(steps.get() + marks.len()));
    if !deeper.is_empty() && !matches!(value.kind, Kind::Set(_)) {
        let mut changed = false;
        let parts = value.parts();
        let mut marked: Vec<Value> = Vec::with_capacity(parts.len());
        #[cfg(test)]
        tests::STEPS.with(|steps| steps.set(steps.get() + parts.len()));
        for (step, part) in parts {
            let below = step.as_ref().and_then(|step| deeper.get(&FirstStep::of(step)));
            let next = below.map_or_else(|| part.clone(), |below| mark_into(part, below.found()));
            changed |= below.is_some() && !next.is_same_object(part);
            marked.push(next);
        }
        if changed {
            here = here.retagged(marked);
        }
    }
    for (_, found) in marks.iter().filter(|(path, _)| path.is_empty()) {
        here = here.mark(found);
    }
    // These steps do not exist in the value, or lead into a set or an unknown value. Null has no parts.
    if !matches!(here.kind, Kind::Null(_)) {
        let lost = deeper.values().filter(|below| !below.is_found.get()).flat_map(|below| &below.paths);
        let lost = lost.fold(Marks::NONE, |all, (_, marks)| all.union(marks));
        if !lost.is_empty() {
            here = here.mark(&lost);
        }
    }
    here
}

/// The paths that begin with the same step, without that step.
#[derive(Default)]
struct Below<'m> {
    paths: Vec<(&'m [ValueStep], &'m Marks)>,
    /// Whether the value has the step.
    is_found: Cell<bool>,
}

impl<'m> Below<'m> {
    fn found(&self) -> &[(&'m [ValueStep], &'m Marks)] {
        self.is_found.set(true);
        &self.paths
    }
}

/// Groups paths by their first step, so that each part is visited once, however many paths there are.
fn by_first_step<'m>(marks: &[(&'m [ValueStep], &'m Marks)]) -> FxHashMap<FirstStep<'m>, Below<'m>> {
    let mut found: FxHashMap<FirstStep<'m>, Below<'m>> = FxHashMap::default();
    for (path, marks) in marks {
        if let Some((first, rest)) = path.split_first() {
            found.entry(FirstStep::of(first)).or_default().paths.push((rest, *marks));
        }
    }
    found
}

/// The first step of a path, for comparison. Paths from the state and from providers do not distinguish map keys from
/// attribute names.
#[derive(PartialEq, Eq, Hash)]
enum FirstStep<'a> {
    Name(&'a str),
    Index(u64),
}

impl FirstStep<'_> {
    fn of(step: &ValueStep) -> FirstStep<'_> {
        match step {
            ValueStep::Attribute(name) | ValueStep::Key(name) => FirstStep::Name(name),
            ValueStep::Index(index) => FirstStep::Index(*index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        /// The number of paths and parts that marking has visited.
        pub(super) static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn steps_grow_with_the_number_of_paths() {
        let steps = |count: u64, lost: bool| {
            let inner = |n: u64| Value::object([("a", Value::int(n as i64)), ("b", Value::string("x"))]);
            let list = Value::tuple((0..count).map(inner).collect());
            let value = Value::object([("list", list)]);
            let list = Path::ROOT.attribute("list");
            let path = |n: u64| list.with(ValueStep::Index(n)).attribute(if lost { "gone" } else { "a" });
            let marks: Vec<_> = (0..count).map(|n| (path(n), Marks::SENSITIVE)).collect();
            STEPS.with(|steps| steps.set(0));
            let marked = value.mark_paths(&marks);
            assert_eq!(marked.unmark_with_paths().1.len() as u64, count);
            STEPS.with(Cell::get)
        };
        for lost in [false, true] {
            let (few, many) = (steps(100, lost), steps(1_000, lost));
            assert!(many <= 10 * few, "{few} steps for 100 paths, {many} for 1,000");
        }
    }
}
