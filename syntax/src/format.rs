//! The canonical style of files.
//!
//! Only blanks change, with three exceptions:
//!
//! - A value that is a single quoted interpolation becomes the expression in it: `"${a}"` becomes `a`. Line breaks at
//!   both ends of the expression are removed. If the expression still has several lines, it gets parentheses.
//! - Labels of blocks get quotes, and lose the comments between them.
//! - Old spellings of types in `variable` blocks are replaced by new spellings.
//!
//! Other line breaks do not change. The layout depends only on tokens ([`layout`], [`spacing`]).

mod layout;
mod spacing;

use std::ops::Range;
use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;

use crate::body::{Attribute, Block, BodyId};
use crate::parse::parse_file;
use crate::token::TokenKind;
use crate::tree::{Root, Tree};

/// A token of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece<'text> {
    kind: TokenKind,
    text: &'text str,
    /// The number of blanks before the token. The layout sets this number.
    spaces: usize,
}

impl<'text> Piece<'text> {
    const fn new(kind: TokenKind, text: &'text str) -> Piece<'text> {
        Piece { kind, text, spaces: 0 }
    }
}

/// The replacement of a range of tokens.
struct Edit<'text> {
    tokens: Range<usize>,
    pieces: Vec<Piece<'text>>,
}

/// The text of a file in canonical style. Returns the errors of the file if there are any.
pub fn format(name: &str, text: Arc<str>) -> Result<String, Vec<Diagnostic>> {
    let (tree, found) = parse_file(name, text);
    if !found.is_empty() {
        return Err(found);
    }
    let mut edits = edits(&tree);
    edits.sort_by_key(|edit| edit.tokens.start);
    let mut pieces = Vec::with_capacity(tree.tokens().len());
    let mut next = 0;
    for edit in edits {
        pieces.extend(kept(&tree, next..edit.tokens.start));
        pieces.extend(edit.pieces);
        next = edit.tokens.end.max(next);
    }
    pieces.extend(kept(&tree, next..tree.tokens().len()));
    let mut text = layout::write(&mut pieces);
    // Blanks after the last line end stay.
    if let [.., last, _] = tree.tokens()
        && last.kind == TokenKind::Blank
    {
        text.extend(std::iter::repeat_n(' ', last.span.len() as usize));
    }
    Ok(text)
}

/// The tokens of this range, without blanks.
fn kept(tree: &Tree, tokens: Range<usize>) -> impl Iterator<Item = Piece<'_>> {
    let tokens = tree.tokens().get(tokens).unwrap_or_default().iter();
    let out = [TokenKind::Blank, TokenKind::ByteOrderMark, TokenKind::End];
    tokens.filter(move |token| !out.contains(&token.kind)).map(|token| Piece::new(token.kind, tree.text(token.span)))
}

/// The tokens that a span covers.
fn tokens_of(tree: &Tree, span: crate::source::Span) -> Range<usize> {
    let tokens = tree.tokens();
    let start = tokens.partition_point(|token| token.span.start < span.start);
    let end = tokens.partition_point(|token| token.span.start < span.end);
    start..end.max(start)
}

/// All edits that change more than blanks.
fn edits(tree: &Tree) -> Vec<Edit<'_>> {
    let Root::Body(root) = tree.root() else { return Vec::new() };
    let mut edits = Vec::new();
    // The bodies to visit. The flag says whether the body belongs to a `variable` block of the file.
    let mut pending: Vec<(BodyId, bool)> = vec![(root, false)];
    while let Some((id, is_variable)) = pending.pop() {
        let body = tree.body(id);
        for attribute in &body.attributes {
            edits.extend(if is_variable && attribute.name.text == "type" {
                type_edit(tree, attribute)
            } else {
                value_edit(tree, attribute)
            });
        }
        for block in &body.blocks {
            edits.extend(label_edit(tree, block));
            pending.push((block.body, id == root && block.block_type.text == "variable"));
        }
    }
    edits
}

/// Puts labels in quotes, separated by one blank, without comments between them.
fn label_edit<'tree>(tree: &'tree Tree, block: &'tree Block) -> Option<Edit<'tree>> {
    let start = tokens_of(tree, block.block_type.span).end;
    let end = tokens_of(tree, block.labels.last()?.span).end;
    let mut pieces = Vec::new();
    for label in &block.labels {
        if label.quoted {
            pieces.extend(kept(tree, tokens_of(tree, label.span)));
        } else {
            pieces.push(Piece::new(TokenKind::OpenQuote, "\""));
            pieces.push(Piece::new(TokenKind::QuotedText, &label.text));
            pieces.push(Piece::new(TokenKind::CloseQuote, "\""));
        }
    }
    Some(Edit { tokens: start..end, pieces })
}

/// Turns `"${x}"` into `x`. A value over several lines gets parentheses, unless it already has them.
fn value_edit<'tree>(tree: &'tree Tree, attribute: &Attribute) -> Option<Edit<'tree>> {
    let tokens = tokens_of(tree, tree.node(attribute.expression).span);
    let pieces: Vec<_> = kept(tree, tokens.clone()).collect();
    let [open, begin, inside @ .., end, close] = pieces.as_slice() else { return None };
    let outside = [open.kind, begin.kind, end.kind, close.kind];
    let interpolation =
        [TokenKind::OpenQuote, TokenKind::OpenInterpolation, TokenKind::CloseSequence, TokenKind::CloseQuote];
    if outside != interpolation || inside.is_empty() || !is_single(inside) {
        return None;
    }
    let is_newline = |piece: &Piece<'_>| piece.kind == TokenKind::Newline;
    let first = inside.iter().position(|piece| !is_newline(piece))?;
    let last = inside.iter().rposition(|piece| !is_newline(piece))?;
    let inside = inside.get(first..=last)?;
    let has_parentheses =
        inside.first()?.kind == TokenKind::OpenParenthesis && inside.last()?.kind == TokenKind::CloseParenthesis;
    let mut pieces = inside.to_vec();
    if inside.iter().any(is_newline) && !has_parentheses {
        pieces.insert(0, Piece::new(TokenKind::OpenParenthesis, "("));
        pieces.push(Piece::new(TokenKind::CloseParenthesis, ")"));
    }
    Some(Edit { tokens, pieces })
}

/// Whether a string consists of a single interpolation, without other sequences and without text. `inside` are the
/// tokens between the first `${` and the last `}` of the string.
fn is_single(inside: &[Piece<'_>]) -> bool {
    let mut quotes = 0usize;
    inside.iter().all(|piece| {
        match piece.kind {
            TokenKind::OpenQuote => quotes += 1,
            TokenKind::CloseQuote => match quotes.checked_sub(1) {
                Some(less) => quotes = less,
                None => return false,
            },
            TokenKind::OpenInterpolation | TokenKind::CloseSequence | TokenKind::QuotedText => return quotes > 0,
            _ => {}
        }
        true
    })
}

/// Turns `"string"` into `string`, `list` into `list(any)`, and so on.
fn type_edit<'tree>(tree: &'tree Tree, attribute: &Attribute) -> Option<Edit<'tree>> {
    let tokens = tokens_of(tree, tree.node(attribute.expression).span);
    let pieces: Vec<_> = kept(tree, tokens.clone()).collect();
    let (word, element) = match pieces.as_slice() {
        [Piece { kind: TokenKind::Identifier, text: text @ ("list" | "map" | "set"), .. }] => (*text, Some("any")),
        [open, Piece { kind: TokenKind::QuotedText, text, .. }, _] if open.kind == TokenKind::OpenQuote => {
            match *text {
                "string" => ("string", None),
                "list" | "map" => (*text, Some("string")),
                _ => return None,
            }
        }
        _ => return None,
    };
    let mut pieces = vec![Piece::new(TokenKind::Identifier, word)];
    if let Some(element) = element {
        pieces.push(Piece::new(TokenKind::OpenParenthesis, "("));
        pieces.push(Piece::new(TokenKind::Identifier, element));
        pieces.push(Piece::new(TokenKind::CloseParenthesis, ")"));
    }
    Some(Edit { tokens, pieces })
}
