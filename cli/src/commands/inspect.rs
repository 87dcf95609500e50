//! `weft plan inspect`: shows the contents of a plan file.

use weft_coordinator::{Need, OperationKind, OutlineShard, ShardKey};
use weft_graph_format::graph::disassemble_with;
use weft_graph_format::limits::CallBudget;
use weft_graph_format::plan_file::PlanFile;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::exit::Exit;
use crate::options::switch;
use crate::render::counted::counted;
use crate::sealing::{PlanUnread, plan_reader};
use crate::store::place_words;
use weft_coordinator::outline::outline;
use weft_coordinator::placement::labels_text;

/// The command.
pub const INSPECT: Command = Command {
    words: &["plan", "inspect"],
    alias: None,
    operands: "FILE",
    about: "Show the contents of a plan file",
    main: false,
    flags: &[
        command::VIEW,
        command::VARIABLES_UNLISTED,
        &[
            switch("sections", "Print the offset and size of each section."),
            switch("shards", "Print the shards: the parts that workers receive."),
            switch("disassemble", "Print the operations, one per line."),
            switch("dot", "Print the graph of operations for Graphviz."),
        ],
    ],
    mixed: true,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: false,
    run: |invocation| inspect(invocation).unwrap_or_else(|exit| exit),
};

fn inspect(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, view, .. } = invocation;
    let [path] = arguments.positionals.as_slice() else {
        return Err(invocation.mistake(&problems::plan_file_expected()));
    };
    let refused = |error: PlanUnread| invocation.fail(&[problems::not_a_plan(path, &error)]);
    let sealing = invocation.context.sealing(arguments, None).map_err(|problems| invocation.fail(&problems))?;
    let reader = plan_reader(&sealing, path).map_err(refused)?;
    let plan = reader.whole().map_err(PlanUnread::from).map_err(refused)?;
    if arguments.switch("dot", false) {
        view.document(&dot(&plan));
        return Ok(Exit::DONE);
    }
    let some = ["sections", "shards", "disassemble"].iter().any(|name| arguments.has(name));
    let wanted = |name: &str| arguments.switch(name, !some);
    let mut text = String::new();
    if !some {
        let manifest = &plan.manifest;
        let digest = reader.digest().map_err(PlanUnread::from).map_err(refused)?;
        text.push_str(&format!(
            "plan {digest}\nformat {}, by Weft {}, {}\nmode {}, workspace {}, state {}{}\n",
            manifest.format_version,
            manifest.weft_version,
            manifest.created,
            manifest.ui_mode.word(),
            manifest.workspace,
            if manifest.backend.is_empty() { "-".to_owned() } else { place_words(&manifest.backend) },
            if manifest.errored { ", errored" } else { "" },
        ));
        for package in &manifest.providers {
            text.push_str(&format!("provider {} {} {}\n", package.source, package.version, package.checksum));
        }
        text.push('\n');
    }
    if wanted("sections") {
        text.push_str("sections (bytes)\n  kind             part     offset     stored    content\n");
        for section in reader.sections() {
            text.push_str(&format!(
                "  {:<16} {:>4}  {:>9}  {:>9}  {:>9}\n",
                section.kind.to_string(),
                section.index,
                section.offset,
                section.stored,
                section.content
            ));
        }
        text.push('\n');
    }
    if wanted("shards") {
        text.push_str(&shards(&plan));
        text.push('\n');
    }
    if wanted("disassemble") {
        text.push_str("operations\n");
        text.push_str(&disassemble_with(&plan.graph, &plan.schemas));
    }
    view.document(&text);
    Ok(Exit::DONE)
}

/// The name of a shard: its provider instance, or its kind if it has no provider instance.
fn name(shard: &OutlineShard) -> String {
    match &shard.key {
        ShardKey::Home => "(home)".to_owned(),
        ShardKey::Unplaced => "(unplaced)".to_owned(),
        ShardKey::Provider(instance) => instance.clone(),
    }
}

/// One line for each shard: scheduled operations, rows of the graph, formulas, results from other shards.
fn shards(plan: &PlanFile) -> String {
    let outline = outline(plan);
    let mut counts = vec![0_usize; outline.shards.len()];
    for operation in &outline.operations {
        if let Some(count) = usize::try_from(operation.shard.0).ok().and_then(|shard| counts.get_mut(shard)) {
            *count += 1;
        }
    }
    let has_rules = |shard: &OutlineShard| {
        let limited = shard.concurrency.is_some() || shard.bound.is_some() || !shard.budgets.is_empty();
        !shard.labels.is_empty() || limited
    };
    let placed = outline.shards.iter().any(has_rules);
    let mut text = String::from("shards\n  part  operations    rows  formulas  foreign  provider instance\n");
    for (index, ((shard, fragment), tracked)) in
        outline.shards.iter().zip(&plan.graph.fragments).zip(counts).enumerate()
    {
        text.push_str(&format!(
            "  {index:>4}  {tracked:>10}  {:>6}  {:>8}  {:>7}  {}\n",
            fragment.rows.len(),
            fragment.formulas.rows.len(),
            fragment.foreign.len(),
            name(shard)
        ));
        if placed {
            text.push_str(&format!("        needs {}\n", demands(shard)));
        }
        for budget in shard.budgets.iter().filter_map(|index| outline.budget(*index)) {
            text.push_str(&format!("        takes from {}\n", budget_text(budget)));
        }
    }
    text
}

/// A budget as text: `hashicorp/aws region=eu (20 per second, burst 10)`.
fn budget_text(budget: &CallBudget) -> String {
    let rate = 1_000_000.0 / budget.interval_us.max(1) as f64;
    // The interval is in whole microseconds. More than three decimals of the rate would only show the rounding of the
    // interval.
    let rate = (rate * 1000.0).round() / 1000.0;
    let each = match budget.tokens_per_call {
        1 => String::new(),
        tokens => format!(", {tokens} tokens for each call"),
    };
    format!("{} ({rate} per second, burst {}{each})", budget.name, budget.burst)
}

/// The labels and limits of a shard from placement rules, as text.
fn demands(shard: &OutlineShard) -> String {
    let labels = match shard.labels.is_empty() {
        true => "no labels".to_owned(),
        false => labels_text(&shard.labels),
    };
    let concurrency = shard.concurrency.map(|most| format!("at most {} at the same time", counted(most, "operation")));
    let bound = shard.bound.map(|bound| {
        let instances = counted(bound.most, "open provider instance");
        format!("at most {instances} of rule {} at each worker", bound.rule)
    });
    [Some(labels), concurrency, bound].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// A text in quotes, as Graphviz reads it.
fn label(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The tracked operations and waiters with their edges, grouped by shard.
fn dot(plan: &PlanFile) -> String {
    let outline = outline(plan);
    let mut text = String::from("digraph plan {\n  rankdir = \"RL\"\n  node [shape = box, fontsize = 10]\n");
    let mut clusters: Vec<String> = Vec::new();
    for (index, shard) in outline.shards.iter().enumerate() {
        clusters.push(format!("  subgraph cluster_{index} {{\n    label = {}\n", label(&name(shard))));
    }
    for operation in &outline.operations {
        let style = match operation.kind {
            OperationKind::Delete => ", style = dashed",
            OperationKind::Create | OperationKind::Update => ", style = bold",
            _ => "",
        };
        let words = label(&format!("{} {}", operation.kind, operation.address));
        if let Some(cluster) = usize::try_from(operation.shard.0).ok().and_then(|shard| clusters.get_mut(shard)) {
            cluster.push_str(&format!("    o{} [label = {words}{style}]\n", operation.index));
        }
    }
    clusters.iter().for_each(|cluster| text.push_str(&format!("{cluster}  }}\n")));
    let edge = |text: &mut String, from: String, need: &Need| {
        let to = match need {
            Need::Operation(id) => format!("o{id}"),
            Need::Waiter(index) => format!("w{index}"),
        };
        text.push_str(&format!("  {from} -> {to}\n"));
    };
    for (index, waiter) in outline.waiters.iter().enumerate() {
        text.push_str(&format!("  w{index} [shape = point]\n"));
        waiter.needs.iter().for_each(|need| edge(&mut text, format!("w{index}"), need));
    }
    for operation in &outline.operations {
        operation.needs.iter().for_each(|need| edge(&mut text, format!("o{}", operation.index), need));
    }
    text.push_str("}\n");
    text
}
