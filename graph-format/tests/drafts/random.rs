//! Graphs from random steps that are drafted in any order.

use std::collections::BTreeMap;

use proptest::prelude::*;
use weft_graph_format::formula::{BinaryOperator, Formula, FormulaOp};
use weft_graph_format::graph::{Applied, Builder, CheckKind, ExecutionGraph, Ref, verify};
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::types::Type;

use super::{Region, after, config, id_of, keyed, template, text, unknown_id};

/// A draft that uses some of the creates that have no dependencies. Bit `i` selects the `i`th of these creates.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Create {
        reads: u64,
        waits: u64,
    },
    Check {
        reads: u64,
    },
    Output {
        reads: u64,
    },
    /// An ephemeral object, and a create in each region that reads it.
    Live {
        reads: u64,
    },
}

impl Step {
    fn uses_nothing(self) -> bool {
        matches!(self, Step::Create { reads: 0, waits: 0 })
    }
}

/// Drafts `steps` in an order that `shuffle` selects, as far as their dependencies allow.
pub fn graph_of(steps: &[Step], shuffle: &[u64]) -> ExecutionGraph {
    let builder = Builder::new();
    let regions = [Region::open(&builder, "eu"), Region::open(&builder, "us")];
    let far = Region::open(&builder, "far");
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_by_key(|i| (!steps[*i].uses_nothing(), shuffle.get(*i).copied().unwrap_or(0), *i));
    let roots: Vec<usize> = (0..steps.len()).filter(|i| steps[*i].uses_nothing()).collect();
    let mut applied: BTreeMap<usize, Ref<Applied>> = BTreeMap::new();
    for i in order {
        let chosen = |bits: u64| -> Vec<Ref<Applied>> {
            roots.iter().enumerate().filter(|(bit, _)| bits >> (bit % 64) & 1 == 1).map(|(_, i)| applied[i]).collect()
        };
        let formula = |bits: u64, end: &str| {
            let mut parts: Vec<Formula> = chosen(bits).into_iter().map(|a| id_of(a.id())).collect();
            parts.push(text(end));
            template(parts)
        };
        match steps[i] {
            Step::Create { reads, waits } => {
                let mut members = chosen(waits);
                if shuffle.first().is_some_and(|s| s % 2 == 1) {
                    members.reverse();
                }
                let made = regions[i % 2].create(&keyed("a", i as u64), formula(reads, "x"), after(&members));
                applied.insert(i, made);
            }
            Step::Check { reads } => {
                let condition =
                    FormulaOp::Binary(BinaryOperator::Equal, formula(reads, &format!("{}", i % 3)), text("z"));
                let condition = Formula::new(condition, Type::Bool, None);
                let kind = CheckKind::Postcondition;
                builder.check("cloud_network.a".into(), kind, condition, text("no"), None, None);
            }
            Step::Live { reads } => {
                let members = chosen(reads);
                let name = format!("ephemeral.cloud_token.t{i}").parse().expect("an address");
                let open = builder.open_ephemeral(name, far.provider, config(formula(reads, "t")), after(&members));
                for (region, place) in regions.iter().zip(0u64..) {
                    let read = Formula::result(open.id(), Path::ROOT.attribute("token"), Type::String);
                    let address = keyed("live", i as u64 * 2 + place);
                    region.create(&address, template(vec![read, text("y")]), Some(Origin::after(open.id())));
                }
            }
            Step::Output { reads } => {
                let name = format!("o{i}").into();
                builder.output(name, Some(formula(reads, "y")), Type::String, false, unknown_id(), None);
            }
        }
    }
    let graph = builder.finish().expect("a graph");
    assert_eq!(verify(&graph), []);
    graph
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let some = || 0u64..1 << 12;
    let step = prop_oneof![
        3 => Just(Step::Create { reads: 0, waits: 0 }),
        2 => (some(), some()).prop_map(|(reads, waits)| Step::Create { reads, waits }),
        1 => some().prop_map(|reads| Step::Check { reads }),
        1 => Just(Step::Output { reads: u64::MAX }),
        1 => some().prop_map(|reads| Step::Live { reads }),
    ];
    proptest::collection::vec(step, 0..40)
}
