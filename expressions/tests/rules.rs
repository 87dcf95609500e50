//! Tests individual rules of formulas: provisional values, sets, templates at apply, impure calls, loops, isolated
//! failures.

use std::collections::BTreeMap;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use weft_expressions::compile::{Fault, Program, ResultSource, run};
use weft_expressions::evaluate::evaluate;
use weft_expressions::function_table::FunctionTable;
use weft_expressions::functions::{self, CallContext, FunctionError, Impure};
use weft_expressions::scope::{ProviderFunction, ResolvedReference, Scope};
use weft_expressions::symbolic::replace_formulas;
use weft_graph_format::address::FunctionProvider;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, FormulaOp, Occurrence, Parameter};
use weft_graph_format::graph::OperationId;
use weft_graph_format::marks::Marks;
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::source::Position;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Refinement, Value};
use weft_syntax::{Traversal, Tree, parse_expression};

#[derive(Default)]
struct World {
    roots: BTreeMap<&'static str, Value>,
    results: BTreeMap<u32, Value>,
    skipped: Vec<u32>,
    impure: BTreeMap<u32, Value>,
    run_impure: bool,
    occurrences: AtomicU32,
    parameters: AtomicU32,
}

impl World {
    /// Adds a name that is unknown at plan and has this value at apply.
    fn unknown(mut self, name: &'static str, ty: Type, result: Value) -> World {
        let id = self.results.len() as u32;
        let formula = Formula::result(OperationId(id), Path::ROOT, ty.clone());
        let value = Value::refined(ty, Refinement::not_null()).with_formula(Some(formula));
        self.roots.insert(name, value.add_origin(Some(&Origin::after(OperationId(id)))));
        self.results.insert(id, result);
        self
    }

    /// Adds a name with different values at plan and at apply.
    fn provisional(mut self, name: &'static str, planned: Value, result: Value) -> World {
        let id = self.results.len() as u32;
        let formula = Formula::result(OperationId(id), Path::ROOT, planned.ty());
        let value = replace_formulas(&planned, &formula).add_origin(Some(&Origin::after(OperationId(id))));
        self.roots.insert(name, value);
        self.results.insert(id, result);
        self
    }

    fn plan(&self, text: &str) -> (Value, Vec<Diagnostic>) {
        let (expression, problems) = parse_expression("test", Arc::from(text), Position::START);
        assert!(problems.is_empty(), "{text}: {problems:?}");
        evaluate(&expression, self)
    }

    fn planned(&self, text: &str) -> Value {
        let (value, problems) = self.plan(text);
        assert!(problems.is_empty(), "{text}: {problems:?}");
        value
    }

    /// The value of the expression at apply.
    fn applied(&self, text: &str) -> Result<Value, Fault> {
        run(&self.planned(text).to_formula(), self)
    }
}

impl Scope for World {
    fn resolve(&self, tree: &Tree, traversal: &Traversal) -> Result<ResolvedReference, Vec<Diagnostic>> {
        match self.roots.get(traversal.root.text.as_str()) {
            Some(value) => Ok(ResolvedReference { value: value.clone(), consumed: 0 }),
            None => Err(vec![Diagnostic::error("Unknown name", "").at(tree.range(traversal.root.span))]),
        }
    }

    fn context(&self) -> CallContext<'_> {
        let impure = if self.run_impure { Impure::Run } else { Impure::Defer };
        CallContext {
            impure,
            base_directory: FilePath::new(""),
            ..CallContext::new(&self.occurrences, &self.parameters)
        }
    }

    fn new_parameter(&self) -> Parameter {
        Parameter(self.parameters.fetch_add(1, Ordering::Relaxed))
    }

    fn provider_function(&self, name: &str) -> Result<ProviderFunction, Diagnostic> {
        Err(Diagnostic::error("No provider", name))
    }

    fn call_provider_function(&self, _: &ProviderFunction, _: &[Value]) -> Result<Value, FunctionError> {
        Err(FunctionError::new("no provider"))
    }

    fn functions(&self) -> Option<&'static FunctionTable> {
        Some(functions::built_in())
    }
}

impl ResultSource for World {
    fn result(&self, operation: OperationId) -> Result<Value, Fault> {
        if self.skipped.contains(&operation.0) {
            return Err(Fault::Skipped);
        }
        self.results.get(&operation.0).cloned().ok_or(Fault::Skipped)
    }

    fn name(&self, operation: OperationId) -> Option<String> {
        Some(format!("lab_thing.t{}", operation.0))
    }

    fn input(&self, _: &str) -> Result<Value, Fault> {
        Err(Fault::Skipped)
    }

    fn impure(&self, occurrence: Occurrence) -> Option<Value> {
        self.impure.get(&occurrence.0).cloned()
    }

    fn context(&self) -> CallContext<'_> {
        Scope::context(self)
    }

    fn provider_function(&self, _: &FunctionProvider, name: &str) -> Result<ProviderFunction, Diagnostic> {
        Err(Diagnostic::error("No provider", name))
    }

    fn call_provider_function(&self, _: &ProviderFunction, _: &[Value]) -> Result<Value, FunctionError> {
        Err(FunctionError::new("no provider"))
    }
}

fn strings(items: &[&str]) -> Value {
    Value::list(Type::String, items.iter().map(Value::string).collect())
}

#[test]
fn a_provisional_value_is_never_folded() {
    let world = World::default().provisional("flag", Value::bool(true), Value::bool(false)).provisional(
        "names",
        strings(&["a"]),
        strings(&["b", "c"]),
    );
    for (text, at_plan, at_apply) in [
        ("flag ? 1 : 2", "1", "2"),
        ("\"<${flag}>\"", "\"<true>\"", "\"<false>\""),
        ("[for n in names : upper(n)]", "[\"A\"]", "[\"B\", \"C\"]"),
        ("length(names)", "1", "2"),
        ("names[0]", "\"a\"", "\"b\""),
        ("try(names[1], \"none\")", "\"none\"", "\"c\""),
        ("can(names[1])", "false", "true"),
        ("names[*]", "[\"a\"]", "[\"b\", \"c\"]"),
        ("!flag || names[0] == \"b\"", "false", "true"),
        ("max([1, 2, flag ? 3 : 4]...)", "3", "4"),
    ] {
        assert_eq!(format!("{:?}", world.planned(text)), at_plan, "{text} at plan");
        let applied = world.applied(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
        assert_eq!(format!("{applied:?}"), at_apply, "{text} at apply");
    }
}

#[test]
fn elements_of_a_set_may_turn_out_equal() {
    let world = World::default().unknown("x", Type::String, Value::string("a"));
    for (text, at_apply) in [
        ("length(toset([x, \"a\"]))", "1"),
        ("[for e in toset([x, \"a\"]) : e]", "[\"a\"]"),
        ("tolist(toset([x, \"b\", \"a\"]))", "[\"a\", \"b\"]"),
    ] {
        let applied = world.applied(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
        assert_eq!(format!("{applied:?}"), at_apply, "{text}");
    }
}

#[test]
fn the_error_of_a_branch_counts_only_if_it_is_taken() {
    let world =
        World::default().unknown("flag", Type::Bool, Value::bool(true)).unknown("off", Type::Bool, Value::bool(false));
    assert_eq!(world.applied("flag ? 1 : tonumber(\"x\")").ok(), Some(Value::int(1)));
    let fault = world.applied("off ? 1 : tonumber(\"x\")").expect_err("the branch that fails");
    assert!(matches!(fault, Fault::Failed(problems) if problems[0].summary == "Invalid function argument"));
}

#[test]
fn a_skipped_operation_is_not_caught_by_try() {
    let mut world = World::default().unknown("x", Type::String, Value::string("a"));
    world.skipped.push(0);
    assert_eq!(world.applied("try(tonumber(x), 1)"), Err(Fault::Skipped));
    assert_eq!(world.applied("can(x)"), Err(Fault::Skipped));
}

#[test]
fn each_leaf_waits_for_its_own_operation() {
    let world =
        World::default().unknown("a", Type::String, Value::string("1")).unknown("b", Type::String, Value::string("2"));
    let origin = world.planned("{ a = a, b = b }.a").deep_origin().expect("an origin");
    assert_eq!(format!("{origin:?}"), format!("{:?}", Origin::after(OperationId(0))));
    let both = world.planned("{ a = a, b = b }").deep_origin();
    assert_eq!(format!("{both:?}"), "Some(union of 2)");
    let merged = world.planned("merge({ a = a }, { b = b }).b").deep_origin().expect("an origin");
    assert_eq!(format!("{merged:?}"), format!("{:?}", Origin::after(OperationId(1))));
}

#[test]
fn a_template_known_at_apply_is_parsed_then() {
    let world = World::default().unknown("text", Type::String, Value::string("%{ for n in names }<${n}>%{ endfor }"));
    let applied = world.applied("templatestring(text, { names = [\"a\", \"b\"] })");
    assert_eq!(applied.ok(), Some(Value::string("<a><b>")));
}

#[test]
fn each_impure_call_has_its_own_occurrence() {
    let mut world = World::default();
    let value = world.planned("[uuid(), uuid()]");
    assert!(value.deep().unknown && !value.deep().unexplained);
    let mut occurrences = Vec::new();
    value.visit(&mut |_, part| {
        if let Some(FormulaOp::Call { occurrence: Some(found), .. }) = part.formula().map(Formula::op) {
            occurrences.push(found.0);
        }
    });
    assert_eq!(occurrences.len(), 2);
    assert_ne!(occurrences[0], occurrences[1]);
    world.impure.insert(occurrences[0], Value::string("first"));
    world.impure.insert(occurrences[1], Value::string("second"));
    let applied = run(&value.to_formula(), &world).expect("both are there");
    assert_eq!(format!("{applied:?}"), "[\"first\", \"second\"]");
}

#[test]
fn an_impure_call_in_a_symbolic_body_runs_once_an_iteration() {
    let mut world = World::default().unknown("names", Type::list(Type::String), strings(&["a", "b"]));
    let value = world.planned("[for n in names : uuid()]");
    world.run_impure = true;
    let applied = run(&value.to_formula(), &world).expect("a value");
    let items = applied.as_items().expect("a tuple");
    assert_eq!(items.len(), 2);
    assert_ne!(items[0], items[1]);
}

#[test]
fn formulas_yield_marked_values() {
    let world = World::default().unknown("x", Type::String, Value::string("a")).unknown(
        "names",
        Type::list(Type::String),
        strings(&["a"]),
    );
    for text in [
        "sensitive(x)",
        "\"${sensitive(x)}-\"",
        "{ a = sensitive(x) }.a",
        "sensitive({ a = x }).a",
        "[for n in names : sensitive(n)][0]",
    ] {
        let applied = world.applied(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
        assert_eq!(*applied.marks(), Marks::SENSITIVE, "{text}");
    }
    let bare = world.applied("nonsensitive(sensitive(x))").expect("a value");
    assert!(bare.marks().is_empty());
}

#[test]
fn shared_parts_of_formulas_run_once() {
    // Doubling a value thirty times is a chain of thirty nodes, not a tree of a billion.
    let world = World::default().unknown("x", Type::String, Value::string("a"));
    let mut value = world.planned("x");
    for _ in 0..30 {
        let scope = World { roots: BTreeMap::from([("x", value.clone())]), ..World::default() };
        value = scope.planned("substr(\"${x}${x}\", 0, 4)");
    }
    let program = Program::compile(&[value.to_formula()]);
    assert!(program.len() < 200, "{} nodes", program.len());
    assert_eq!(program.run(&world)[0].clone().ok(), Some(Value::string("aaaa")));
}

#[test]
fn deep_formulas_do_not_overflow_the_stack() {
    let world = World::default().unknown("x", Type::Number, Value::int(1));
    let chain = format!("x{}", " + 1".repeat(20_000));
    assert_eq!(world.applied(&chain).ok(), Some(Value::int(20_001)));
    let conditionals = format!("{}0", "x == 2 ? 5 : ".repeat(5_000));
    assert_eq!(world.applied(&conditionals).ok(), Some(Value::int(0)));
}

#[test]
fn errors_at_apply_have_a_source_range() {
    let world = World::default().unknown("m", Type::map(Type::String), Value::map(Type::String, BTreeMap::new()));
    let fault = world.applied("upper(m.missing)").expect_err("there is no such element");
    let Fault::Failed(problems) = fault else { panic!("skipped") };
    assert_eq!(problems[0].summary, "Missing map element");
    let subject = problems[0].subject.clone().expect("a place");
    assert_eq!((subject.start.column, subject.end.column), (8, 16));
}

#[test]
fn errors_at_apply_show_the_values_involved() {
    let object = Value::object([
        ("size", Value::int(3)),
        ("list", Value::list(Type::String, Vec::new())),
        ("key", Value::string("k").mark(&Marks::SENSITIVE)),
    ]);
    let world = World::default()
        .unknown("a", object.ty(), object)
        .unknown("b", Type::String, Value::string("x"))
        .unknown("c", Type::String, Value::string("secret").mark(&Marks::SENSITIVE));
    for (text, expected) in [
        ("a.list[a.size]", vec!["lab_thing.t0.list is empty list of string", "lab_thing.t0.size is 3"]),
        ("a.size + tonumber(b)", vec!["lab_thing.t1 is \"x\""]),
        ("tonumber(c) + tonumber(b)", vec!["lab_thing.t1 is \"x\"", "lab_thing.t2 has a sensitive value"]),
        ("a.list[tonumber(a.key)]", vec!["lab_thing.t0.key has a sensitive value"]),
        // A hidden value is not revealed by its parts.
        ("tonumber(\"${a.key}${b}\")", vec![]),
        ("tonumber(sensitive(b))", vec![]),
        ("[for n in [b] : tonumber(n)]", vec!["lab_thing.t1 is \"x\""]),
    ] {
        let fault = world.applied(text).expect_err(text);
        let Fault::Failed(problems) = fault else { panic!("{text}: skipped") };
        let mut told: Vec<String> =
            problems.iter().flat_map(|p| &p.values).map(|v| format!("{} {}", v.traversal, v.statement)).collect();
        told.sort();
        told.dedup();
        assert_eq!(told, expected, "{text}");
    }
}

#[test]
fn errors_show_the_values_involved() {
    let world = World::default().unknown("x", Type::String, Value::string("a"));
    let (_, problems) = world.plan("[for n in [\"a\"] : tonumber(n)][0] + (x == \"a\" ? 1 : 2)");
    assert_eq!(problems[0].summary, "Invalid function argument");
    assert_eq!(problems[0].values[0].traversal, "n");
    assert_eq!(problems[0].values[0].statement, "is \"a\"");
}

/// A failure or choice at plan that depends on an open type does not determine the result at apply.
#[test]
fn try_and_can_over_open_types_are_unknown() {
    let world = || {
        World::default()
            .unknown("text", Type::String, Value::string("a"))
            .unknown("yes", Type::Bool, Value::bool(true))
            .unknown("no", Type::Bool, Value::bool(false))
            .unknown("words", Type::list(Type::String), strings(&[]))
            .unknown("any", Type::Dynamic, Value::tuple(vec![Value::bool(true)]))
            .provisional("flag", Value::bool(true), Value::bool(false))
    };
    let text = |text: &str| Value::string(text);
    let one = || Value::object([("a", Value::int(1))]);
    let cases = [
        // A list whose elements turn out to be tuples has no common type with a list of strings.
        ("try(no ? tolist(regexall(\"(a)(-)?\", text)) : tolist([text]), \"f\")", text("f")),
        // The branch that is not chosen fails at apply, so its type does not matter.
        ("try(yes ? { a = 1 } : cidrcontains(text, text), \"f\")", one()),
        ("can(yes ? { a = 1 } : cidrcontains(text, text))", Value::bool(true)),
        // This branch does not fail, so its type matters.
        ("try(yes ? { a = 1 } : startswith(text, text), \"f\")", text("f")),
        // The parts of a constructor that do not fail have types.
        ("try(no ? [{ b = text }, tonumber(text)] : any, \"f\")", text("f")),
        (
            "try(no ? [text == text, tonumber(text)] : [true, 2], \"f\")",
            Value::tuple(vec![Value::bool(true), Value::int(2)]),
        ),
        // The comparison is decided, but it fails with its operand. The next argument of `try` has a different type.
        ("try([true] == transpose({ a = [for w in [text] : no ? w : null] }), \"f\")", text("f")),
        (
            "[for x in [\"u\"] : try([true] == transpose({ a = [for w in [text] : no ? w : null] }), x)]",
            Value::tuple(vec![text("u")]),
        ),
        (
            "try([for x in [text] : x if (yes ? { a = 1 } : range(2, no ? 1 : null, 2)) == null], \"f\")",
            Value::tuple(vec![]),
        ),
        ("try(tolist([text, no ? 1 : any]), \"f\")", text("f")),
    ];
    for (expression, wanted) in cases {
        let world = world();
        let planned = world.planned(expression);
        assert!(!planned.deep().unexplained, "{expression}");
        assert_eq!(world.applied(expression), Ok(wanted), "{expression}");
    }
}

/// A plan treats provisional values as known, but apply evaluates `try` and `can` over provisional values again.
#[test]
fn try_and_can_over_provisional_values_are_evaluated_again() {
    let world = World::default().provisional("names", strings(&[]), strings(&["a"]));
    let planned = world.planned("try(names[0], \"none\")");
    assert!(planned.same_unmarked(&Value::string("none")) && planned.formula().is_some(), "{planned:?}");
    assert_eq!(world.applied("try(names[0], \"none\")"), Ok(Value::string("a")));
    assert!(world.planned("can(names[0])").same_unmarked(&Value::bool(false)));
    assert_eq!(world.applied("can(names[0])"), Ok(Value::bool(true)));
}

/// The type of a formula may be open although its value shows the type. In this case, a conversion to the shown type
/// stays in the formula.
#[test]
fn a_conversion_to_the_shown_type_stays_in_the_formula() {
    let world = World::default().unknown("text", Type::String, Value::string("a"));
    let lists = "try([true] == transpose({ a = [for w in [text] : w == \"b\" ? w : null] }), \"12\")";
    assert_eq!(world.planned(lists).to_formula().ty(), &Type::Dynamic);
    let shown = format!("tostring({lists})");
    assert_eq!(world.applied(&shown), Ok(Value::string("12")));
}
