//! Pairs the elements of two sequences.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

use weft_graph_format::value::{Kind, Value};

/// The maximum number of comparisons for the longest common subsequence. The table needs four bytes for each
/// comparison. Lists that need more comparisons (lists with thousands of changed elements) are paired by position.
const MOST_COMPARISONS: usize = 4_000_000;

/// An element of the old list, the new list, or both. The numbers are positions in the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// An element of the old list only.
    Gone(usize),
    /// An element of the new list only.
    New(usize),
    /// An old and a new element: they are equal, or the new one replaces the old one.
    Both(usize, usize),
}

/// Pairs the elements of two lists by their longest common subsequence. `pairs` decides whether an old and a new
/// element are shown as one change, instead of a removed and an added element.
pub fn lists<T: PartialEq>(before: &[T], after: &[T], pairs: impl Fn(usize, usize) -> bool) -> Vec<Match> {
    let head = before.iter().zip(after).take_while(|(b, a)| b == a).count();
    let (rest_before, rest_after) = (&before[head..], &after[head..]);
    let tail = rest_before.iter().rev().zip(rest_after.iter().rev()).take_while(|(b, a)| b == a).count();
    let (ends_before, ends_after) = (before.len() - tail, after.len() - tail);
    let mut found: Vec<Match> = (0..head).map(|i| Match::Both(i, i)).collect();
    if (ends_before - head).saturating_mul(ends_after - head) > MOST_COMPARISONS {
        found.extend(places(head, ends_before, ends_after));
        found.extend((0..tail).map(|i| Match::Both(ends_before + i, ends_after + i)));
        return found;
    }
    let mut common: Vec<usize> = common(&before[head..ends_before], &after[head..ends_after]);
    common.iter_mut().for_each(|place| *place += head);
    common.extend(ends_before..before.len());
    let common: Vec<&T> = common.into_iter().map(|place| &before[place]).collect();
    walk((before, after), head, &common, pairs, &mut found);
    found
}

/// Pairs the elements of two lists from a position on. `common` are the elements that both lists have, in order.
///
/// Before each common element, first come the other old elements, then the other new elements. An old and a new element
/// are paired if `pairs` allows it. As in OpenTofu, a new element may even be paired with the old list's copy of the
/// next common element. The new list's copy is then paired with a later old element, if there is one.
fn walk<T: PartialEq>(
    (before, after): (&[T], &[T]),
    from: usize,
    common: &[&T],
    pairs: impl Fn(usize, usize) -> bool,
    found: &mut Vec<Match>,
) {
    let (mut b, mut a, mut meetings) = (from, from, 0);
    // Whether there may be more old elements before the next common element.
    let mut olds = true;
    while b < before.len() || a < after.len() {
        let next = common.get(meetings).copied();
        let is_own = |element: Option<&T>| element.is_some() && element != next;
        olds = olds && is_own(before.get(b));
        let step = match (olds, is_own(after.get(a))) {
            (true, true) if pairs(b, a) => Match::Both(b, a),
            (true, _) => Match::Gone(b),
            (false, true) if b < before.len() && pairs(b, a) => Match::Both(b, a),
            (false, true) => Match::New(a),
            (false, false) => {
                (olds, meetings) = (true, meetings + 1);
                match (b < before.len(), a < after.len()) {
                    (true, true) => Match::Both(b, a),
                    (true, false) => Match::Gone(b),
                    _ => Match::New(a),
                }
            }
        };
        b += usize::from(!matches!(step, Match::New(_)));
        a += usize::from(!matches!(step, Match::Gone(_)));
        found.push(step);
    }
}

fn places(from: usize, ends_before: usize, ends_after: usize) -> impl Iterator<Item = Match> {
    (from..ends_before.max(ends_after)).map(move |i| match (i < ends_before, i < ends_after) {
        (true, true) => Match::Both(i, i),
        (true, false) => Match::Gone(i),
        _ => Match::New(i),
    })
}

/// Pairs the elements of two lists by position.
pub fn by_place(before: usize, after: usize) -> Vec<Match> {
    places(0, before, after).collect()
}

/// Pairs the elements of two sets. Old elements come first in their order, then new elements.
pub fn sets<T: Ord>(before: &[T], after: &[T]) -> Vec<Match> {
    let mut waiting: BTreeMap<&T, VecDeque<usize>> = BTreeMap::new();
    for (place, element) in after.iter().enumerate() {
        waiting.entry(element).or_default().push_back(place);
    }
    let was = |(place, element)| {
        let kept = waiting.get_mut(element).and_then(VecDeque::pop_front);
        kept.map_or(Match::Gone(place), |now| Match::Both(place, now))
    };
    let mut found: Vec<Match> = before.iter().enumerate().map(was).collect();
    let mut new: Vec<usize> = waiting.into_values().flatten().collect();
    new.sort_unstable();
    found.extend(new.into_iter().map(Match::New));
    found
}

/// The longest common subsequence of two lists, as positions in the old list.
fn common<T: PartialEq>(before: &[T], after: &[T]) -> Vec<usize> {
    let width = after.len() + 1;
    // For each pair of positions: the length of the longest common subsequence of both lists up to these positions.
    let mut lengths = vec![0u32; (before.len() + 1) * width];
    for b in 1..=before.len() {
        for a in 1..=after.len() {
            lengths[b * width + a] = if before[b - 1] == after[a - 1] {
                lengths[(b - 1) * width + a - 1] + 1
            } else {
                lengths[(b - 1) * width + a].max(lengths[b * width + a - 1])
            };
        }
    }
    let (mut b, mut a) = (before.len(), after.len());
    let mut places = Vec::new();
    while b > 0 && a > 0 {
        if before[b - 1] == after[a - 1] {
            places.push(b - 1);
            b -= 1;
            a -= 1;
        } else if lengths[(b - 1) * width + a] > lengths[b * width + a - 1] {
            b -= 1;
        } else {
            a -= 1;
        }
    }
    places.reverse();
    places
}

/// A string that is equal for equal values, for cheap comparisons and sorting of elements. An unknown value is equal
/// only to unknown values of its type. The string is never shown.
pub fn fingerprint(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    // Sensitivity is ignored: an element that becomes sensitive is still the same element.
    let (_, kind) = value.open();
    // Writing to a string cannot fail.
    let _ = match kind {
        Kind::Null(_) => write!(out, "null"),
        Kind::Unknown(u) => write!(out, "?{}", u.ty),
        Kind::Bool(b) => write!(out, "{b}"),
        Kind::Provider(instance) => write!(out, "{instance}"),
        Kind::Number(n) => write!(out, "{n}"),
        Kind::String(s) => write!(out, "{s:?}"),
        Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => {
            out.push('[');
            for item in s.items() {
                write(item, out);
                out.push(',');
            }
            write!(out, "]")
        }
        Kind::Map(f) | Kind::Object(f) => {
            out.push('{');
            for (name, item) in f.iter() {
                let _ = write!(out, "{name:?}:");
                write(item, out);
                out.push(',');
            }
            write!(out, "}}")
        }
    };
}

#[cfg(test)]
mod tests {
    use super::Match::{Both, Gone, New};
    use super::*;

    #[test]
    fn lists_are_compared_by_common_elements() {
        let walk = |b: &str, a: &str| {
            let (b, a): (Vec<char>, Vec<char>) = (b.chars().collect(), a.chars().collect());
            lists(&b, &a, |_, _| false)
        };
        assert_eq!(walk("0x", "0y"), [Both(0, 0), Gone(1), New(1)]);
        assert_eq!(walk("abcd", "abxd"), [Both(0, 0), Both(1, 1), Gone(2), New(2), Both(3, 3)]);
        assert_eq!(walk("", "ab"), [New(0), New(1)]);
        assert_eq!(walk("xaybz", "ab"), [Gone(0), Both(1, 0), Gone(2), Both(3, 1), Gone(4)]);
        assert_eq!(lists(&[1, 2], &[3, 4], |_, _| true), [Both(0, 0), Both(1, 1)]);
        assert_eq!(lists(&[1, 2], &[0, 1, 2], |_, _| true), [Both(0, 0), Both(1, 1), New(2)]);
        assert_eq!(lists(&[1, 2], &[2], |_, _| true), [Gone(0), Both(1, 0)]);
    }

    #[test]
    fn long_lists_are_compared_by_position() {
        let before: Vec<u32> = (0..3_000).collect();
        let after: Vec<u32> = (5_000..7_000).collect();
        let walk = lists(&before, &after, |_, _| false);
        assert_eq!((walk[0], walk[2_999]), (Both(0, 0), Gone(2_999)));
    }

    #[test]
    fn sets_are_compared_without_order() {
        assert_eq!(sets(&["a", "b", "c"], &["b", "d"]), [Gone(0), Both(1, 0), Gone(2), New(1)]);
        assert_eq!(sets(&["b", "c"], &["a", "b", "b", "d"]), [Both(0, 1), Gone(1), New(0), New(2), New(3)]);
    }
}
