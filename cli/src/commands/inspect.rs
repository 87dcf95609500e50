//! `weft plan inspect`: what is in a plan file.

use weft_coordinator::{Need, OperationKind};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::disassemble;
use weft_graph_format::plan_file::{PlanFile, PlanReader};

use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::options::switch;
use crate::outline::outline;

/// The command.
pub const INSPECT: Command = Command {
    words: &["plan", "inspect"],
    alias: None,
    operands: "FILE",
    about: "Look into a plan file: sections, shards, operations",
    main: false,
    flags: &[
        command::VIEW,
        &[
            switch("sections", "The sections of the file."),
            switch("shards", "The shards, and how many operations each has."),
            switch("disassemble", "The operations, one a line."),
            switch("dot", "What waits for what, as a graph for Graphviz."),
        ],
    ],
    mixed: true,
    on_mistake: OnMistake::Usage,
    events: false,
    run: |invocation| inspect(invocation).unwrap_or_else(|exit| exit),
};

fn inspect(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, view, .. } = invocation;
    let [path] = arguments.positionals.as_slice() else {
        return Err(invocation.mistake(&Diagnostic::error("Invalid number of arguments", "Expected a plan file.")));
    };
    let refused = |error: weft_graph_format::plan_file::PlanFileError| {
        invocation.fail(&[Diagnostic::error(format!("Failed to load \"{path}\" as a plan file"), format!("{error}."))])
    };
    let reader = PlanReader::open(path).map_err(refused)?;
    let plan = reader.whole().map_err(refused)?;
    if arguments.switch("dot", false) {
        view.document(&dot(&plan));
        return Ok(Exit::DONE);
    }
    let some = ["sections", "shards", "disassemble"].iter().any(|name| arguments.has(name));
    let wanted = |name: &str| arguments.switch(name, !some);
    let mut text = String::new();
    if !some {
        let manifest = &plan.manifest;
        let digest = reader.digest().map_err(refused)?;
        text.push_str(&format!(
            "plan {digest}\nformat {}, by Weft {}, {}\nmode {}, workspace {}, state {}{}\n",
            manifest.format_version,
            manifest.weft_version,
            manifest.created,
            manifest.ui_mode.word(),
            manifest.workspace,
            if manifest.backend.is_empty() { "-" } else { &manifest.backend },
            if manifest.errored { ", errored" } else { "" },
        ));
        for package in &manifest.providers {
            text.push_str(&format!("provider {} {} {}\n", package.source, package.version, package.checksum));
        }
        text.push('\n');
    }
    if wanted("sections") {
        text.push_str("sections\n");
        for section in reader.sections() {
            text.push_str(&format!(
                "  {:<22} {:>4}  at {:>9}  {:>9} bytes, {:>9} of content\n",
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
        text.push_str(&disassemble(&plan.graph));
    }
    view.document(&text);
    Ok(Exit::DONE)
}

fn shards(plan: &PlanFile) -> String {
    let outline = outline(plan);
    let mut text = String::from("shards\n");
    for (index, (shard, fragment)) in (0u32..).zip(outline.shards.iter().zip(&plan.graph.fragments)) {
        let name = match &shard.key {
            weft_coordinator::ShardKey::Home => "home",
            weft_coordinator::ShardKey::Unplaced => "unplaced",
            weft_coordinator::ShardKey::Provider(instance) => instance,
        };
        let tracked = outline.operations.iter().filter(|operation| operation.shard == index).count();
        text.push_str(&format!(
            "  {index:>3}  {name}: {tracked} operations ({} rows), {} formulas, {} results from elsewhere\n",
            fragment.rows.len(),
            fragment.formulas.rows.len(),
            fragment.foreign.len()
        ));
    }
    text
}

/// The tracked operations and waiters with their edges, those of a shard together.
fn dot(plan: &PlanFile) -> String {
    let outline = outline(plan);
    let mut text = String::from("digraph plan {\n  rankdir = \"RL\"\n  node [shape = box, fontsize = 10]\n");
    for (index, shard) in (0u32..).zip(&outline.shards) {
        let label = match &shard.key {
            weft_coordinator::ShardKey::Home => "home".to_owned(),
            weft_coordinator::ShardKey::Unplaced => "unplaced".to_owned(),
            weft_coordinator::ShardKey::Provider(instance) => instance.clone(),
        };
        text.push_str(&format!("  subgraph cluster_{index} {{\n    label = {label:?}\n"));
        for operation in outline.operations.iter().filter(|operation| operation.shard == index) {
            let style = match operation.kind {
                OperationKind::Delete => ", style = dashed",
                OperationKind::Create | OperationKind::Update => ", style = bold",
                _ => "",
            };
            let label = format!("{} {}", operation.action, operation.address);
            text.push_str(&format!("    o{} [label = {label:?}{style}]\n", operation.index));
        }
        text.push_str("  }\n");
    }
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
