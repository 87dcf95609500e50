//! Tests the main property of formulas, for generated expressions and results. The expression is evaluated over unknown
//! inputs, and the resulting formula is run. This gives the same value as evaluating over known results, including
//! marks and errors. What the plan promises about a value (type, not null, prefix, bounds) holds for the final value.
//!
//! One difference is deliberate: an unused part may fail silently (`[a, tonumber(b)][0]`). So generated expressions
//! use a part of a container only if no part of the container can fail.
//!
//! Inputs are unknown, unknown and sensitive, partly known, of unknown type, or provisional: known at plan, with a
//! different value at apply.
//!
//! `WEFT_CASES` sets the number of cases, and `WEFT_SEED` the seed: a number, or `random`. The seed is printed.

mod calls;
mod compare;
mod generate;
mod inputs;
mod worlds;

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use weft_expressions::compile::{Fault, run};
use weft_expressions::convert::convert;
use weft_expressions::evaluate::evaluate;
use weft_expressions::functions;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::marks::Marks;
use weft_graph_format::source::Position;
use weft_graph_format::value::Value;
use weft_syntax::parse_expression;

use compare::{broken_promise, loosely_equal, operations_of, origins_of, settled};
use generate::{Choices, anything};
use inputs::{Inputs, results};
use worlds::{ApplyResults, PlanScope};

/// Enough cases to cover each function a few hundred times, in a few seconds.
const CASES: u32 = 20_000;

/// The default seed. It is fixed, so that the test is deterministic.
const SEED: u64 = 2026;

/// The maximum depth of generated expressions.
const DEPTH: usize = 4;

/// Constructs whose type may be open at plan.
const OPEN_TYPES: &[&str] = &["r.any", "for ", "decode(", "try(", "regex", "template", "[*]", "merge("];

fn text_has(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// The inputs and the expression that the bytes encode.
fn generated(bytes: &[u8]) -> (Inputs, String) {
    let mut choices = Choices::new(bytes);
    let inputs = results(&mut choices);
    let text = anything(&mut choices, DEPTH);
    (inputs, text)
}

fn check(text: &str, inputs: &Inputs) -> Result<(), String> {
    let (expression, problems) = parse_expression("test", Arc::from(text), Position::START);
    if !problems.is_empty() {
        return Err(format!("{text} does not parse: {problems:?}"));
    }
    let (known, known_problems) = evaluate(&expression, &PlanScope::new(inputs, true));
    let known_failed = known_problems.iter().any(Diagnostic::is_error);
    let (symbolic, problems) = evaluate(&expression, &PlanScope::new(inputs, false));
    let story = || format!("{text}\n  with {inputs:?}\n  known {known:?} {known_problems:?}\n  plan {symbolic:?}");
    if let Some(problem) = problems.iter().find(|p| p.is_error()) {
        // Three kinds of errors may occur at plan without occurring at apply. The first are errors of provisional
        // values. The second are errors of an operand that an unknown operand may make irrelevant. The third are errors
        // of types, if a branch fails at apply and therefore has no type. All other errors at plan also occur at apply.
        let typed = problem.summary == "Inconsistent conditional result types"
            // As in OpenTofu, an element of unknown type has no common type with a tuple.
            || text_has(text, OPEN_TYPES) | text.contains(" ? ")
                && text_has(&problem.detail, &["any single type", "the same type"]);
        if !text_has(text, &["provisional.", "&&", "||"]) && !known_failed && !typed {
            return Err(format!("an error at plan only: {problem:?}\n  {}", story()));
        }
        return Ok(());
    }
    if symbolic.deep().unexplained {
        return Err(format!("an unknown without a formula\n  {}", story()));
    }
    // Elements of a set may turn out to be equal. As in OpenTofu, loops over the set do not account for that.
    let sets = text_has(text, &["toset(", "setunion(", "setintersection(", "setsubtract(", "setproduct("]);
    // A branch with an open type contributes to the type of the result, but the chosen branch shows its own type.
    let unified = text_has(text, &[" ? ", "coalesce(", "tolist(", "toset(", "tomap(", "distinct(", "chunklist("]);
    let open = unified && text_has(text, OPEN_TYPES);
    // A failing branch has no type once results are known.
    let typed = || match convert(&symbolic, &known.ty()) {
        Ok(converted) if text.contains(" ? ") => converted,
        _ => symbolic.clone(),
    };
    if !known_failed
        && !sets
        && !open
        && !text.contains("provisional.")
        && !text_has(text, &["can(", "try("])
        && let Some(broken) = broken_promise(&typed(), &known)
    {
        return Err(format!("the plan promised otherwise: {broken}\n  {}", story()));
    }
    let formula = symbolic.to_formula();
    let origins = origins_of(symbolic.deep_origin());
    let operations = operations_of(&formula);
    if !operations.is_subset(&origins) {
        return Err(format!("waits for {origins:?}, reads {operations:?}\n  {}", story()));
    }
    match run(&formula, &ApplyResults::new(inputs)) {
        Ok(value) => {
            // A branch with a failing part has a type in evaluation, but not at apply.
            let unshared = ["any single type", "must have consistent types"];
            let shared = |p: &Diagnostic| text_has(&p.detail, &unshared) && text.contains(" ? ");
            let inconsistent = |p: &Diagnostic| p.summary == "Inconsistent conditional result types" || shared(p);
            if known_failed && known_problems.iter().all(inconsistent) {
                return Ok(());
            }
            if known_failed {
                return Err(format!("ran to {value:?}\n  {}", story()));
            }
            // Some marks are found only at apply: by `try`, in a loop, or from a list of unknown length. Values that
            // were known at plan do not have these marks. A conditional also has the marks of the branch that was not
            // chosen at plan, even if that branch fails. In these cases, only the content is compared.
            let secret = text_has(text, &["secret", "sensitive("]);
            let branched = text_has(text, &[" ? ", "%{ if", "&&", "||"]);
            let late = branched || text_has(text, &["try(", "for "]);
            // A single value that becomes a tuple of one element also keeps its marks on the element.
            let single = text.contains("nonsensitive(") && text.contains("[*]");
            let (value, known) = if secret && (late || single) {
                (value.unmark_deep().0, known.unmark_deep().0)
            } else {
                (settled(&value, &Marks::NONE), settled(&known, &Marks::NONE))
            };
            // A provisional list may have a different type at apply, and lists of different types are never equal.
            let compared = branched && text.contains("provisional.") && text_has(text, &["!=", "=="]);
            let fits = |a: &Value, b: &Value| convert(a, &b.ty()).is_ok_and(|a| loosely_equal(&a, b));
            let converted = || fits(&value, &known) || fits(&known, &value);
            let asked = text.contains("issensitive(") && (branched || text_has(text, &["try(", "for "]));
            let same = value == known
                || compared
                || asked
                || branched && converted()
                || branched && loosely_equal(&value, &known);
            if !same {
                let (found, wanted) = (value.ty(), known.ty());
                return Err(format!("ran to {value:?} of {found}, not {known:?} of {wanted}\n  {}", story()));
            }
        }
        Err(Fault::Skipped) => return Err(format!("was skipped\n  {}", story())),
        Err(Fault::Failed(found)) => {
            let summaries = |problems: &[Diagnostic]| {
                problems.iter().filter(|p| p.is_error()).map(|p| p.summary.clone()).collect::<BTreeSet<_>>()
            };
            // The reported error may differ. A loop body reports the error that was found at plan, even if another
            // error comes first with known results. A conditional checks types last. An error in a template has its own
            // source range. A failing branch that is not chosen has no type in evaluation. At apply, it has a type if
            // the type was known at plan.
            let shared = |p: &Diagnostic| p.detail.contains("any single type");
            let inconsistent = |p: &Diagnostic| p.summary == "Inconsistent conditional result types" || shared(p);
            if text.contains(" ? ") && found.iter().all(inconsistent) {
                return Ok(());
            }
            // A conversion inside an argument reports its own error instead of an error of the call.
            let converted = found.iter().all(|p| p.summary == "Unsuitable value type");
            let several = converted || text_has(text, &["for ", " ? ", "template"]);
            if !known_failed || !several && summaries(&found).is_disjoint(&summaries(&known_problems)) {
                return Err(format!("failed with {found:?}\n  {}", story()));
            }
        }
    }
    Ok(())
}

fn seed() -> u64 {
    match std::env::var("WEFT_SEED").as_deref() {
        Ok("random") => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            now.as_nanos() as u64
        }
        Ok(text) => text.parse().unwrap_or(SEED),
        Err(_) => SEED,
    }
}

fn cases() -> u32 {
    std::env::var("WEFT_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES)
}

#[test]
fn a_formula_yields_what_evaluation_yields() {
    let seed = seed();
    println!("WEFT_SEED={seed} WEFT_CASES={}", cases());
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { cases: cases(), failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let strategy = proptest::collection::vec(proptest::prelude::any::<u8>(), 0..240);
    let outcome = runner.run(&strategy, |bytes| {
        let (inputs, text) = generated(&bytes);
        check(&text, &inputs).map_err(proptest::test_runner::TestCaseError::fail)
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(story, _)) => panic!("with WEFT_SEED={seed}: {story}"),
        Err(TestError::Abort(reason)) => panic!("with WEFT_SEED={seed}: {reason}"),
    }
}

/// Every function is either generated or excluded by name.
#[test]
fn all_functions_are_generated() {
    let called = |name: &str| {
        let call = format!("{name}(");
        let stands = |text: &str| {
            text.match_indices(&call)
                .any(|(at, _)| !text[..at].ends_with(|before: char| before.is_ascii_alphanumeric() || before == '_'))
        };
        calls::patterns().any(stands)
    };
    let left_out: BTreeSet<&str> = calls::LEFT_OUT.iter().map(|(name, _)| *name).collect();
    let missing: Vec<&str> =
        functions::all().iter().map(|f| f.name).filter(|name| !called(name) && !left_out.contains(name)).collect();
    assert_eq!(missing, Vec::<&str>::new());
    let both: Vec<&&str> = left_out.iter().filter(|name| called(name)).collect();
    assert_eq!(both, Vec::<&&str>::new());
}

/// The share of generated expressions that are meaningful: their formula has a value, or an error at apply.
#[test]
fn most_generated_expressions_are_meaningful() {
    let mut state = SEED;
    let mut counts = [0usize; 4];
    for _ in 0..2_000 {
        let bytes: Vec<u8> = (0..240)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        let (inputs, text) = generated(&bytes);
        let (expression, _) = parse_expression("test", Arc::from(text.as_str()), Position::START);
        let (symbolic, problems) = evaluate(&expression, &PlanScope::new(&inputs, false));
        let kind = if problems.iter().any(Diagnostic::is_error) {
            0
        } else if !symbolic.deep().formula {
            1
        } else if run(&symbolic.to_formula(), &ApplyResults::new(&inputs)).is_ok() {
            2
        } else {
            3
        };
        counts[kind] += 1;
    }
    let [plan_errors, constants, values, errors] = counts;
    println!("errors at plan {plan_errors}, constants {constants}, values {values}, errors at apply {errors}");
    assert!(values > 600 && errors > 150 && plan_errors < 1_000, "{counts:?}");
}
