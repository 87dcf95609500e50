//! Expected failures of a `run` block. Expected failures that happen are removed from the problems of the block's run.
//! Missing failures are reported as errors.

use super::problems;
use weft_evaluator::config::test_file::ExpectedFailure;
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::diagnostic::{Diagnostic, Severity};

/// The kind of object that a condition belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConditionOwner {
    Variable,
    Check,
    Other,
}

/// The kind of an object with conditions, and whether it is in the root module of the tested configuration.
fn kind_of(object: &str) -> (ConditionOwner, bool) {
    let in_root = !object.starts_with("module.");
    let own = object.rsplit_once("].").map_or(object, |(_, rest)| rest);
    let parts: Vec<&str> = own.split('.').collect();
    let word = match parts.as_slice() {
        [.., word, _] => word,
        _ => "",
    };
    let kind = match word {
        "check" => ConditionOwner::Check,
        "var" => ConditionOwner::Variable,
        _ => ConditionOwner::Other,
    };
    (kind, in_root)
}

/// Whether a problem is about an assertion or the data source of a check block.
pub fn is_of_check(problem: &Diagnostic) -> bool {
    !problem.checked.is_empty() && kind_of(&problem.checked).0 == ConditionOwner::Check
}

/// Whether an expectation refers to this object: it names the object itself, or its resource.
fn means(expected: &str, object: &str) -> bool {
    expected == object
        || object
            .parse::<ResourceInstance>()
            .is_ok_and(|instance| instance.module.is_root() && instance.config().to_string() == expected)
}

/// Removes expected failures, turns other problems of check blocks into errors, and adds errors for missing failures.
pub fn held_against(expected: &[ExpectedFailure], problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let twice = |place: usize| expected[..place].iter().any(|one| one.object == expected[place].object);
    // If several expectations name the same object, only the first expectation must be met.
    let mut came: Vec<bool> = (0..expected.len()).map(twice).collect();
    let mut left = Vec::new();
    for mut problem in problems {
        if problem.checked.is_empty() {
            left.push(problem);
            continue;
        }
        let (kind, in_root) = kind_of(&problem.checked);
        let counts = in_root && (kind == ConditionOwner::Check || problem.is_error());
        let found = expected.iter().position(|one| counts && means(&one.object, &problem.checked));
        match found {
            // An expectation about the instance takes precedence over an expectation about the whole resource.
            Some(place) => {
                let exact = expected.iter().position(|one| one.object == problem.checked.as_str());
                came[exact.unwrap_or(place)] = true;
            }
            None => {
                if kind == ConditionOwner::Check {
                    problem.severity = Severity::Error;
                }
                left.push(problem);
            }
        }
    }
    let missed = expected.iter().zip(&came).filter(|(_, came)| !**came);
    left.extend(missed.map(|(one, _)| problems::missing_failure(&one.object).at(one.range.clone())));
    left
}

/// The problems of a plan that is to be applied. Unlike [`held_against`], this function removes no expected failures.
/// Adds a warning for each expected failure of a variable, because this failure prevents the apply.
pub fn of_planning(expected: &[ExpectedFailure], mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let invalid: Vec<Diagnostic> = problems
        .iter()
        .filter(|problem| kind_of(&problem.checked).0 == ConditionOwner::Variable)
        .filter(|problem| expected.iter().any(|one| means(&one.object, &problem.checked)))
        .map(|problem| problems::invalid_variable_before_apply(&problem.checked))
        .collect();
    problems.extend(invalid);
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_graph_format::diagnostic::has_errors;
    use weft_graph_format::source::SourceRange;

    fn expecting(objects: &[&str]) -> Vec<ExpectedFailure> {
        let one =
            |object: &&str| ExpectedFailure { object: (*object).into(), range: SourceRange::default(), problem: None };
        objects.iter().map(one).collect()
    }

    fn summaries(expected: &[&str], failed: &[(&str, Severity)]) -> Vec<String> {
        let problems = failed.iter().map(|(object, severity)| {
            let problem = Diagnostic::error(format!("{object} failed"), "").checking(object);
            Diagnostic { severity: *severity, ..problem }
        });
        let left = held_against(&expecting(expected), problems.collect());
        left.iter().filter(|problem| problem.is_error()).map(|problem| problem.summary.clone()).collect()
    }

    #[test]
    fn expected_failures_are_removed_and_missing_ones_reported() {
        use Severity::{Error, Warning};
        let missed = "Missing expected failure";
        type Case<'a> = (&'a [&'a str], &'a [(&'a str, Severity)], &'a [&'a str]);
        let cases: &[Case<'_>] = &[
            (&["var.x"], &[("var.x", Error)], &[]),
            (&["var.x"], &[], &[missed]),
            (&["output.o"], &[("module.m.output.o", Error)], &["module.m.output.o failed", missed]),
            (&["a.b"], &[("a.b[0]", Error), ("a.b[1]", Error)], &[]),
            (&["a.b[0]"], &[("a.b[1]", Error)], &["a.b[1] failed", missed]),
            (&["a.b", "a.b[0]"], &[("a.b[0]", Error), ("a.b[1]", Error)], &[]),
            (&["check.c"], &[("check.c", Warning)], &[]),
            (&[], &[("check.c", Warning)], &["check.c failed"]),
            (&[], &[("module.m.check.c", Warning)], &["module.m.check.c failed"]),
            (&[], &[("module.m[\"x.y\"].check.c", Warning)], &["module.m[\"x.y\"].check.c failed"]),
            (&["output.o"], &[("output.o", Warning)], &[missed]),
            (&["a.b", "a.b"], &[("a.b", Error)], &[]),
        ];
        for (expected, failed, left) in cases {
            assert_eq!(&summaries(expected, failed), left, "{expected:?} {failed:?}");
        }
    }

    #[test]
    fn an_invalid_variable_prevents_an_apply() {
        let problems = vec![Diagnostic::error("Invalid value for variable", "").checking("var.x")];
        let said = of_planning(&expecting(&["var.x"]), problems);
        assert_eq!((said.len(), has_errors(&said)), (2, true));
    }
}
