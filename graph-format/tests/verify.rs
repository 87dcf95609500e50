//! Every flaw of a graph is found.

mod drafts;

use drafts::*;
use weft_graph_format::formula::{FormulaOp, Parameter};
use weft_graph_format::graph::{
    Action, Builder, ExecutionGraph, Flaw, ForeignResult, FormulaIndex, FormulaRow, Operation, OperationId, Row, Shard,
    TableError, WaiterIndex, Waits, disassemble, verify,
};
use weft_graph_format::marks::Marks;
use weft_graph_format::path::Path;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

/// A valid graph: five networks in one region, and a sixth that reads and waits for all five. In another region, a
/// network reads the sixth. There are also a deleted network and an output.
fn sound() -> ExecutionGraph {
    let builder = Builder::new();
    let (eu, us) = (Region::open(&builder, "eu"), Region::open(&builder, "us"));
    let all: Vec<_> = (0..5).map(|i| eu.create(&keyed("a", i), text("a"), None)).collect();
    let names = template(all.iter().map(|a| id_of(a.id())).collect());
    let sixth = eu.create(&address("cloud_network.sixth"), names, after(&all));
    us.create(&address("cloud_network.far"), id_of(sixth.id()), after(&[sixth]));
    us.delete(&address("cloud_network.old"), None);
    builder.output("o".into(), Some(id_of(sixth.id())), Type::String, false, unknown_id(), None);
    finish(builder)
}

const UNPLACED: usize = 0;
const EU: usize = 1;
const US: usize = 2;

fn found(change: impl FnOnce(&mut ExecutionGraph)) -> Vec<Flaw> {
    let mut graph = sound();
    assert_eq!(graph.fragments[UNPLACED].shard, Shard::Unplaced);
    change(&mut graph);
    let flaws = verify(&graph);
    assert!(!flaws.is_empty());
    flaws
}

fn place(graph: &ExecutionGraph, fragment: usize, test: impl Fn(&Operation<FormulaIndex>) -> bool) -> usize {
    graph.fragments[fragment].rows.iter().position(|row| test(&row.operation)).expect("a row")
}

fn row(graph: &mut ExecutionGraph, fragment: usize, test: impl Fn(&Operation<FormulaIndex>) -> bool) -> &mut Row {
    let at = place(graph, fragment, test);
    &mut graph.fragments[fragment].rows[at]
}

fn is_apply(operation: &Operation<FormulaIndex>) -> bool {
    matches!(operation, Operation::Apply { .. })
}

fn is_plan(operation: &Operation<FormulaIndex>) -> bool {
    matches!(operation, Operation::FinalPlan { .. })
}

fn is_desired(operation: &Operation<FormulaIndex>) -> bool {
    matches!(operation, Operation::Desired { .. })
}

#[test]
fn rows_are_numbered_in_order() {
    let count = sound().operations;
    let flaw = Flaw::Numbering { count };
    assert!(found(|g| g.fragments[EU].rows[1].id = OperationId(0)).contains(&flaw));
    assert!(found(|g| g.fragments[EU].rows.swap(0, 1)).iter().any(|f| matches!(f, Flaw::Numbering { .. })));
    assert!(found(|g| g.fragments[EU].rows[1].id = OperationId(u32::MAX)).contains(&flaw));
    let fewer = found(|g| {
        g.fragments[EU].rows.pop();
    });
    assert!(fewer.contains(&flaw));
    // Claiming many operations costs nothing.
    assert_eq!(found(|g| g.operations = u32::MAX), [Flaw::Numbering { count: u32::MAX }]);
}

#[test]
fn fragments_are_in_order() {
    assert_eq!(found(|g| g.fragments.swap(EU, US)), [Flaw::Fragment(2)]);
    assert_eq!(found(|g| g.fragments[US].shard = Shard::Provider(region("eu"))), [Flaw::Fragment(2)]);
}

#[test]
fn operands_come_earlier() {
    for to in [u32::MAX, 1000] {
        let flaws = found(|g| {
            if let Operation::Apply { plan, .. } = &mut row(g, EU, is_apply).operation {
                *plan = OperationId(to);
            }
        });
        assert!(matches!(flaws[0], Flaw::ForwardReference { to: found, .. } if found == to), "{flaws:?}");
    }
}

#[test]
fn operands_are_of_their_kind_and_object() {
    let flaws = found(|g| {
        let desired = row(g, EU, is_desired).id;
        if let Operation::Apply { plan, .. } = &mut row(g, EU, is_apply).operation {
            *plan = desired;
        }
    });
    assert!(matches!(flaws[0], Flaw::WrongKind { .. }), "{flaws:?}");
    // The operand is in another shard.
    let flaws = found(|g| {
        let plan = row(g, EU, is_plan).id;
        if let Operation::Apply { plan: own, .. } = &mut row(g, US, is_apply).operation {
            *own = plan;
        }
    });
    assert!(matches!(flaws[0], Flaw::WrongKind { .. }), "{flaws:?}");
    // The operand belongs to another instance.
    let flaws = found(|g| {
        if let Operation::Apply { address: own, .. } = &mut row(g, EU, is_apply).operation {
            *own = address("cloud_network.other");
        }
    });
    assert!(matches!(flaws[0], Flaw::WrongKind { .. }), "{flaws:?}");
}

#[test]
fn formulas_refer_to_earlier_ones() {
    let flaws = found(|g| {
        let table = &mut g.fragments[EU].formulas.rows;
        let at = table.iter().position(|r| matches!(r.op, FormulaOp::Template(_))).expect("a template");
        table[at].op = FormulaOp::Template(vec![FormulaIndex(at as u32)]);
    });
    assert!(matches!(flaws[0], Flaw::Formula(TableError::ForwardReference { .. })), "{flaws:?}");
    let flaws = found(|g| {
        if let Operation::Desired { config, .. } = &mut row(g, EU, is_desired).operation {
            config.0 = u32::MAX;
        }
    });
    assert!(matches!(flaws[0], Flaw::NoFormula { formula: u32::MAX, .. }), "{flaws:?}");
    let flaws = found(|g| {
        let table = &mut g.fragments[EU].formulas.rows;
        let at = table.iter().position(|r| matches!(r.op, FormulaOp::Result(..))).expect("a result");
        table[at].op = FormulaOp::Parameter(Parameter(0));
    });
    assert!(matches!(flaws[0], Flaw::Parameter { .. }), "{flaws:?}");
}

#[test]
fn results_come_from_earlier_operations() {
    let result = |graph: &mut ExecutionGraph, to: OperationId| {
        let table = &mut graph.fragments[EU].formulas.rows;
        let at = table.iter().position(|r| matches!(r.op, FormulaOp::Result(..))).expect("a result");
        table[at].op = FormulaOp::Result(to, Path::ROOT);
    };
    let flaws = found(|g| result(g, OperationId(10_000)));
    assert!(flaws.iter().any(|f| matches!(f, Flaw::ForwardReference { to: 10_000, .. })), "{flaws:?}");
    let flaws = found(|g| {
        let desired = row(g, EU, is_desired).id;
        result(g, desired);
    });
    assert!(matches!(flaws[0], Flaw::NoResult(_)), "{flaws:?}");
}

#[test]
fn ephemeral_values_are_flaws() {
    let token = || Value::string("t0ken").mark(&Marks::EPHEMERAL);
    let flaws = found(|g| {
        if let Operation::FinalPlan { planned, .. } = &mut row(g, EU, is_plan).operation {
            planned.value = object(token(), "n");
        }
    });
    assert!(matches!(flaws[0], Flaw::Ephemeral(_)), "{flaws:?}");
    let flaws = found(|g| {
        let table = &mut g.fragments[EU].formulas.rows;
        let at = table.iter().position(|r| matches!(r.op, FormulaOp::Constant(_))).expect("a constant");
        table[at].op = FormulaOp::Constant(token());
    });
    assert!(matches!(flaws[0], Flaw::EphemeralFormula(_)), "{flaws:?}");
}

#[test]
fn foreign_results_are_those_that_are_read() {
    let flaws = found(|g| g.fragments[US].foreign.clear());
    assert!(matches!(flaws[0], Flaw::Foreign(_)), "{flaws:?}");
    let flaws = found(|g| {
        let own = row(g, US, is_apply).id;
        g.fragments[US].foreign.push(ForeignResult { operation: own, paths: vec![Path::ROOT] });
    });
    assert!(matches!(flaws[0], Flaw::Foreign(_)), "{flaws:?}");
    let flaws = found(|g| g.fragments[US].foreign[0].paths = vec![Path::ROOT.attribute("name")]);
    assert!(matches!(flaws[0], Flaw::Foreign(_)), "{flaws:?}");
    let flaws = found(|g| g.fragments[US].foreign[0].paths.push(Path::ROOT.attribute("id").attribute("x")));
    assert!(matches!(flaws[0], Flaw::Foreign(_)), "{flaws:?}");
}

#[test]
fn waiters_are_acyclic_and_of_their_kind() {
    assert!(matches!(found(|g| g.waiters[0].waiters.push(WaiterIndex(0)))[0], Flaw::Waiter(0)));
    assert!(matches!(found(|g| g.waiters[0].operations.push(OperationId(u32::MAX)))[0], Flaw::Waiter(0)));
    let flaws = found(|g| {
        let desired = row(g, EU, is_desired).id;
        g.waiters[0].operations = vec![desired];
    });
    assert!(matches!(flaws[0], Flaw::Waiter(0)), "{flaws:?}");
    // A waiting operation must come after all operations that it waits for.
    let flaws = found(|g| {
        let last = g.outline.last().expect("a row").id;
        g.waiters[0].operations.push(last);
    });
    assert!(!flaws.is_empty());
    let flaws = found(|g| row(g, EU, is_desired).waits.waiters.push(WaiterIndex(9)));
    assert!(matches!(flaws[0], Flaw::Waiter(9)), "{flaws:?}");
    let flaws = found(|g| {
        let desired = row(g, EU, is_desired).id;
        row(g, EU, is_apply).waits.operations = vec![desired];
    });
    assert!(matches!(flaws[0], Flaw::Untracked { .. }), "{flaws:?}");
}

#[test]
fn operations_are_in_the_shard_of_their_provider() {
    let flaws = found(|g| {
        if let Operation::OpenProvider { instance, .. } =
            &mut row(g, EU, |o| matches!(o, Operation::OpenProvider { .. })).operation
        {
            *instance = region("us");
        }
    });
    assert!(matches!(flaws[0], Flaw::Shard(_)), "{flaws:?}");
    let flaws = found(|g| {
        let us = g.fragments.remove(US);
        let mut unplaced = us;
        unplaced.shard = Shard::Unplaced;
        unplaced.rows.append(&mut g.fragments[UNPLACED].rows);
        unplaced.rows.sort_by_key(|r| r.id);
        g.fragments[UNPLACED] = unplaced;
    });
    assert!(flaws.iter().any(|f| matches!(f, Flaw::Shard(_))), "{flaws:?}");
}

#[test]
fn plans_fit_their_objects() {
    let flaws = found(|g| {
        if let Operation::FinalPlan { planned, .. } = &mut row(g, EU, is_plan).operation {
            planned.action = Action::Delete;
        }
    });
    assert!(matches!(flaws[0], Flaw::Plan(_)), "{flaws:?}");
    // A plan that is never carried out.
    let flaws = found(|g| {
        let row = row(g, US, |o| is_apply(o) && o.address() == "cloud_network.far");
        let Operation::Apply { address, .. } = &row.operation else { return };
        row.operation = Operation::Forget { address: address.clone(), deposed: None };
    });
    assert!(flaws.iter().any(|f| matches!(f, Flaw::NotApplied(_))), "{flaws:?}");
}

#[test]
fn providers_are_closed_once_and_last() {
    let close = |o: &Operation<FormulaIndex>| matches!(o, Operation::CloseProvider { .. });
    let flaws = found(|g| {
        let formula = FormulaIndex(0);
        row(g, EU, close).operation = Operation::Evaluate { name: "x".into(), formula };
    });
    assert!(flaws.iter().any(|f| matches!(f, Flaw::NotClosed(_))), "{flaws:?}");
    let flaws = found(|g| {
        // The close operation swaps positions with the operation directly before it.
        let at = place(g, EU, close);
        let rows = &mut g.fragments[EU].rows;
        let (before, after) = (rows[at - 1].operation.clone(), rows[at].operation.clone());
        let waits = std::mem::take(&mut rows[at - 1].waits);
        rows[at - 1].operation = after;
        rows[at] = Row { id: rows[at].id, operation: before, waits };
        let (was, is) = (rows[at - 1].id, rows[at].id);
        for outline in g.outline.iter_mut().filter(|o| o.id == was) {
            outline.id = is;
        }
        for fragment in &mut g.fragments {
            for row in &mut fragment.formulas.rows {
                if let FormulaOp::Result(o, _) = &mut row.op
                    && *o == was
                {
                    *o = is;
                }
            }
            for foreign in fragment.foreign.iter_mut().filter(|f| f.operation == was) {
                foreign.operation = is;
            }
            for row in &mut fragment.rows {
                row.waits.operations.iter_mut().filter(|o| **o == was).for_each(|o| *o = is);
            }
        }
        for row in &mut g.outline {
            row.needs.operations.iter_mut().filter(|o| **o == was).for_each(|o| *o = is);
        }
    });
    assert!(flaws.iter().any(|f| matches!(f, Flaw::NotClosed(_) | Flaw::ForwardReference { .. })), "{flaws:?}");
}

#[test]
fn nothing_is_applied_twice() {
    let builder = Builder::new();
    let eu = Region::open(&builder, "eu");
    let net = address("cloud_network.a");
    eu.create(&net, text("a"), None);
    eu.create(&net, text("b"), None);
    let flaws = verify(&builder.finish().expect("a graph"));
    assert!(matches!(flaws[..], [Flaw::AppliedTwice { .. }]), "{flaws:?}");
}

#[test]
fn the_outline_agrees_with_the_rows() {
    let wrong = |flaws: Vec<Flaw>| assert!(flaws.iter().all(|f| matches!(f, Flaw::Outline(_))), "{flaws:?}");
    wrong(found(|g| {
        g.outline.pop();
    }));
    wrong(found(|g| g.outline[0].address.push('x')));
    wrong(found(|g| g.outline[0].deposed = Some("x".into())));
    wrong(found(|g| g.outline[0].action = Action::Delete));
    wrong(found(|g| g.outline[0].changes_world = false));
    wrong(found(|g| g.outline[0].lookup = Some("{id}".into())));
    wrong(found(|g| g.outline[0].opcode = 1));
    wrong(found(|g| g.outline[0].shard = 2));
    wrong(found(|g| g.outline[0].shard = 3));
    // A missing need, a superfluous need, and a need that comes later.
    let far = |g: &ExecutionGraph| g.outline.iter().position(|r| r.address == "cloud_network.far").expect("a row");
    wrong(found(|g| {
        let at = far(g);
        g.outline[at].needs = Waits::default();
    }));
    wrong(found(|g| {
        let (at, first) = (far(g), g.outline[0].id);
        g.outline[at].needs.operations.insert(0, first);
    }));
    wrong(found(|g| {
        let last = g.outline.last().expect("a row").id;
        g.outline[0].needs.operations.push(last);
    }));
    let flaws = found(|g| g.outline.swap(0, 1));
    assert!(matches!(flaws[0], Flaw::Numbering { .. }), "{flaws:?}");
}

#[test]
fn final_states_are_complete() {
    let flaws = found(|g| {
        g.final_states.remove("cloud_network.old");
    });
    assert_eq!(flaws, [Flaw::FinalState("cloud_network.old".into())]);
    let flaws = found(|g| {
        g.final_states.insert("cloud_network.x".into(), OperationId(1));
    });
    assert_eq!(flaws, [Flaw::FinalState("cloud_network.x".into())]);
}

#[test]
fn a_hostile_table_is_verified_quickly() {
    let mut graph = sound();
    let eu = &mut graph.fragments[EU];
    let apply = eu.rows.iter().find(|r| is_apply(&r.operation)).expect("an apply").id;
    // Each row uses the previous one twice and reads one more part. A naive traversal would double its work with each
    // row.
    let table = &mut eu.formulas.rows;
    let mut last = table.len() as u32 - 1;
    for i in 0..30_000 {
        let path = Path::ROOT.attribute(format!("p{i}"));
        let row = |op| FormulaRow { op, ty: Type::Dynamic, range: None };
        table.push(row(FormulaOp::Result(apply, path)));
        let result = table.len() as u32 - 1;
        table.push(row(FormulaOp::Tuple(vec![FormulaIndex(last), FormulaIndex(last), FormulaIndex(result)])));
        last = table.len() as u32 - 1;
    }
    let started = std::time::Instant::now();
    verify(&graph);
    // The same holds for the disassembly.
    let eu = &mut graph.fragments[EU];
    let desired = eu.rows.iter_mut().find(|r| is_desired(&r.operation)).expect("a desired");
    if let Operation::Desired { config, .. } = &mut desired.operation {
        *config = FormulaIndex(last);
    }
    verify(&graph);
    assert!(disassemble(&graph).len() < 1 << 20);
    assert!(started.elapsed().as_secs() < 20);
}
