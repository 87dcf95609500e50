//! Finishes drafted graphs and compares their disassembly.

mod drafts;

use drafts::random::{graph_of, steps};
use drafts::*;
use proptest::prelude::*;
use weft_graph_format::formula::{Formula, FormulaOp, Parameter};
use weft_graph_format::graph::{Action, Builder, FinishError, PlannedObject, disassemble};
use weft_graph_format::marks::Marks;
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

const EU: &str = r#"@provider["weft.test/sim/cloud"].by_region["eu"]"#;

fn shows(builder: Builder, expected: &str) {
    let found = text_of(builder)
        .replace(r#"{"id": unknown:string, "name": "n"}"#, "NEW")
        .replace(EU, "@eu")
        .replace(r#"provider["weft.test/sim/cloud"].by_region["eu"]"#, "EU");
    let lines = |text: &str| text.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n");
    assert_eq!(lines(&found), lines(expected), "\nfound:\n{found}");
}

#[test]
fn a_create_is_planned_called_and_recorded() {
    let builder = Builder::new();
    let eu = Region::open(&builder, "eu");
    let net = eu.create(&address("cloud_network.a"), text("net"), None);
    builder.output("id".into(), Some(id_of(net.id())), Type::String, false, unknown_id(), after(&[net]));
    shows(
        builder,
        r#"
        0 = desired cloud_network.a {name = "net"} @eu
        1 = open_provider EU {"region": "eu"} @eu
        2 = final_plan cloud_network.a create provider 1 prior - desired 0 planned NEW @eu
        3 = apply cloud_network.a 2 @eu
        4 = output id %3.id after 3
        5 = close_provider 1 @eu
        "#,
    );
}

#[test]
fn creates_wait_for_the_results_that_they_read() {
    let builder = Builder::new();
    let eu = Region::open(&builder, "eu");
    let a = eu.create(&address("cloud_network.a"), text("a"), None);
    let b = eu.create(&address("cloud_network.b"), template(vec![id_of(a.id()), text("-b")]), after(&[a]));
    eu.create(&address("cloud_network.c"), template(vec![id_of(b.id()), text("-c")]), after(&[b]));
    let graph = finish(builder);
    let needs: Vec<Vec<u32>> =
        graph.outline.iter().map(|row| row.needs.operations.iter().map(|o| o.0).collect()).collect();
    let ids: Vec<u32> = graph.outline.iter().map(|row| row.id.0).collect();
    assert_eq!(needs, [vec![], vec![ids[0]], vec![ids[1]]]);
    assert!(graph.fragments[0].foreign.is_empty());
}

#[test]
fn a_replacement_can_delete_first() {
    let builder = Builder::new();
    let eu = Region::open(&builder, "eu");
    let net = address("cloud_network.a");
    let delete = eu.delete(&net, None);
    let create = eu.create(&net, text("net"), None);
    builder.order(delete.id(), create.id());
    shows(
        builder,
        r#"
        0 = prior_state cloud_network.a {"id": "i-1", "name": "old"} @eu
        1 = desired cloud_network.a {name = "net"} @eu
        2 = open_provider EU {"region": "eu"} @eu
        3 = final_plan cloud_network.a create provider 2 prior - desired 1 planned NEW @eu
        4 = final_plan cloud_network.a delete provider 2 prior 0 desired - planned null @eu
        5 = apply cloud_network.a 4 @eu
        6 = apply cloud_network.a 3 after 5 @eu
        7 = close_provider 2 @eu
        "#,
    );
}

#[test]
fn a_replacement_can_create_first() {
    let builder = Builder::new();
    let eu = Region::open(&builder, "eu");
    let net = address("cloud_network.a");
    let depose =
        builder.depose(net.clone(), weft_graph_format::address::DeposedKey("0badcafe".into()), eu.shard.clone());
    let create = eu.create(&net, text("net"), None);
    let delete = eu.delete(&net, Some("0badcafe"));
    builder.order(depose.id(), create.id());
    builder.order(create.id(), delete.id());
    let reader = eu.create(&address("cloud_network.b"), template(vec![id_of(create.id())]), after(&[create]));
    builder.order(reader.id(), delete.id());
    let graph = finish(builder);
    let text = disassemble(&graph);
    let place = |start: &str| text.lines().position(|l| l.split_once(" = ").is_some_and(|(_, l)| l.starts_with(start)));
    let order =
        ["depose cloud_network.a", "apply cloud_network.a ", "apply cloud_network.b", "apply cloud_network.a deposed"];
    let places: Vec<usize> = order.iter().map(|start| place(start).expect(start)).collect();
    assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{text}");
    // The result is the new object, and so is the final state.
    let new = graph.final_states["cloud_network.a"];
    assert!(text.contains(&format!("template(%{}.id)", new.0)), "{text}");
}

#[test]
fn readers_of_many_share_a_waiter_and_an_evaluation() {
    let build = |members: usize, readers: usize| {
        let builder = Builder::new();
        let eu = Region::open(&builder, "eu");
        let all: Vec<_> = (0..members as u64).map(|i| eu.create(&keyed("a", i), text("a"), None)).collect();
        let ids = Formula::new(FormulaOp::Tuple(all.iter().map(|a| id_of(a.id())).collect()), Type::Dynamic, None);
        let joined = call("join", vec![text(","), ids]);
        let origin = after(&all);
        for i in 0..readers as u64 {
            let name = template(vec![joined.clone(), text("-b")]);
            eu.create(&keyed("b", i), name, origin.clone());
        }
        let graph = finish(builder);
        assert_eq!(graph.waiters.len(), 1);
        assert_eq!(graph.outline.len(), members + readers + 1);
        edges(&graph)
    };
    let (m, n) = (40, 50);
    // Members of the waiter, needs of the evaluation, and two edges for each reader.
    assert_eq!(build(m, n), 2 * m + 2 * n);
    assert_eq!(build(2 * m, 2 * n), 2 * build(m, n));
}

#[test]
fn readers_share_the_evaluation_of_a_for_expression() {
    let builder = Builder::new();
    let eu = Region::open(&builder, "eu");
    let all: Vec<_> = (0..20).map(|i| eu.create(&keyed("a", i), text("a"), None)).collect();
    let (key, value) = (Parameter(3), Parameter(4));
    let each = Formula::new(FormulaOp::Parameter(value), Type::Dynamic, None);
    let walk = FormulaOp::For {
        collection: Formula::new(FormulaOp::Tuple(all.iter().map(|a| id_of(a.id())).collect()), Type::Dynamic, None),
        key_parameter: key,
        value_parameter: value,
        key: None,
        value: template(vec![each, text("!")]),
        condition: None,
        grouping: false,
    };
    let walk = Formula::new(walk, Type::Dynamic, None);
    for i in 0..20 {
        eu.create(&keyed("b", i), call("join", vec![text("-"), walk.clone()]), None);
    }
    let graph = finish(builder);
    assert_eq!(edges(&graph), 20 + 20);
    assert!(
        disassemble(&graph).contains("for $1 $0 in"),
        "the numbers of parameters begin at 0: {}",
        disassemble(&graph)
    );
}

#[test]
fn a_fallible_part_of_a_try_is_not_shared() {
    let builder = Builder::new();
    let eu = Region::open(&builder, "eu");
    let all: Vec<_> = (0..10).map(|i| eu.create(&keyed("a", i), text("a"), None)).collect();
    let wide = call("tonumber", vec![template(all.iter().map(|a| id_of(a.id())).collect())]);
    for i in 0..2 {
        let op = FormulaOp::Try(vec![wide.clone(), text(&format!("none {i}"))]);
        eu.create(&keyed("b", i), Formula::new(op, Type::String, None), None);
    }
    let graph = finish(builder);
    assert!(!disassemble(&graph).contains("evaluate"), "{}", disassemble(&graph));
}

#[test]
fn origins_of_a_shared_provider_are_gathered_in_a_waiter() {
    let build = |members: u64, users: u64| {
        let builder = Builder::new();
        let eu = Region::open(&builder, "eu");
        let all: Vec<_> = (0..members).map(|i| eu.create(&keyed("a", i), text("a"), None)).collect();
        let hosts = template(all.iter().map(|a| id_of(a.id())).collect());
        let us = Region::open_with(&builder, "us", config(hosts), after(&all));
        for i in 0..users {
            us.create(&keyed("b", i), text("b"), None);
        }
        edges(&finish(builder))
    };
    // One waiter serves both the origin and the results that are read.
    assert_eq!(build(30, 40), 30 + 40);
    assert_eq!(build(60, 80), 60 + 80);
}

#[test]
fn a_delete_waits_for_operations_of_a_provider_that_reads_the_object() {
    let build = |deletes: u64, users: u64| {
        let builder = Builder::new();
        let eu = Region::open(&builder, "eu");
        let old: Vec<_> = (0..deletes).map(|i| eu.delete(&keyed("old", i), None)).collect();
        let origin = Origin::union(old.iter().map(|o| Origin::before_delete(o.id())));
        let us = Region::open_with(&builder, "us", config(text("host")), origin);
        for i in 0..users {
            us.create(&keyed("b", i), text("b"), None);
        }
        finish(builder)
    };
    let graph = build(1, 1);
    let delete = graph.final_states["cloud_network.old[0]"];
    let create = graph.final_states["cloud_network.b[0]"];
    assert!(create < delete);
    let needs = &graph.outline.iter().find(|row| row.id == delete).expect("a row").needs;
    assert_eq!(needs.operations, [create]);
    assert_eq!(edges(&build(30, 40)), 30 + 40);
}

#[test]
fn a_prior_object_is_read_as_a_constant() {
    let builder = Builder::new();
    let eu = Region::open(&builder, "eu");
    let secret = prior(object(Value::string("i-1").mark(&Marks::SENSITIVE), "old"));
    let old = builder.prior_state(address("cloud_network.a"), None, secret, eu.shard.clone());
    builder.output("id".into(), Some(id_of(old.id())), Type::String, true, unknown_id(), None);
    let text = text_of(builder);
    assert!(text.contains("output id sensitive ({sensitive})"), "{text}");
    assert!(!text.contains("i-1"), "{text}");
}

#[test]
fn sensitive_parts_of_a_configuration_are_not_printed() {
    let builder = Builder::new();
    let eu = Region::open(&builder, "eu");
    let net = eu.create(&address("cloud_network.a"), text("net"), None);
    let secret = || PlannedObject {
        sensitive: vec![Path::ROOT.attribute("name")],
        ..planned(Action::Create, object(unknown_id(), "open-sesame"))
    };
    eu.create_as(&address("cloud_network.b"), text("open-sesame"), None, secret());
    let mixed = template(vec![id_of(net.id()), text("open-sesame")]);
    eu.create_as(&address("cloud_network.c"), mixed, after(&[net]), secret());
    let shown = text_of(builder);
    assert!(!shown.contains("open-sesame"), "{shown}");
    assert!(shown.contains("desired cloud_network.b {name = ({sensitive})}"), "{shown}");
    assert!(shown.contains("desired cloud_network.c {name = ({sensitive})}"), "{shown}");
    assert!(shown.contains(r#"planned {"id": unknown:string, "name": ({sensitive})}"#), "{shown}");
}

#[test]
fn parts_of_foreign_results_are_listed_once() {
    let builder = Builder::new();
    let (eu, us) = (Region::open(&builder, "eu"), Region::open(&builder, "us"));
    let net = eu.create(&address("cloud_network.a"), text("a"), None);
    let path = |names: &[&str]| names.iter().fold(Path::ROOT, |path, name| path.attribute(*name));
    let part = |names: &[&str]| Formula::result(net.id(), path(names), Type::Dynamic);
    let name = template(vec![part(&["b", "c"]), part(&["b"]), part(&["a", "x"]), part(&["b", "d"])]);
    us.create(&address("cloud_network.b"), name, None);
    let graph = finish(builder);
    let foreign = &graph.fragments[1].foreign;
    assert_eq!(foreign.len(), 1);
    assert_eq!(foreign[0].operation, graph.final_states["cloud_network.a"]);
    assert_eq!(foreign[0].paths, [path(&["a", "x"]), path(&["b"])]);
    assert!(graph.fragments[0].foreign.is_empty());
}

#[test]
fn a_cycle_names_only_its_members() {
    let builder = Builder::new();
    let eu = Region::open(&builder, "eu");
    let a = eu.create(&address("cloud_network.a"), text("a"), None);
    let b = eu.create(&address("cloud_network.b"), id_of(a.id()), None);
    eu.create(&address("cloud_network.c"), id_of(b.id()), None);
    builder.order(b.id(), a.id());
    let expected = ["cloud_network.a", "cloud_network.b"].map(String::from).to_vec();
    assert_eq!(builder.finish(), Err(FinishError::Cycle(expected)));
}

#[test]
fn ephemeral_values_are_refused_by_name() {
    let token = Value::string("t0ken").mark(&Marks::EPHEMERAL);
    let refused = |builder: Builder| match builder.finish() {
        Err(FinishError::EphemeralConstant(address)) => address,
        other => panic!("{other:?}"),
    };
    let builder = Builder::new();
    let eu = Region::open(&builder, "eu");
    eu.create(&address("cloud_network.a"), template(vec![Formula::constant(token.clone())]), None);
    assert_eq!(refused(builder), "cloud_network.a");

    let builder = Builder::new();
    let eu = Region::open(&builder, "eu");
    let plan = planned(Action::Create, object(token.clone(), "n"));
    eu.create_as(&address("cloud_network.b"), text("b"), None, plan);
    assert_eq!(refused(builder), "cloud_network.b");

    let builder = Builder::new();
    builder.output("o".into(), None, Type::String, false, token, None);
    assert_eq!(refused(builder), "output.o");
    // An unknown or null value stores no content.
    let builder = Builder::new();
    let eu = Region::open(&builder, "eu");
    let nothing = Value::null(Type::String).mark(&Marks::EPHEMERAL);
    let plan = planned(Action::Create, object(unknown_id().mark(&Marks::EPHEMERAL), "n"));
    eu.create_as(&address("cloud_network.c"), Formula::constant(nothing), None, plan);
    finish(builder);
}

#[test]
fn an_operation_without_a_result_cannot_be_read() {
    let builder = Builder::new();
    let eu = Region::open(&builder, "eu");
    let net = address("cloud_network.a");
    let desired = builder.desired(net.clone(), config(text("a")), eu.shard.clone(), None);
    builder.output("o".into(), Some(id_of(desired.id())), Type::String, false, unknown_id(), None);
    let id = desired.id().0;
    assert_eq!(builder.finish(), Err(FinishError::NoResult { reader: "output.o".into(), operation: id }));

    let other = Builder::new();
    for _ in 0..100 {
        other.forget(net.clone(), None);
    }
    let stranger = other.forget(net.clone(), None);
    let builder = Builder::new();
    let own = builder.forget(net, None);
    builder.wait(own.id(), Some(Origin::after(stranger.id())));
    assert!(matches!(builder.finish(), Err(FinishError::NoOperation { operation: 100, .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn the_order_of_drafting_does_not_matter(
        steps in steps(),
        shuffle in proptest::collection::vec(any::<u64>(), 40),
    ) {
        let (one, other) = (graph_of(&steps, &[]), graph_of(&steps, &shuffle));
        prop_assert_eq!(disassemble(&one), disassemble(&other));
        prop_assert_eq!(one, other);
    }
}

#[test]
fn the_number_of_edges_is_linear_in_readers_and_members() {
    let build = |n: u64| {
        let builder = Builder::new();
        let eu = Region::open(&builder, "eu");
        let all: Vec<_> = (0..n).map(|i| eu.create(&keyed("a", i), text("a"), None)).collect();
        let ids = Formula::new(FormulaOp::Tuple(all.iter().map(|a| id_of(a.id())).collect()), Type::Dynamic, None);
        let origin = after(&all);
        for (i, one) in all.iter().enumerate() {
            let name = template(vec![call("join", vec![text(","), ids.clone()]), id_of(one.id())]);
            eu.create(&keyed("b", i as u64), name, origin.clone());
        }
        edges(&finish(builder))
    };
    assert_eq!(build(2000), 10 * build(200));
}

#[test]
fn operations_of_built_in_providers_run_in_any_shard() {
    let builder = Builder::new();
    let instance: weft_graph_format::address::ProviderInstance =
        "provider[\"terraform.io/builtin/terraform\"]".parse().expect("a provider instance");
    let provider = builder.open_provider_in(instance, text("x"), None, weft_graph_format::graph::Shard::Unplaced);
    builder.close_provider(provider, weft_graph_format::graph::Shard::Unplaced);
    let region = Region { builder: &builder, provider, shard: weft_graph_format::graph::Shard::Unplaced };
    region.create(&address("terraform_data.a"), text("a"), None);
    assert_eq!(finish(builder).fragments.len(), 1);
}

#[test]
fn a_value_nested_too_deeply_is_refused_by_name() {
    let builder = Builder::new();
    let deep = (0..400).fold(Value::int(1), |value, _| Value::tuple(vec![value]));
    builder.evaluate("local.deep".into(), Formula::constant(deep), None);
    let Err(FinishError::Unwritable(why)) = builder.finish() else { panic!("not refused") };
    assert!(why.contains("local.deep"), "{why}");
}

fn token(name: &str) -> weft_graph_format::address::ResourceInstance {
    address(&format!("ephemeral.cloud_token.{name}"))
}

fn of_token(operation: weft_graph_format::graph::OperationId) -> Formula {
    Formula::result(operation, Path::ROOT.attribute("token"), Type::String)
}

#[test]
fn an_ephemeral_object_is_opened_in_each_shard_that_reads_it() {
    let builder = Builder::new();
    let (eu, us, far) = (Region::open(&builder, "eu"), Region::open(&builder, "us"), Region::open(&builder, "far"));
    let first = eu.create(&address("cloud_network.first"), text("first"), None);
    let open = builder.open_ephemeral(token("t"), far.provider, config(id_of(first.id())), after(&[first]));
    builder.open_ephemeral(token("unread"), far.provider, config(text("u")), None);
    let origin = Origin::after(open.id());
    eu.create(&address("cloud_network.a"), template(vec![of_token(open.id()), text("a")]), Some(origin.clone()));
    us.create(&address("cloud_network.b"), template(vec![of_token(open.id()), text("b")]), Some(origin));
    let text = text_of(builder);
    let far = r#"provider["weft.test/sim/cloud"].by_region["far"]"#;
    let us = r#"@provider["weft.test/sim/cloud"].by_region["us"]"#;
    for line in [
        format!("4 = open_provider {far} {{\"region\": \"far\"}} {EU}"),
        format!("5 = open_ephemeral ephemeral.cloud_token.t provider 4 {{name = %3.id}} after 3 {EU}"),
        format!("6 = desired cloud_network.a {{name = template(%5.token, \"a\")}} after 3 {EU}"),
        format!("10 = open_provider {far} {{\"region\": \"far\"}} {us}"),
        format!("11 = open_ephemeral ephemeral.cloud_token.t provider 10 {{name = %3.id}} after 3 {us}"),
        format!("12 = desired cloud_network.b {{name = template(%11.token, \"b\")}} after 3 {us}"),
        format!("16 = close_ephemeral 5 {EU}"),
        format!("17 = close_ephemeral 11 {us}"),
        format!("18 = close_provider 4 {EU}"),
        format!("19 = close_provider 10 {us}"),
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\nin\n{text}");
    }
    // An object without readers is in no shard. A provider whose objects are opened elsewhere has no shard.
    assert!(!text.contains("unread") && !text.contains("@provider[\"weft.test/sim/cloud\"].by_region[\"far\"]"));
}

#[test]
fn values_from_inputs_are_computed_where_they_are_read() {
    let builder = Builder::new();
    let (eu, us) = (Region::open(&builder, "eu"), Region::open(&builder, "us"));
    let input = Formula::new(FormulaOp::Input("pw".into()), Type::String, None);
    let local = builder.evaluate("local.pw".into(), template(vec![input, text("!")]), None);
    let read = Formula::result(local.id(), Path::ROOT, Type::String);
    eu.create(&address("cloud_network.a"), read.clone(), Some(Origin::after(local.id())));
    us.create(&address("cloud_network.b"), read.clone(), Some(Origin::after(local.id())));
    let graph = finish(builder);
    let text = disassemble(&graph);
    assert_eq!(text.matches("evaluate_live local.pw").count(), 2, "{text}");
    assert!(graph.fragments.iter().all(|fragment| fragment.foreign.is_empty()), "{text}");
    assert!(graph.outline.iter().all(|row| !row.address.starts_with("local.")), "{text}");
}

#[test]
fn a_block_of_ephemeral_objects_is_opened_as_a_whole_and_deletes_wait_for_its_users() {
    let builder = Builder::new();
    let (eu, far) = (Region::open(&builder, "eu"), Region::open(&builder, "far"));
    let delete = eu.delete(&address("cloud_network.old"), None);
    let instance = |index: i64| weft_graph_format::address::ResourceInstance {
        key: weft_graph_format::address::InstanceKey::Int(index),
        ..token("t")
    };
    let before = Some(Origin::before_delete(delete.id()));
    let one = builder.open_ephemeral(instance(0), far.provider, config(text("0")), before);
    builder.open_ephemeral(instance(1), far.provider, config(text("1")), None);
    eu.create(&address("cloud_network.a"), of_token(one.id()), Some(Origin::after(one.id())));
    let graph = finish(builder);
    let text = disassemble(&graph);
    assert_eq!(text.matches("open_ephemeral").count(), 2, "{text}");
    assert_eq!(text.matches("close_ephemeral").count(), 2, "{text}");
    let number = |words: &str| -> u32 {
        let line = text.lines().find(|line| line.contains(words)).expect("a line");
        line.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
    };
    let apply = number("= apply cloud_network.a ");
    let row = graph.outline.iter().find(|row| row.address == "cloud_network.old").expect("a delete");
    assert!(row.needs.operations.iter().any(|need| need.0 == apply), "{text}");
}
