//! The targets: what each does with an input, and which conditions must hold.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use smol_str::SmolStr;
use weft_expressions::console::{BareScope, evaluate_text};
use weft_expressions::function::Function;
use weft_expressions::function_table::FunctionTable;
use weft_expressions::functions::evaluate_template;
use weft_expressions::functions::{self, CallContext, ForbiddenFiles, FunctionError, Impure};
use weft_expressions::limits::MOST_STEPS;
use weft_expressions::scope::{ProviderFunction, ResolvedReference, Scope};
use weft_graph_format::address::{
    AbsResource, ConfigResource, ModuleInstance, ProviderConfig, ProviderSource, ResourceInstance,
};
use weft_graph_format::codec::{json, msgpack, type_json};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::formula::{Formula, Parameter};
use weft_graph_format::source::Position;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_syntax::{Expression, Traversal, Tree, parse_bytes, parse_file, parse_json_file, parse_template};

use crate::mutator::{damaged, mutated};
use crate::random::Random;
use crate::seeds::SEEDS;
use crate::values;

/// The maximum number of evaluation steps of an input: enough for useful results, and few enough for a million inputs.
const STEPS: u64 = 200_000;

/// A scope in which expressions soon reach the limit of steps, and which has no files.
struct Hurried {
    bare: BareScope,
    numbers: [AtomicU32; 2],
    steps: AtomicU64,
}

impl Hurried {
    fn new() -> Hurried {
        let steps = AtomicU64::new(MOST_STEPS - STEPS);
        Hurried { bare: BareScope::new(), numbers: [AtomicU32::new(0), AtomicU32::new(0)], steps }
    }
}

impl Scope for Hurried {
    fn resolve(&self, tree: &Tree, traversal: &Traversal) -> Result<ResolvedReference, Vec<Diagnostic>> {
        self.bare.resolve(tree, traversal)
    }

    fn context(&self) -> CallContext<'_> {
        let context = CallContext::new(&self.numbers[0], &self.numbers[1]);
        CallContext { files: &ForbiddenFiles, impure: Impure::Defer, steps: Some(&self.steps), ..context }
    }

    fn new_parameter(&self) -> Parameter {
        self.bare.new_parameter()
    }

    fn provider_function(&self, name: &str) -> Result<ProviderFunction, Diagnostic> {
        self.bare.provider_function(name)
    }

    fn call_provider_function(&self, function: &ProviderFunction, arguments: &[Value]) -> Result<Value, FunctionError> {
        self.bare.call_provider_function(function, arguments)
    }

    fn functions(&self) -> Option<&'static FunctionTable> {
        Some(functions::built_in())
    }
}

fn text_of(tree: &Tree) -> String {
    tree.tokens().iter().map(|token| tree.text(token.span)).collect()
}

/// Calls all functions about expressions that do not evaluate them.
fn ask(expression: &Expression) {
    let _ = (expression.as_traversal(), expression.as_keyword().is_some(), expression.as_string_literal());
    let _ = (expression.unquoted(), expression.template_problems().len(), expression.without_templates());
    let _ = weft_syntax::references(expression).len();
    let _ = weft_expressions::type_constraint::variable_type(expression);
}

fn ask_all(tree: &Arc<Tree>, source: &str, found: &[Diagnostic]) {
    for problem in found {
        let subject = problem.subject.as_ref().expect("a place");
        assert!(subject.start <= subject.end && subject.end.byte as usize <= source.len() + 1, "{problem:?}");
    }
    for (index, node) in tree.nodes().iter().enumerate() {
        node.kind.for_each_child(|child| assert!(child.index() < index, "children come first"));
        assert!(source.get(node.span.start as usize..node.span.end as usize).is_some(), "a place in the text");
    }
    if let Some(last) = tree.nodes().len().checked_sub(1) {
        ask(&tree.expression(weft_syntax::ExprId(u32::try_from(last).expect("few nodes"))));
    }
}

/// Native syntax: parsing loses nothing, and a second formatting changes nothing.
pub fn native(random: &mut Random) {
    let source = mutated(&SEEDS.native, random);
    if random.once_in(20) {
        let _ = parse_bytes("x", &damaged(source.as_bytes(), random));
    }
    let (tree, found) = parse_file("x", Arc::from(source.as_str()));
    assert_eq!(text_of(&tree), source);
    ask_all(&tree, &source, &found);
    match weft_syntax::format("x", Arc::from(source.as_str())) {
        Err(problems) => assert!(has_errors(&problems)),
        Ok(once) => {
            let twice = weft_syntax::format("x", Arc::from(once.as_str())).expect("what is formatted is sound");
            // Each formatting removes one level of nested interpolations, like `terraform fmt`.
            assert!(once == twice || twice.len() < once.len(), "formatted again: {once:?} {twice:?}");
            let (_, problems) = parse_file("x", Arc::from(once.as_str()));
            assert!(!has_errors(&problems) || has_errors(&found), "formatting breaks it: {problems:?}");
        }
    }
}

/// Native syntax that is damaged in the middle: a whole module is loaded.
pub fn configuration(random: &mut Random) {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["main.tf", "override.tf"].iter().take(1 + random.below(2)) {
        std::fs::write(folder.path().join(name), mutated(&SEEDS.native, random)).expect("written");
    }
    if random.once_in(3) {
        std::fs::write(folder.path().join("more.tf.json"), mutated(&SEEDS.json, random)).expect("written");
    }
    let given = |_: &weft_evaluator::config::CompiledModule| weft_evaluator::config::StaticGiven::default();
    let inputs = weft_evaluator::config::StaticInputs { given: &given, workspace: "default".into(), encryption: None };
    let (root, _, problems) = weft_evaluator::config::load_tree_with(folder.path(), &BTreeMap::new(), &inputs);
    if problems.is_empty() {
        weft_evaluator::config::link_problems(&root);
    }
}

/// Templates: parsing loses nothing. The templates are also evaluated.
pub fn templates(random: &mut Random) {
    let source = mutated(&SEEDS.templates, random);
    let (template, found) = parse_template("x", Arc::from(source.as_str()), Position::START);
    assert_eq!(text_of(&template.tree), source);
    ask_all(&template.tree, &source, &found);
    ask(&template);
    let scope = Hurried::new();
    let variables: BTreeMap<SmolStr, Value> = ["a", "b", "name", "items", "x"]
        .iter()
        .map(|name| (SmolStr::new(name), values::any(random, 2, true)))
        .collect();
    let _ = evaluate_template(&scope.context(), "x", &source, &variables);
}

/// The JSON syntax, and JSON as values and types.
pub fn json_syntax(random: &mut Random) {
    let source = mutated(&SEEDS.json, random);
    let (tree, found) = parse_json_file("x", Arc::from(source.as_str()));
    ask_all(&tree, &source, &found);
    let _ = tree.arguments(tree.root_id(), &|_| false);
    let _ = type_json::decode(source.as_bytes());
    if let Ok(value) = json::decode_implied(source.as_bytes()) {
        let written = json::encode_plain(&value).expect("what JSON stands for can be written");
        assert_eq!(json::decode_implied(written.as_bytes()).as_ref(), Ok(&value), "read again");
    }
}

/// Expressions are evaluated. A known result has a written form that can be parsed again.
pub fn expressions(random: &mut Random) {
    let source = mutated(&SEEDS.expressions, random);
    let outcome = evaluate_text(&source, &Hurried::new());
    let _ = outcome.to_json().to_string();
}

fn context_call(function: &Function, arguments: &[Value]) -> Result<Value, FunctionError> {
    let scope = Hurried::new();
    function.invoke(&scope.context(), arguments, &|ty: Type| Formula::constant(Value::null(ty)))
}

/// Calls every function with awkward arguments. The result is within the limits, and has the predicted type.
pub fn function_arguments(random: &mut Random) {
    let all = functions::all();
    let function = random.one(all);
    if function.name == "bcrypt" {
        return;
    }
    let count = function.parameters.len() + if function.variadic.is_some() { random.below(3) } else { 0 };
    let arguments: Vec<Value> = (0..count).map(|_| values::any(random, 3, true)).collect();
    if let Ok(result) = context_call(function, &arguments) {
        assert_eq!(result.excess(), None);
        let _ = (result.ty(), result.to_formula(), format!("{result:?}").len());
        // A known result stays the same when it is computed again. `uuid` and similar functions are deferred to apply.
        if arguments.iter().all(Value::is_wholly_known) && result.is_wholly_known() && function.name != "timestamp" {
            let again = context_call(function, &arguments).expect("it worked before");
            assert!(again.same_content(&result), "{} is not stable", function.name);
        }
    }
}

/// The encodings of values for providers, state files and plans.
pub fn codecs(random: &mut Random) {
    let value = values::any(random, 4, false);
    let ty = if random.once_in(3) { Type::Dynamic } else { value.ty() };
    let typed = type_json::encode(&value.ty());
    assert_eq!(type_json::decode(typed.as_bytes()).as_ref(), Ok(&value.ty()));
    let _ = type_json::decode(&damaged(typed.as_bytes(), random));
    if let Ok(packed) = msgpack::encode(&value, &ty) {
        let read = msgpack::decode(&packed, &ty).expect("what was written is read");
        assert!(read.same_content(&value), "{value:?} came back as {read:?}");
        let damaged = damaged(&packed, random);
        if let Ok(read) = msgpack::decode(&damaged, &ty) {
            // Large whole numbers with low precision are written with fewer digits than they have, as cty does.
            let written = msgpack::encode(&read, &ty).expect("what was read can be written");
            let again = msgpack::decode(&written, &ty).expect("and read again");
            assert_eq!(msgpack::encode(&again, &ty).as_ref(), Ok(&written), "{read:?} came back as {again:?}");
        }
    }
    if let Ok(text) = json::encode(&value, &ty) {
        let read = json::decode(text.as_bytes(), &ty).expect("what was written is read");
        assert!(read.same_content(&value), "{value:?} came back as {read:?}");
        if let Ok(read) = json::decode(&damaged(text.as_bytes(), random), &ty) {
            let written = json::encode(&read, &ty).expect("what was read can be written");
            let again = json::decode(written.as_bytes(), &ty).expect("and read again");
            assert_eq!(json::encode(&again, &ty).as_ref(), Ok(&written), "{read:?} came back as {again:?}");
        }
    }
}

/// State files, lock files, CLI configuration, addresses.
pub fn records(random: &mut Random) {
    let state = mutated(&SEEDS.states, random);
    if let Ok(read) = weft_state::tfstate::StateFile::parse(state.as_bytes(), "x") {
        let written = read.to_bytes();
        let again = weft_state::tfstate::StateFile::parse(&written, "x").expect("what was written is read");
        assert_eq!(again.to_bytes(), written);
    }
    let text = mutated(&SEEDS.native, random);
    let (lock, _) = weft_providers::lock_file::LockFile::parse(&text);
    let _ = lock.to_text();
    let _ = weft_providers::settings::parse(&text);
    let start = random.below(text.len());
    let piece: String = text.chars().skip(start).take(random.below(60)).collect();
    let _ = piece.parse::<ResourceInstance>().map(|address| {
        assert_eq!(address.to_string().parse::<ResourceInstance>().as_ref(), Ok(&address), "{piece}");
    });
    let _ = (piece.parse::<ModuleInstance>().is_ok(), piece.parse::<AbsResource>().is_ok());
    let _ = (piece.parse::<ConfigResource>().is_ok(), piece.parse::<ProviderSource>().is_ok());
    let _ = piece.parse::<ProviderConfig>().is_ok();
}
