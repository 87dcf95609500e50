//! The table with the number of changes by provider instance, below large plans.

use std::collections::BTreeMap;

use unicode_width::UnicodeWidthStr as _;
use weft_graph_format::changes::ResourceChange;

use super::super::counts::ChangeCounts;
use super::super::natural::{natural, short};
use super::plan_line;

/// The minimum number of changes for the table. Fewer changes are easy to count.
pub const MANY: usize = 100;
/// The maximum number of rows. They fit on one screen.
const MOST_ROWS: usize = 40;

/// The table. Empty if there are few changes, or only one provider instance.
pub fn table(changes: &[&ResourceChange]) -> String {
    let mut counts: BTreeMap<String, ChangeCounts> = BTreeMap::new();
    for change in changes {
        counts.entry(change.provider.to_string()).or_default().add_change(change);
    }
    if changes.len() < MANY || counts.len() < 2 {
        return String::new();
    }
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    counts.keys().for_each(|instance| *uses.entry(short(instance)).or_default() += 1);
    // If two provider instances have the same key, only the whole address distinguishes them.
    let name = |instance: &'_ str| match uses.get(short(instance)) {
        Some(1) => short(instance).to_owned(),
        _ => instance.to_owned(),
    };
    let mut rows: Vec<(String, &ChangeCounts)> =
        counts.iter().map(|(instance, counts)| (name(instance), counts)).collect();
    rows.sort_by(|(left, _), (right, _)| natural(left, right));
    let widest = rows.iter().take(MOST_ROWS).map(|(name, _)| name.width()).max().unwrap_or(0);
    let mut text = String::from("\nChanges by provider instance:\n");
    for (name, counts) in rows.iter().take(MOST_ROWS) {
        let space = " ".repeat(widest.saturating_sub(name.width()));
        let line = plan_line(counts);
        let words = line.trim_start_matches("Plan: ").trim_end_matches('.');
        text.push_str(&format!("  {name}{space}  {words}\n"));
    }
    if rows.len() > MOST_ROWS {
        text.push_str(&format!("  ... and {} more\n", rows.len() - MOST_ROWS));
    }
    text
}
