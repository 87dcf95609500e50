//! The order of `moved` statements.
//!
//! Only statements about the same modules and resources can affect each other, so statements are indexed by name and
//! key. If they are independent of each other, the time is linear.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use weft_graph_format::address::{InstanceKey, Resource};
use weft_graph_format::diagnostic::Diagnostic;

use super::{Pattern, Statement, problems};

/// The statements in the order in which they run.
///
/// # Errors
/// Returns an error if statements form a cycle.
pub fn in_order(statements: &[Statement]) -> Result<Vec<&Statement>, Diagnostic> {
    let mut waiting = vec![0_usize; statements.len()];
    let mut later: Vec<Vec<usize>> = vec![Vec::new(); statements.len()];
    for (first, second) in candidates(statements) {
        if statements[first].precedes(&statements[second]) {
            later[first].push(second);
            waiting[second] += 1;
        }
    }
    let mut ready: BTreeSet<usize> = (0..statements.len()).filter(|index| waiting[*index] == 0).collect();
    let mut order = Vec::with_capacity(statements.len());
    while let Some(next) = ready.pop_first() {
        order.push(&statements[next]);
        for other in &later[next] {
            waiting[*other] -= 1;
            if waiting[*other] == 0 {
                ready.insert(*other);
            }
        }
    }
    if order.len() == statements.len() {
        return Ok(order);
    }
    Err(problems::cyclic_moves(
        statements.iter().zip(waiting).filter(|(_, waiting)| *waiting > 0).map(|(statement, _)| statement),
    ))
}

/// Pairs of statements in which the first statement may have to precede the second. The *ends* of a statement are its
/// `from` and `to` addresses. The statements of a pair share an end, or an end of one statement is inside an end of the
/// other statement.
fn candidates(statements: &[Statement]) -> FxHashSet<(usize, usize)> {
    let (mut by_source, mut by_target) = (Ends::default(), Ends::default());
    for (index, statement) in statements.iter().enumerate() {
        by_source.insert(&statement.pattern(&statement.from), index);
        by_target.insert(&statement.pattern(&statement.to), index);
    }
    let mut found = FxHashSet::default();
    for (index, statement) in statements.iter().enumerate() {
        for end in [&statement.from, &statement.to] {
            let pattern = statement.pattern(end);
            by_source.around(&pattern, &mut |other| {
                found.insert((index, other));
            });
            by_target.around(&pattern, &mut |other| {
                found.insert((other, index));
            });
        }
    }
    found.retain(|(first, second)| first != second);
    found
}

/// The names of an end: modules, and the resource.
type EndNames<'a> = (Vec<&'a SmolStr>, Option<&'a Resource>);

/// Ends of statements by their names.
#[derive(Default)]
struct Ends<'a>(FxHashMap<EndNames<'a>, Vec<Group<'a>>>);

/// Ends with the same names and with keys at the same positions.
struct Group<'a> {
    /// The positions with keys. Other positions match every key.
    places: Vec<usize>,
    by_keys: FxHashMap<Vec<&'a InstanceKey>, Vec<usize>>,
}

impl<'a> Ends<'a> {
    fn insert(&mut self, pattern: &Pattern<'a>, index: usize) {
        let names = pattern.modules.iter().map(|(name, _)| *name).collect();
        let groups = self.0.entry((names, pattern.resource.map(|(resource, _)| resource))).or_default();
        let keys = keys(pattern);
        let places: Vec<usize> = (0..keys.len()).filter(|place| keys[*place].is_some()).collect();
        let group = match groups.iter().position(|group| group.places == places) {
            Some(known) => &mut groups[known],
            None => {
                groups.push(Group { places, by_keys: FxHashMap::default() });
                let last = groups.len() - 1;
                &mut groups[last]
            }
        };
        group.by_keys.entry(keys.into_iter().flatten().collect()).or_default().push(index);
    }

    /// Visits the ends whose names are those of a pattern, or of a module around it, and whose keys match.
    fn around(&self, pattern: &Pattern<'a>, found: &mut dyn FnMut(usize)) {
        let names: Vec<&SmolStr> = pattern.modules.iter().map(|(name, _)| *name).collect();
        for length in 1..=names.len() {
            self.fitting(&(names[..length].to_vec(), None), &module_keys(pattern, length), found);
        }
        if let Some((resource, _)) = pattern.resource {
            let keys = keys(pattern);
            self.fitting(&(names, Some(resource)), &keys, found);
        }
    }

    fn fitting(&self, names: &EndNames<'a>, keys: &[Option<&'a InstanceKey>], found: &mut dyn FnMut(usize)) {
        for group in self.0.get(names).into_iter().flatten() {
            let wanted: Option<Vec<&InstanceKey>> = group.places.iter().map(|place| keys[*place]).collect();
            match wanted {
                Some(wanted) => group.by_keys.get(&wanted).into_iter().flatten().for_each(|index| found(*index)),
                // A position without a key matches every key.
                None => group.by_keys.values().flatten().for_each(|index| found(*index)),
            }
        }
    }
}

/// The keys of the outermost modules of a pattern.
fn module_keys<'a>(pattern: &Pattern<'a>, length: usize) -> Vec<Option<&'a InstanceKey>> {
    pattern.modules[..length].iter().map(|(_, key)| *key).collect()
}

/// The keys of all modules, and of the resource if there is one.
fn keys<'a>(pattern: &Pattern<'a>) -> Vec<Option<&'a InstanceKey>> {
    let mut keys = module_keys(pattern, pattern.modules.len());
    keys.extend(pattern.resource.map(|(_, key)| key));
    keys
}

#[cfg(test)]
mod tests {
    use super::super::tests::statement;
    use super::*;

    /// All pairs, found by comparing all statements with each other.
    fn pairs(statements: &[Statement]) -> BTreeSet<(usize, usize)> {
        let all = (0..statements.len()).flat_map(|a| (0..statements.len()).map(move |b| (a, b)));
        all.filter(|(a, b)| a != b && statements[*a].precedes(&statements[*b])).collect()
    }

    #[test]
    fn all_pairs_of_related_statements_are_found() {
        let statements: Vec<Statement> = [
            ("", "a.x", "a.y"),
            ("", "a.y", "a.z"),
            ("", "a.x[0]", "a.w"),
            ("", "a.w", "a.v[\"k\"]"),
            ("", "module.m", "module.n"),
            ("", "module.n[0]", "module.n[\"k\"]"),
            ("", "module.n[\"k\"].a.x", "a.u"),
            ("n", "a.x", "a.y"),
            ("n", "a.x[1]", "module.o.a.x[1]"),
            ("n", "module.o", "module.p"),
            ("", "module.n[0].module.p[1].a.x", "module.q.a.x"),
            ("q", "a.x", "a.y[3]"),
        ]
        .iter()
        .map(|(base, from, to)| statement(base, from, to))
        .collect();
        let found = candidates(&statements);
        let precede = pairs(&statements);
        assert!(precede.len() > 8, "{precede:?}");
        assert!(
            precede.iter().all(|pair| found.contains(pair)),
            "{:?}",
            precede.difference(&found.into_iter().collect())
        );
    }

    #[test]
    fn steps_grow_with_the_number_of_statements() {
        let forms: [fn(usize) -> (String, String); 3] = [
            |n| (format!("a.x{n}"), format!("a.y{n}")),
            |n| (format!("a.x[{n}]"), format!("a.x[\"k{n}\"]")),
            |n| (format!("module.m[{n}]"), format!("module.m[\"k{n}\"]")),
        ];
        for form in forms {
            for base in ["", "b"] {
                let count = |statements: usize| {
                    let of = |n| {
                        let (from, to) = form(n);
                        statement(base, &from, &to)
                    };
                    candidates(&(0..statements).map(of).collect::<Vec<_>>()).len()
                };
                let (few, many) = (count(100), count(1_000));
                assert!(many <= 10 * few.max(100), "{few} pairs of 100 statements, {many} of 1,000");
            }
        }
    }
}
