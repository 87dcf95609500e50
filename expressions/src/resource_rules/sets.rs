//! Matches the elements of two sets.

use weft_graph_format::value::Value;

/// The elements that match no element of the other set, in order: those of the first set, and those of the second.
///
/// Callers compare the remaining elements pairwise.
pub(super) fn unmatched<'v>(
    first: &'v [Value],
    second: &'v [Value],
    fits: &dyn Fn(&Value, &Value) -> bool,
) -> (Vec<&'v Value>, Vec<&'v Value>) {
    let mut first_matched = vec![false; first.len()];
    let mut second_matched = vec![false; second.len()];
    // Both sets are ordered, so one walk finds all equal known elements.
    let (mut i, mut j) = (0, 0);
    while let (Some(a), Some(b)) = (first.get(i), second.get(j)) {
        if a.is_wholly_known() && a.same_unmarked(b) {
            mark(&mut first_matched, i);
            mark(&mut second_matched, j);
            i += 1;
            j += 1;
        } else if weft_graph_format::value::compare_for_set(a, b).is_lt() {
            i += 1;
        } else {
            j += 1;
        }
    }
    let open: Vec<usize> = (0..first.len()).filter(|i| first_matched.get(*i) == Some(&false)).collect();
    for i in open {
        for j in 0..second.len() {
            let (Some(a), Some(b)) = (first.get(i), second.get(j)) else { continue };
            if second_matched.get(j) == Some(&true) && a.is_wholly_known() {
                continue;
            }
            if fits(a, b) {
                mark(&mut first_matched, i);
                mark(&mut second_matched, j);
            }
        }
    }
    let left = |values: &'v [Value], matched: Vec<bool>| {
        values.iter().zip(matched).filter(|(_, matched)| !matched).map(|(value, _)| value).collect()
    };
    (left(first, first_matched), left(second, second_matched))
}

fn mark(flags: &mut [bool], index: usize) {
    if let Some(flag) = flags.get_mut(index) {
        *flag = true;
    }
}
