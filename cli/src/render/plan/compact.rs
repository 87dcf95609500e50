//! The changes of a plan, with equal changes shown once (`-compact`).

use std::collections::BTreeMap;

use weft_graph_format::address::{ConfigResource, ProviderSource, ResourceInstance};
use weft_graph_format::changes::ResourceChange;
use weft_graph_format::schema::ProviderSchema;

use super::super::natural::NaturalName;
use super::super::style::Style;
use super::resource::{self, Told};

/// The maximum number of ranges of instances that are listed. More would hide the change.
const LISTED: usize = 4;

/// Instances of one resource whose changes have equal blocks and equal reasons.
struct Group<'c> {
    /// The comment of the first change.
    comment: Vec<String>,
    block: String,
    /// The instances with their positions in the plan.
    instances: Vec<(usize, &'c ResourceInstance)>,
}

/// The changes as text, one string for each group, in the order of the first change of each group. Instances of one
/// resource are in natural order.
pub fn grouped<'c>(
    changes: impl Iterator<Item = (&'c ResourceChange, Told)>,
    schemas: &BTreeMap<ProviderSource, ProviderSchema>,
    style: &Style,
) -> Vec<String> {
    let mut changes: Vec<(&ResourceChange, Told)> = changes.collect();
    for instances in changes.chunk_by_mut(|(left, _), (right, _)| left.address.config() == right.address.config()) {
        instances.sort_by_cached_key(|(change, _)| NaturalName(change.address.to_string()));
    }
    let mut groups: Vec<Group<'c>> = Vec::new();
    let mut known: BTreeMap<(ConfigResource, Vec<String>, String), usize> = BTreeMap::new();
    for (position, (change, told)) in changes.into_iter().enumerate() {
        let comment = resource::comment(change, told, style);
        let block = resource::block(change, schemas, style);
        // The first line names the instance. Deposed objects, moves and imports of several instances are never grouped.
        let alone = change.deposed.is_some() || change.previous_address.is_some() || change.importing.is_some();
        let mut reasons: Vec<String> = comment.iter().skip(1).cloned().collect();
        if alone {
            reasons.push(change.address.to_string());
        }
        let key = (change.address.config(), reasons, block.clone());
        let place = *known.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.instances.push((position, &change.address)),
            None => groups.push(Group { comment, block, instances: vec![(position, &change.address)] }),
        }
    }
    groups.iter().map(text).collect()
}

fn text(group: &Group<'_>) -> String {
    let mut comment = group.comment.clone();
    if group.instances.len() > 1 {
        let count = group.instances.len();
        comment.push(format!("(same change in {count} instances: {})", names(&group.instances)));
    }
    format!("{}{}", resource::commented(&comment), group.block)
}

/// Lists the instances. Instances that are adjacent in the plan are a range.
fn names(instances: &[(usize, &ResourceInstance)]) -> String {
    let mut ranges: Vec<Vec<(usize, &ResourceInstance)>> = Vec::new();
    for (position, instance) in instances {
        match ranges.last_mut() {
            Some(range) if range.last().is_some_and(|(last, _)| last + 1 == *position) => {
                range.push((*position, instance));
            }
            _ => ranges.push(vec![(*position, instance)]),
        }
    }
    let name = |range: &Vec<(usize, &ResourceInstance)>| match range.as_slice() {
        [(_, one)] => one.to_string(),
        [(_, one), (_, other)] => format!("{one}, {other}"),
        [(_, first), .., (_, last)] => format!("{first} to {last}"),
        [] => String::new(),
    };
    let mut listed: Vec<String> = ranges.iter().take(LISTED).map(name).collect();
    let more: usize = ranges.iter().skip(LISTED).map(Vec::len).sum();
    if more > 0 {
        listed.push(format!("and {more} more"));
    }
    listed.join(", ")
}
