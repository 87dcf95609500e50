//! Grapheme clusters, by the same rules as the library that OpenTofu uses. These are the rules of Unicode before 15.1,
//! by which an Indic consonant after a virama begins a new cluster.

use unicode_segmentation::{Graphemes, UnicodeSegmentation};

/// The grapheme clusters of a text, in order.
pub(super) fn clusters(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.graphemes(true).flat_map(parts)
}

/// The number of grapheme clusters.
pub(super) fn count(text: &str) -> usize {
    if text.is_ascii() {
        // In ASCII, only `\r\n` is a cluster of two bytes.
        return text.len() - text.matches("\r\n").count();
    }
    clusters(text).count()
}

/// Characters that join consonants (Indic_Conjunct_Break=Linker).
fn joins(c: char) -> bool {
    matches!(
        c,
        '\u{94d}'
            | '\u{9cd}'
            | '\u{acd}'
            | '\u{b4d}'
            | '\u{c4d}'
            | '\u{d4d}'
            | '\u{1039}'
            | '\u{17d2}'
            | '\u{1a60}'
            | '\u{1b44}'
            | '\u{1bab}'
            | '\u{a9c0}'
            | '\u{aaf6}'
            | '\u{10a3f}'
            | '\u{11133}'
            | '\u{113d0}'
            | '\u{1193e}'
            | '\u{11a47}'
            | '\u{11a99}'
            | '\u{11f42}'
    )
}

/// An iterator over the parts of a cluster.
enum Parts<'t> {
    /// The whole cluster. This is the usual case.
    Whole(std::option::IntoIter<&'t str>),
    /// Several parts.
    Cut(std::vec::IntoIter<&'t str>),
}

impl<'t> Iterator for Parts<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        match self {
            Parts::Whole(parts) => parts.next(),
            Parts::Cut(parts) => parts.next(),
        }
    }
}

impl DoubleEndedIterator for Parts<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match self {
            Parts::Whole(parts) => parts.next_back(),
            Parts::Cut(parts) => parts.next_back(),
        }
    }
}

/// Splits a cluster between joined consonants.
fn parts(cluster: &str) -> Parts<'_> {
    if cluster.len() == 1 || !cluster.chars().any(joins) {
        return Parts::Whole(Some(cluster).into_iter());
    }
    let mut cuts = vec![0];
    let mut before: Option<(usize, char)> = None;
    for (at, c) in cluster.char_indices() {
        // If these two characters alone are separate clusters, no other rule joins them.
        if let Some((from, _)) = before
            && c.is_alphabetic()
            && graphemes(cluster, from, at + c.len_utf8()).count() > 1
        {
            cuts.push(at);
        }
        before = Some((at, c));
    }
    cuts.push(cluster.len());
    let cut: Vec<&str> = cuts.windows(2).filter_map(|cut| cluster.get(cut[0]..cut[1])).collect();
    Parts::Cut(cut.into_iter())
}

fn graphemes(text: &str, from: usize, to: usize) -> Graphemes<'_> {
    text.get(from..to).unwrap_or_default().graphemes(true)
}
