//! The changes of a plan to the outputs of the root module.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::changes::OutputChange;
use weft_graph_format::graph::Action;
use weft_graph_format::marks::Marks;
use weft_graph_format::value::Value;

use super::super::difference::{DifferenceNode, Effect, Pair, Printing, Reasons, dynamic};
use super::super::style::Style;

/// The lines below `Changes to Outputs:`. Empty if there are none.
pub fn changes(outputs: &BTreeMap<SmolStr, OutputChange>, style: &Style) -> String {
    let changed: Vec<(&SmolStr, &OutputChange)> =
        outputs.iter().filter(|(_, output)| output.action != Action::NoOp).collect();
    // As in OpenTofu, unchanged outputs count for the alignment.
    let width = outputs.keys().map(|name| name.chars().count()).max().unwrap_or(0);
    let printing = Printing::change(style);
    let mut text = String::new();
    for (name, output) in changed {
        let part = part(output);
        // Only the sensitivity or the type changes, which is not shown.
        if part.effect == Effect::Same {
            continue;
        }
        text.push_str(&format!("{}{name:width$} = {}\n", printing.sign(part.effect), printing.part(&part, 0)));
    }
    text
}

fn part(output: &OutputChange) -> DifferenceNode {
    let sensitive = output.sensitive_before || output.sensitive_after;
    let marked = |value: &Value| if sensitive { value.mark(&Marks::SENSITIVE) } else { value.clone() };
    let (before, after) = (marked(&output.before), marked(&output.after));
    let pair = match output.action {
        Action::Create => Pair { before: None, after: Some(&after) },
        Action::Delete => Pair { before: Some(&before), after: None },
        _ if after.is_null() => Pair { before: Some(&before), after: None },
        _ if before.is_null() => Pair { before: None, after: Some(&after) },
        _ => Pair { before: Some(&before), after: Some(&after) },
    };
    let part = dynamic(pair, &Reasons::default());
    let effect = match output.action {
        Action::Create => Effect::Added,
        Action::Delete => Effect::Removed,
        _ if after.is_null() => Effect::Removed,
        _ if before.is_null() => Effect::Added,
        _ if part.effect == Effect::Same => Effect::Same,
        _ => Effect::Changed,
    };
    DifferenceNode { effect, notice: None, ..part }
}
