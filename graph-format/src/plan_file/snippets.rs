//! Source lines in a plan, so that an error at apply can show its source.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::graph::{ExecutionGraph, Fragment, Operation};
use crate::source::SourceRange;
use crate::value::formula::FormulaOp;

/// The maximum number of lines that are stored for one range. A diagnostic shows only the beginning of a range.
const MOST_LINES_OF_A_RANGE: u32 = 40;
/// The maximum length of a stored line, in bytes. Longer lines would be unreadable in a diagnostic. Without this limit,
/// a generated file of a single line would be stored whole.
const LONGEST_LINE: usize = 4096;

/// Source lines by file and number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSnippets {
    /// The lines by file, named as in [`SourceRange::file`], then by number, beginning with 1. Without line ends.
    pub files: BTreeMap<SmolStr, BTreeMap<u32, String>>,
}

impl SourceSnippets {
    /// The lines that source ranges in the graph refer to. `read` returns the text of a file; missing files are left
    /// out.
    pub fn of_graph(graph: &ExecutionGraph, mut read: impl FnMut(&str) -> Option<Arc<str>>) -> SourceSnippets {
        let mut wanted = WantedLines::default();
        graph.fragments.iter().for_each(|fragment| source_ranges(fragment, &mut |range| wanted.add(range)));
        let mut snippets = SourceSnippets::default();
        for (file, numbers) in wanted.0 {
            let Some(text) = read(&file) else { continue };
            let mut lines = BTreeMap::new();
            for (i, line) in text.lines().enumerate() {
                let number = u32::try_from(i + 1).unwrap_or(u32::MAX);
                if numbers.contains(&number) && line.len() <= LONGEST_LINE {
                    lines.insert(number, line.to_owned());
                }
            }
            snippets.files.insert(file, lines);
        }
        snippets
    }

    /// The lines that source ranges in one fragment refer to.
    #[must_use]
    pub fn for_fragment(&self, fragment: &Fragment) -> SourceSnippets {
        let mut wanted = WantedLines::default();
        source_ranges(fragment, &mut |range| wanted.add(range));
        let mut snippets = SourceSnippets::default();
        for (file, numbers) in wanted.0 {
            let Some(all) = self.files.get(&file) else { continue };
            let lines = numbers.iter().filter_map(|n| Some((*n, all.get(n)?.clone()))).collect();
            snippets.files.insert(file, lines);
        }
        snippets
    }

    /// The line with this number. The first line of a file has number 1.
    pub fn line(&self, file: &str, number: u32) -> Option<&str> {
        Some(self.files.get(file)?.get(&number)?.as_str())
    }
}

#[derive(Default)]
struct WantedLines(BTreeMap<SmolStr, BTreeSet<u32>>);

impl WantedLines {
    fn add(&mut self, range: &SourceRange) {
        let last = range.end.line.min(range.start.line.saturating_add(MOST_LINES_OF_A_RANGE - 1));
        self.0.entry(range.file.clone()).or_default().extend(range.start.line..=last);
    }
}

/// Calls `visit` for every source range that a diagnostic of this fragment may refer to.
fn source_ranges(fragment: &Fragment, visit: &mut impl FnMut(&SourceRange)) {
    for row in &fragment.formulas.rows {
        row.range.iter().for_each(&mut *visit);
        if let FormulaOp::Failure(problem) = &row.op {
            problem.subject.iter().chain(&problem.context).for_each(&mut *visit);
        }
    }
    for row in &fragment.rows {
        if let Operation::Check { range: Some(range), .. } | Operation::Provision { range: Some(range), .. } =
            &row.operation
        {
            visit(range);
        }
    }
}
