//! The changes of a plan with equal ones shown once (`-compact`).

use std::collections::BTreeMap;

use weft_graph_format::address::{ConfigResource, ProviderSource, ResourceInstance};
use weft_graph_format::changes::ResourceChange;
use weft_graph_format::schema::ProviderSchema;

use super::super::style::Style;
use super::resource::{self, Told};

/// The maximum number of instances that are listed by name. More are a range.
const NAMED: usize = 4;

/// Changes with equal blocks and equal reasons, of instances of one resource.
struct Group<'c> {
    /// The comments of the first one.
    comment: Vec<String>,
    block: String,
    instances: Vec<&'c ResourceInstance>,
}

/// The texts of the changes, in the order of the first change of each group.
pub fn grouped<'c>(
    changes: impl Iterator<Item = (&'c ResourceChange, Told)>,
    schemas: &BTreeMap<ProviderSource, ProviderSchema>,
    style: &Style,
) -> Vec<String> {
    let mut groups: Vec<Group<'c>> = Vec::new();
    let mut known: BTreeMap<(ConfigResource, Vec<String>, String), usize> = BTreeMap::new();
    for (change, told) in changes {
        let comment = resource::comment(change, told, style);
        let block = resource::block(change, schemas, style);
        // The first line names the instance. A deposed object or a move belongs to one instance only.
        let alone = change.deposed.is_some() || change.previous_address.is_some() || change.importing.is_some();
        let mut reasons: Vec<String> = comment.iter().skip(1).cloned().collect();
        if alone {
            reasons.push(change.address.to_string());
        }
        let key = (change.address.config(), reasons, block.clone());
        let place = *known.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.instances.push(&change.address),
            None => groups.push(Group { comment, block, instances: vec![&change.address] }),
        }
    }
    groups.iter().map(text).collect()
}

fn text(group: &Group<'_>) -> String {
    let mut comment = group.comment.clone();
    if let [first, .., last] = group.instances.as_slice() {
        let count = group.instances.len();
        let names = match count <= NAMED {
            true => group.instances.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            false => format!("{first} to {last}"),
        };
        comment.push(format!("(same change in {count} instances: {names})"));
    }
    format!("{}{}", resource::commented(&comment), group.block)
}
