//! Joins diagnostics with the same summary.

use indexmap::IndexMap;
use weft_graph_format::diagnostic::{Diagnostic, Severity};

use crate::render::counted::counted;

/// Returns the diagnostics in their order. `warnings` and `errors` select the severities to consolidate. If several
/// consolidated diagnostics have the same summary, only the first one remains. Its detail gives the number of the
/// omitted ones.
pub fn consolidated(problems: &[Diagnostic], warnings: bool, errors: bool) -> Vec<Diagnostic> {
    let mut found: IndexMap<(Severity, String, usize), (Diagnostic, usize)> = IndexMap::new();
    for (place, problem) in problems.iter().enumerate() {
        let together = match problem.severity {
            Severity::Warning => warnings,
            Severity::Error => errors,
        };
        let key = (problem.severity, problem.summary.clone(), if together { 0 } else { place + 1 });
        found.entry(key).and_modify(|(_, others)| *others += 1).or_insert_with(|| (problem.clone(), 0));
    }
    found
        .into_values()
        .map(|(mut problem, others)| {
            if others > 0 {
                let kind = match problem.severity {
                    Severity::Warning => "warning",
                    Severity::Error => "error",
                };
                let more = counted(others, &format!("more similar {kind}"));
                problem.detail = format!("{}\n\n(and {more} elsewhere)", problem.detail);
            }
            problem
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_grouped_by_summary() {
        let problems = [
            Diagnostic::warning("W", "one"),
            Diagnostic::error("E", "a"),
            Diagnostic::warning("W", "two"),
            Diagnostic::error("E", "b"),
            Diagnostic::warning("W", "three"),
        ];
        let all = consolidated(&problems, true, false);
        assert_eq!(all.len(), 3);
        assert_eq!(all[0].detail, "one\n\n(and 2 more similar warnings elsewhere)");
        assert_eq!(consolidated(&problems, false, true).len(), 4);
    }
}
