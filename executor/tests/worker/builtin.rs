//! Every kind of operation with the built-in provider.

use weft_executor::encode_value;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::graph::{Action, CheckKind, PriorObject, StateRecord};
use weft_graph_format::marks::Marks;
use weft_graph_format::path::Path;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_proto::cluster::object_write::Change;

use crate::coordinator::{Coordinator, plan_of, put};
use crate::draft::{Draft, address, configured, data, prior, result, unknown_id};
use crate::{options, schemas};

fn call(function: &str, arguments: Vec<Value>, ty: Type) -> Value {
    let arguments = arguments.iter().map(Value::to_formula).collect();
    let op = FormulaOp::Call { function: function.into(), arguments, expand_final: false, occurrence: None };
    Value::unknown(ty.clone()).with_formula(Some(Formula::new(op, ty, None)))
}

async fn carried_out(draft: Draft) -> Coordinator {
    let mut coordinator = Coordinator::start(plan_of(draft.finish(), schemas()), options()).await;
    coordinator.run_all().await;
    coordinator
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_creates_evaluates_its_formulas() {
    let draft = Draft::builtin();
    let first = draft.create("terraform_data.a", Value::string("x"));
    let upper = call("upper", vec![result(first.id(), &["output"], Type::String)], Type::String);
    let second = draft.create("terraform_data.b[0]", upper);
    // The output is in another shard than the objects, so it reads results of a different shard.
    draft.output(
        "both",
        Value::tuple(vec![result(first.id(), &["id"], Type::String), result(second.id(), &["output"], Type::String)]),
    );
    let run = carried_out(draft).await;
    let second = run.operation("terraform_data.b[0]");
    assert!(run.object(second).contains(r#""input":{"value":"X","type":"string"}"#), "{}", run.object(second));
    let writes = run.done(second).writes.clone().unwrap();
    assert_eq!(writes.objects[0].address, "terraform_data.b[0]");
    assert_eq!(writes.objects[0].provider, r#"provider["terraform.io/builtin/terraform"]"#);
    assert_eq!(put(&writes.objects[0]).dependencies, ["terraform_data.before"]);
    assert!(!put(&writes.objects[0]).tainted);
    assert_eq!(run.intents.len(), 2);
    let both = run.output("both");
    assert!(both.ends_with(r#"","X"]"#) && both.len() > 30, "{both}");
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_updated_deleted_or_left_unchanged() {
    let draft = Draft::builtin();
    let first = draft.create("terraform_data.a", Value::string("same"));
    draft.update("terraform_data.b", prior("b1", "old"), Value::string("new"));
    let input = result(first.id(), &["output"], Type::String);
    draft.update("terraform_data.c", prior("c1", "same"), input);
    draft.delete("terraform_data.d", None, prior("d1", "old"));
    draft.delete("terraform_data.e", Some("0000abcd"), prior("e1", "old"));
    let run = carried_out(draft).await;
    let b = run.object(run.operation("terraform_data.b"));
    assert!(b.contains(r#""id":"b1""#) && b.contains("new") && !b.contains("old"), "{b}");
    let c = run.operation("terraform_data.c");
    assert!(run.object(c).contains(r#""id":"c1""#));
    assert!(!run.intents.contains(&c), "nothing was to be called");
    let writes = run.done(c).writes.clone().unwrap();
    assert_eq!(put(&writes.objects[0]).private, [7]);
    let d = run.done(run.operation("terraform_data.d")).writes.clone().unwrap();
    assert_eq!((d.objects[0].change.clone(), d.objects[0].deposed.as_str()), (Some(Change::Remove(true)), ""));
    let e = run.done(run.operation("terraform_data.e")).writes.clone().unwrap();
    assert_eq!(e.objects[0].deposed, "0000abcd");
    assert_eq!(run.intents.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn replacements_work_in_both_orders() {
    let draft = Draft::builtin();
    let gone = draft.delete("terraform_data.a", None, prior("a1", "old"));
    let new = draft.create("terraform_data.a", Value::string("new"));
    draft.builder.order(gone.id(), new.id());
    let aside = draft.depose("terraform_data.b", "00000001");
    let new = draft.create("terraform_data.b", Value::string("new"));
    let old = draft.delete("terraform_data.b", Some("00000001"), prior("b1", "old"));
    draft.builder.order(aside.id(), new.id());
    draft.builder.order(new.id(), old.id());
    let run = carried_out(draft).await;
    let aside = run.find(|row| row.deposed.as_deref() == Some("00000001"));
    let writes = run.done(aside).writes.clone().unwrap();
    assert_eq!(writes.objects[0].change, Some(Change::DeposeAs("00000001".into())));
    let old = run.find(|row| row.deposed.is_some() && row.action == Action::Delete);
    let writes = run.done(old).writes.clone().unwrap();
    assert_eq!(
        (writes.objects[0].deposed.as_str(), writes.objects[0].change.clone()),
        ("00000001", Some(Change::Remove(true)))
    );
    let order: Vec<u32> = run.intents.clone();
    assert_eq!(order.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_set_aside_stays_aside_when_the_create_cannot_begin() {
    let draft = Draft::builtin();
    let aside = draft.depose("terraform_data.b", "00000001");
    let broken = Formula::new(
        FormulaOp::Failure(Box::new(weft_graph_format::diagnostic::Diagnostic::error("Broken", "On purpose."))),
        Type::String,
        None,
    );
    let input = Value::unknown(Type::String).with_formula(Some(broken));
    let new = draft.create("terraform_data.b", input);
    draft.builder.order(aside.id(), new.id());
    let run = carried_out(draft).await;
    let create = run.find(|row| row.action == Action::Create);
    let (failed, problems) = run.failed(create);
    assert_eq!(problems[0].summary, "Broken");
    assert_eq!(problems[0].address.as_deref(), Some("terraform_data.b"));
    assert!(failed.writes.clone().unwrap_or_default().objects.is_empty());
    assert!(!failed.absence_unproven && run.intents.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_are_checked_at_apply() {
    let draft = Draft::builtin();
    let first = draft.create("terraform_data.a", Value::string("x"));
    let output = result(first.id(), &["output"], Type::String);
    let equal = |text: &str| {
        let operands = (output.to_formula(), Formula::constant(Value::string(text)));
        let op = FormulaOp::Binary(weft_graph_format::formula::BinaryOperator::Equal, operands.0, operands.1);
        Formula::new(op, Type::Bool, None)
    };
    let message = |text: &str| Formula::constant(Value::string(text));
    let check = |address: &str, kind, condition, text: &str| {
        let range = weft_graph_format::source::SourceRange { file: "main.tf".into(), ..Default::default() };
        draft.builder.check(address.into(), kind, condition, message(text), Some(range), None)
    };
    check("terraform_data.good", CheckKind::Postcondition, equal("x"), "good");
    let failing = check("terraform_data.bad", CheckKind::Precondition, equal("y"), "It must be y.");
    check("var.v", CheckKind::Validation, equal("z"), "It must be z.");
    check("terraform_data.null", CheckKind::Postcondition, Formula::constant(Value::null(Type::Bool)), "null");
    let skipped = draft.create("terraform_data.behind", Value::string("q"));
    draft.builder.order(failing.id(), skipped.id());
    let run = carried_out(draft).await;
    run.done(run.operation("terraform_data.good"));
    let told = |address: &str| run.failed(run.operation(address)).1.remove(0);
    let bad = told("terraform_data.bad");
    assert_eq!((bad.summary.as_str(), bad.detail.as_str()), ("Resource precondition failed", "It must be y."));
    assert_eq!(bad.subject.map(|range| range.file.to_string()).as_deref(), Some("main.tf"));
    let variable = told("var.v");
    assert_eq!(variable.summary, "Invalid value for variable");
    assert_eq!(variable.detail, "It must be z.");
    assert_eq!(told("terraform_data.null").summary, "Invalid condition result");
    assert!(!run.outcomes.contains_key(&run.operation("terraform_data.behind")));
}

#[tokio::test(flavor = "multi_thread")]
async fn sensitive_values_stay_marked() {
    let draft = Draft::builtin();
    let input = Value::string("secret").mark(&Marks::SENSITIVE);
    let planned = data(unknown_id(), &input, Value::unknown(Type::String));
    let mut planned = Draft::planned(Action::Create, planned, true);
    planned.sensitive = vec![Path::ROOT.attribute("input"), Path::ROOT.attribute("absent")];
    let first = draft.change("terraform_data.a", None, configured(&input).to_formula(), planned);
    draft.output("open", result(first.id(), &["input"], Type::String));
    let run = carried_out(draft).await;
    let first = run.operation("terraform_data.a");
    let writes = run.done(first).writes.clone().unwrap();
    let object = put(&writes.objects[0]);
    // A path that leads nowhere hides the whole object.
    assert_eq!(object.sensitive.len(), 2);
    let (_, problems) = run.failed(run.operation("output.open"));
    assert_eq!(problems[0].summary, "Output refers to sensitive values");
}

#[tokio::test(flavor = "multi_thread")]
async fn values_inputs_and_state_are_evaluated() {
    let draft = Draft::builtin();
    let input = |name: &str| Formula::new(FormulaOp::Input(name.into()), Type::String, None);
    let joined = Formula::new(
        FormulaOp::Template(vec![input("token"), Formula::constant(Value::string("!"))]),
        Type::String,
        None,
    );
    let value = draft.builder.evaluate("local.token".into(), joined, None);
    let secret = draft.builder.evaluate("local.secret".into(), input("secret"), None);
    draft.output("token", result(value.id(), &[], Type::String));
    draft.output("secret", result(secret.id(), &[], Type::String));
    draft.create("terraform_data.hidden", result(secret.id(), &[], Type::String));
    draft.builder.forget(address("terraform_data.f"), None);
    draft.builder.record(address("terraform_data.r"), None, Some(prior("r1", "x")), draft.instance.clone());
    draft.builder.record(address("terraform_data.s"), None, None, draft.instance.clone());
    draft.builder.output("gone".into(), None, Type::Dynamic, false, crate::draft::null(), None);
    draft.output("null", crate::draft::null());
    let plan = plan_of(draft.finish(), schemas());
    let worker = weft_executor::Worker::new(options());
    let mut run = Coordinator::connect(plan, worker).await;
    let secret = Value::string("hidden").mark(&Marks::EPHEMERAL);
    run.inputs.insert("token".into(), encode_value(&Value::string("t")).unwrap());
    run.inputs.insert("secret".into(), encode_value(&secret).unwrap());
    run.open_all().await;
    run.run_all().await;
    assert_eq!(run.output("token"), r#""t!""#);
    let (_, problems) = run.failed(run.operation("output.secret"));
    assert_eq!(problems[0].summary, "Ephemeral value not allowed");
    // An ephemeral value is created where it is read, and never reported.
    assert!(run.plan.graph.outline.iter().all(|row| row.address != "local.secret"));
    let hidden = run.done(run.operation("terraform_data.hidden"));
    assert!(hidden.exports.iter().all(|bytes| !bytes.windows(6).any(|w| w == b"hidden")));
    let change = |address: &str| run.done(run.operation(address)).writes.clone().unwrap().objects[0].clone();
    assert_eq!(change("terraform_data.f").change, Some(Change::Remove(true)));
    assert_eq!(change("terraform_data.f").provider, "");
    assert!(String::from_utf8_lossy(&put(&change("terraform_data.r")).attributes).contains("r1"));
    assert_eq!(change("terraform_data.s").change, Some(Change::Remove(true)));
    for name in ["output.gone", "output.null"] {
        assert!(run.done(run.operation(name)).writes.clone().unwrap().outputs[0].removed, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_final_plan_that_differs_is_refused() {
    let draft = Draft::builtin();
    let first = draft.create("terraform_data.a", Value::string("x"));
    let input = result(first.id(), &["output"], Type::String);
    // The reviewed plan expected another input.
    let planned = data(unknown_id(), &Value::string("promised"), Value::unknown(Type::String));
    let planned = Draft::planned(Action::Create, planned, false);
    draft.change("terraform_data.b", None, configured(&input).to_formula(), planned);
    let run = carried_out(draft).await;
    let (failed, problems) = run.failed(run.operation("terraform_data.b"));
    assert_eq!(problems[0].summary, "Provider produced inconsistent final plan");
    assert!(problems[0].detail.contains(".input"), "{}", problems[0].detail);
    assert!(failed.writes.is_none() && run.intents.len() == 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_contain_no_secrets() {
    let draft = Draft::builtin();
    let first = draft.create("terraform_data.a", Value::string("x"));
    let input = result(first.id(), &["output"], Type::String);
    let planned = data(unknown_id(), &Value::string("promised"), Value::unknown(Type::String));
    let mut planned = Draft::planned(Action::Create, planned, false);
    planned.sensitive = vec![Path::ROOT.attribute("input")];
    draft.change("terraform_data.b", None, configured(&input).to_formula(), planned);
    let run = carried_out(draft).await;
    let (_, problems) = run.failed(run.operation("terraform_data.b"));
    assert_eq!(problems[0].summary, "Provider produced inconsistent final plan");
    assert!(problems[0].detail.contains("sensitive") && !problems[0].detail.contains("promised"), "{problems:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn uncertain_attempts_are_settled() {
    use weft_proto::cluster::settle_result::Verdict;
    let draft = Draft::builtin();
    draft.create("terraform_data.a", Value::string("x"));
    draft.update("terraform_data.b", prior("b1", "old"), Value::string("new"));
    draft.delete("terraform_data.c", None, prior("c1", "old"));
    let mut run = Coordinator::start(plan_of(draft.finish(), schemas()), options()).await;
    let a = run.operation("terraform_data.a");
    assert!(matches!(run.settle(a, None).await, Verdict::Unknown(_)), "it cannot be looked up");
    match run.settle(a, Some("x-1")).await {
        Verdict::Applied(done) => {
            let writes = done.writes.unwrap();
            assert!(String::from_utf8_lossy(&put(&writes.objects[0]).attributes).contains("x-1"));
        }
        other => panic!("{other:?}"),
    }
    // A read of `terraform_data` returns what is already known.
    let b = run.operation("terraform_data.b");
    assert!(matches!(run.settle(b, None).await, Verdict::NotApplied(not) if not.holder_dead));
    let c = run.operation("terraform_data.c");
    assert!(matches!(run.settle(c, None).await, Verdict::NotApplied(_)));
    // Attempts that read first find the same object and continue.
    (run.attempt, run.read_first) = (2, true);
    run.run_all().await;
    assert!(run.object(b).contains("new"));
    assert_eq!(run.intents.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_legacy_record_keeps_its_data() {
    let draft = Draft::builtin();
    let record = StateRecord { schema_version: 3, create_before_destroy: true, ..StateRecord::default() };
    let object = PriorObject { record, tainted: true, ..prior("r1", "x") };
    draft.builder.record(address("terraform_data.r"), None, Some(object), draft.instance.clone());
    let run = carried_out(draft).await;
    let writes = run.done(run.operation("terraform_data.r")).writes.clone().unwrap();
    let object = put(&writes.objects[0]);
    assert_eq!((object.schema_version, object.tainted, object.create_before_destroy), (3, true, true));
    assert_eq!(object.private, [7]);
}
