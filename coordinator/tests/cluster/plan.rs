//! Plans for tests: `SHARDS COUNT` stands for SHARDS shards and COUNT pairs of operations. The first operation of each
//! pair is in one shard, and the second is in the next shard.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use weft_coordinator::{
    Need, OperationKind, Outline, OutlineExport, OutlineOperation, OutlineShard, ReadPlan, RunClaim, RunPlan,
    ShardFragment, ShardIndex, ShardKey,
};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::path::Path;
use weft_state::{ClaimMode, Digest, Revision};

/// Reads such plans.
#[derive(Debug)]
pub struct Reader;

impl ReadPlan for Reader {
    fn read(&self, plan: &[u8]) -> Result<RunPlan, Vec<Diagnostic>> {
        let refused = || vec![Diagnostic::error("Bad plan", "It is not `SHARDS COUNT`.")];
        let text = std::str::from_utf8(plan).map_err(|_| refused())?;
        let (shards, count) = text.split_once(' ').ok_or_else(refused)?;
        let count = count.parse().map_err(|_| refused())?;
        if let Some(shards) = shards.strip_prefix("home+") {
            return Ok(pairs(plan, shards.parse().map_err(|_| refused())?, count, true));
        }
        let (shards, placed) = match shards.strip_prefix("placed+") {
            Some(shards) => (shards, true),
            None => (shards, false),
        };
        let mut pairs = pairs(plan, shards.parse().map_err(|_| refused())?, count, false);
        if placed {
            for (index, shard) in Arc::make_mut(&mut pairs.outline).shards.iter_mut().enumerate() {
                let region = if index == 0 { "two" } else { "one" };
                shard.labels = [("region".to_owned(), region.to_owned())].into();
            }
        }
        Ok(pairs)
    }
}

fn pairs(plan: &[u8], shards: u32, count: u32, home: bool) -> RunPlan {
    let mut outline = Outline::default();
    let mut fragments = vec![String::new(); shards as usize];
    for shard in 0..shards {
        let key = match home && shard == 0 {
            true => ShardKey::Home,
            false => ShardKey::Provider(format!("provider[\"h/n/t\"].by_region[\"r{shard}\"]")),
        };
        outline.shards.push(OutlineShard::new(key));
    }
    for pair in 0..count {
        let (here, there) = (pair % shards, (pair + 1) % shards);
        let kind = OperationKind::Update;
        let mut first = OutlineOperation::new(pair * 2, kind, format!("a.b[{pair}]"), here);
        if here != there {
            first
                .exports
                .push(OutlineExport { paths: vec![Path::ROOT.attribute("id")], readers: vec![ShardIndex(there)] });
        }
        let mut second = OutlineOperation::new(pair * 2 + 1, kind, format!("a.c[{pair}]"), there);
        second.needs.push(Need::Operation(pair * 2));
        for operation in [first, second] {
            let line = &mut fragments[operation.shard.0 as usize];
            let _ = writeln!(line, "{} {} world", operation.index, operation.address);
            outline.claims.push(RunClaim {
                subject: operation.address.parse().expect("an address"),
                mode: ClaimMode::Exclusive,
                expected: Revision::NEVER,
            });
            outline.operations.push(operation);
        }
    }
    let fragment = |text: String| ShardFragment { bytes: Arc::from(text.into_bytes()), inputs: BTreeSet::new() };
    RunPlan {
        outline: Arc::new(outline),
        fragments: fragments.into_iter().map(fragment).collect(),
        digest: Digest::of(plan),
        inputs: BTreeMap::new(),
        wanted: Vec::new(),
    }
}
