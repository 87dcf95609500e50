//! The layout of lines: their indentation, and the alignment of their cells.
//!
//! A line has up to three cells: the start, an assignment from its equals sign on, and a comment at the end of the
//! line. In consecutive lines, the second cells begin in the same column, and so do the third cells.

use unicode_segmentation::UnicodeSegmentation;

use crate::token::TokenKind;

use super::Piece;
use super::spacing::{bracket_change, is_spaced};

/// The number of blanks for each level of nesting.
const INDENT: usize = 2;

/// A line, as indices into the pieces. The line ends before its newline.
struct Line {
    start: usize,
    /// Start of the assignment; start of the comment if there is no assignment.
    assign: usize,
    /// Start of the comment; end of the line if there is no comment.
    comment: usize,
    end: usize,
    /// Index after the newline.
    next: usize,
}

impl Line {
    fn has_assignment(&self) -> bool {
        self.assign < self.comment
    }

    fn has_comment(&self) -> bool {
        self.comment < self.end
    }
}

/// Returns the text of the pieces in canonical layout.
pub(super) fn write(pieces: &mut [Piece<'_>]) -> String {
    let lines = lines(pieces);
    indent(pieces, &lines);
    for line in &lines {
        space(pieces, line.start, line.assign);
        space(pieces, line.assign, line.comment);
    }
    align(pieces, &lines, Line::has_assignment, |line| line.assign);
    align(pieces, &lines, Line::has_comment, |line| line.comment);
    let mut text = String::new();
    for piece in pieces.iter() {
        text.extend(std::iter::repeat_n(' ', piece.spaces));
        text.push_str(piece.text);
    }
    text
}

/// Splits pieces into lines, and lines into cells.
fn lines(pieces: &[Piece<'_>]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = 0;
    while start < pieces.len() {
        let rest = pieces.get(start..).unwrap_or_default();
        let length = rest.iter().position(|piece| piece.kind == TokenKind::Newline);
        let end = length.map_or(pieces.len(), |length| start + length);
        let next = length.map_or(pieces.len(), |length| start + length + 1);
        let is_comment = |at: usize| pieces.get(at).is_some_and(|piece| piece.kind == TokenKind::LineComment);
        let comment = if end > start + 1 && is_comment(end - 1) { end - 1 } else { end };
        lines.push(Line { start, assign: assignment(pieces, start, comment), comment, end, next });
        start = next;
    }
    lines
}

/// The position of the assignment in a line. An assignment whose value continues on further lines does not count.
fn assignment(pieces: &[Piece<'_>], start: usize, end: usize) -> usize {
    let line = pieces.get(start..end).unwrap_or_default();
    let Some(equals) = line.iter().position(|piece| piece.kind == TokenKind::Assign).filter(|at| *at > 0) else {
        return end;
    };
    let net: isize = line.iter().skip(equals).map(|piece| bracket_change(piece.kind)).sum();
    if net == 0 { start + equals } else { end }
}

/// Indents lines inside of brackets. All brackets that one line leaves open together indent the following lines by one
/// level. The level ends when all of these brackets are closed.
fn indent(pieces: &mut [Piece<'_>], lines: &[Line]) {
    let mut levels: Vec<isize> = Vec::new();
    for line in lines {
        let mut net = 0;
        let lead = pieces.get(line.start..line.assign).unwrap_or_default();
        for piece in lead {
            net += bracket_change(piece.kind);
            if piece.kind == TokenKind::OpenHeredoc {
                break;
            }
        }
        let rest = pieces.get(line.assign..line.comment).unwrap_or_default();
        net += rest.iter().map(|piece| bracket_change(piece.kind)).sum::<isize>();
        let mut closed = -net;
        while closed > 0 {
            let Some(level) = levels.last_mut() else { break };
            let here = closed.min(*level);
            closed -= here;
            *level -= here;
            if *level == 0 {
                levels.pop();
            }
        }
        if line.start < line.end
            && let Some(first) = pieces.get_mut(line.start)
        {
            first.spaces = INDENT * levels.len();
        }
        if net > 0 {
            levels.push(net);
        }
    }
}

/// Sets the blanks within a cell.
fn space(pieces: &mut [Piece<'_>], start: usize, end: usize) {
    for at in start + 1..end {
        let before = (at >= start + 2).then(|| pieces.get(at - 2)).flatten();
        let (Some(left), Some(right)) = (pieces.get(at - 1), pieces.get(at)) else { continue };
        let spaces = usize::from(is_spaced(before, left, right));
        if let Some(piece) = pieces.get_mut(at) {
            piece.spaces = spaces;
        }
    }
}

/// The number of columns of pieces, including their blanks.
fn columns(pieces: &[Piece<'_>]) -> usize {
    let width =
        |text: &str| if text.is_ascii() && !text.contains('\r') { text.len() } else { text.graphemes(true).count() };
    pieces.iter().map(|piece| piece.spaces + width(piece.text)).sum()
}

/// Aligns a cell in each group of consecutive lines that have this cell. In all lines of a group, the cell begins in
/// the same column, one blank after the widest text before it.
fn align(pieces: &mut [Piece<'_>], lines: &[Line], has: impl Fn(&Line) -> bool, begin: impl Fn(&Line) -> usize) {
    for run in lines.chunk_by(|one, other| has(one) == has(other)).filter(|run| run.first().is_some_and(&has)) {
        let widths: Vec<usize> =
            run.iter().map(|line| columns(pieces.get(line.start..begin(line)).unwrap_or_default())).collect();
        let widest = widths.iter().copied().max().unwrap_or_default();
        for (line, width) in run.iter().zip(widths) {
            if let Some(piece) = pieces.get_mut(begin(line)) {
                piece.spaces = widest - width + 1;
            }
        }
    }
    debug_assert!(lines.windows(2).all(|pair| matches!(pair, [one, other] if one.next == other.start)));
}
