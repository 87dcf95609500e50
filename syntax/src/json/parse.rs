//! Builds the nodes of expressions from JSON tokens: objects, tuples, literals, and strings as templates.
//!
//! The parser is a loop over a stack of open objects and arrays, without recursion. It reports a problem of a value
//! once and leaves a hole. Then it continues after the apparent end of the value, like OpenTofu's parser, so that it
//! finds the same problems in the same positions (source: the JSON parser of HCL).

use weft_graph_format::diagnostic::Diagnostic;

use super::graft::Parsed;
use super::scan::{JsonToken, Scanner};
use super::string::{Decoded, decode, is_template};
use crate::MAX_NESTING;
use crate::expression::{
    ExprId, ExprKind, ExprNode, KeyForm, Literal, ObjectItem, Template, TemplateForm, TemplatePart, UnaryOperator,
};
use crate::parser::Goal;
use crate::problems::json as problems;
use crate::source::{SourceFile, Span, offset};

/// An object or an array that is still open.
enum OpenContainer {
    /// The content of an object so far, and the key whose value is expected.
    Object { open: Span, items: Vec<ObjectItem>, key: Option<(ExprId, KeyForm)> },
    /// The content of an array so far.
    Array { open: Span, items: Vec<ExprId> },
}

/// The next expected part.
enum Want {
    /// A value.
    Value,
    /// A property of the innermost object, or its end.
    Property,
    /// An element of the innermost array, or its end.
    Element,
    /// Nothing: a value is complete.
    Done(ExprId),
}

pub(super) struct JsonParser<'source> {
    source: &'source SourceFile,
    scanner: Scanner<'source>,
    containers: Vec<OpenContainer>,
    pub(super) nodes: Vec<ExprNode>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Whether the nesting is too deep. The rest of the text is then skipped.
    too_deep: bool,
}

impl<'source> JsonParser<'source> {
    pub(super) fn new(source: &'source SourceFile) -> JsonParser<'source> {
        JsonParser {
            source,
            scanner: Scanner::new(source.text()),
            containers: Vec::new(),
            nodes: Vec::new(),
            diagnostics: Vec::new(),
            too_deep: false,
        }
    }

    /// Reads the whole text as the value of a file.
    pub(super) fn file(&mut self) -> ExprId {
        let root = self.value();
        if self.too_deep {
            return self.nothing();
        }
        if self.diagnostics.is_empty() && self.scanner.peek() != JsonToken::End {
            let place = self.scanner.place();
            self.report(place, problems::more_after_value());
        }
        let node = self.nodes.get(root.index());
        if matches!(node, Some(ExprNode { kind: ExprKind::Object { .. } | ExprKind::Tuple { .. }, .. })) {
            return root;
        }
        let begins = node.map_or(Span::empty(0), |node| node.span);
        self.report(begins, problems::no_root_object());
        self.nothing()
    }

    /// Adds an empty object in place of an invalid file, so that no further problem is reported.
    fn nothing(&mut self) -> ExprId {
        self.add(ExprKind::Object { items: Vec::new() }, Span::empty(0))
    }

    fn value(&mut self) -> ExprId {
        let mut want = Want::Value;
        loop {
            want = match want {
                Want::Value => self.begin(),
                Want::Property => self.property(),
                Want::Element => match self.scanner.peek() {
                    JsonToken::CloseBracket => self.close(),
                    _ => Want::Value,
                },
                Want::Done(id) => match self.containers.pop() {
                    None => return id,
                    Some(OpenContainer::Object { open, items, key }) => self.object_got(open, items, key, id),
                    Some(OpenContainer::Array { open, items }) => self.array_got(open, items, id),
                },
            };
        }
    }

    fn add(&mut self, kind: ExprKind, span: Span) -> ExprId {
        let id = ExprId(offset(self.nodes.len()));
        self.nodes.push(ExprNode { kind, span });
        id
    }

    fn hole(&mut self, span: Span) -> Want {
        Want::Done(self.add(ExprKind::Error, span))
    }

    fn report(&mut self, span: Span, problem: Diagnostic) {
        if !self.too_deep {
            self.diagnostics.push(problem.at(self.source.range(span)));
        }
    }

    /// Reads the first token of a value, which may be the whole value.
    fn begin(&mut self) -> Want {
        let place = self.scanner.place();
        let problem = match self.scanner.peek() {
            kind @ (JsonToken::OpenBrace | JsonToken::OpenBracket) => {
                self.scanner.take();
                return self.open(kind, place);
            }
            JsonToken::Number => {
                self.scanner.take();
                return self.number(place);
            }
            JsonToken::String => {
                self.scanner.take();
                return self.string(place);
            }
            JsonToken::Keyword => {
                self.scanner.take();
                return self.keyword(place);
            }
            JsonToken::End => {
                self.report(place, problems::no_value());
                return self.hole(place);
            }
            JsonToken::CloseBrace => problems::brace_for_value(),
            JsonToken::CloseBracket => problems::bracket_for_value(),
            _ => problems::invalid_value(),
        };
        self.report(place, problem);
        self.hole(place)
    }

    fn open(&mut self, kind: JsonToken, open: Span) -> Want {
        if self.containers.len() >= MAX_NESTING {
            self.report(open, problems::too_deep(MAX_NESTING));
            self.too_deep = true;
            while self.scanner.peek() != JsonToken::End {
                self.scanner.take();
            }
            self.containers.clear();
            return self.hole(open);
        }
        if kind == JsonToken::OpenBrace {
            self.containers.push(OpenContainer::Object { open, items: Vec::new(), key: None });
            return Want::Property;
        }
        self.containers.push(OpenContainer::Array { open, items: Vec::new() });
        Want::Element
    }

    /// Reads the closing bracket of the innermost object or array.
    fn close(&mut self) -> Want {
        let (_, close) = self.scanner.take();
        match self.containers.pop() {
            Some(OpenContainer::Object { open, items, .. }) => {
                Want::Done(self.add(ExprKind::Object { items }, open.through(close)))
            }
            Some(OpenContainer::Array { open, items }) => {
                Want::Done(self.add(ExprKind::Tuple { items }, open.through(close)))
            }
            None => self.hole(close),
        }
    }

    /// Reads the key of a property with its colon, or the end of the object.
    fn property(&mut self) -> Want {
        if self.scanner.peek() == JsonToken::CloseBrace {
            return self.close();
        }
        // A key is parsed like any value. When the key is complete, `key` checks that it is a string.
        Want::Value
    }

    /// Handles a complete value within an object. If no key waits for its value, the complete value is a key. Otherwise
    /// it is the value of the waiting key.
    fn object_got(
        &mut self,
        open: Span,
        mut items: Vec<ObjectItem>,
        key: Option<(ExprId, KeyForm)>,
        id: ExprId,
    ) -> Want {
        let Some((key, form)) = key else { return self.key(open, items, id) };
        items.push(ObjectItem { key, form, value: id });
        match self.scanner.peek() {
            JsonToken::Comma => {
                let (_, comma) = self.scanner.take();
                if self.scanner.peek() == JsonToken::CloseBrace {
                    self.report(comma, problems::trailing_comma_in_object());
                    return self.hole(open);
                }
            }
            JsonToken::End => {
                self.report(open, problems::unclosed_object());
                return self.hole(open);
            }
            JsonToken::CloseBracket => {
                let (_, bracket) = self.scanner.take();
                self.report(bracket, problems::bracket_for_brace());
                return self.hole(open);
            }
            JsonToken::CloseBrace => {}
            _ => {
                self.skip_object();
                let place = self.scanner.place();
                self.report(place, problems::no_comma_in_object());
                return self.hole(open);
            }
        }
        self.containers.push(OpenContainer::Object { open, items, key: None });
        Want::Property
    }

    fn key(&mut self, open: Span, items: Vec<ObjectItem>, id: ExprId) -> Want {
        let span = self.nodes.get(id.index()).map_or(open, |node| node.span);
        let name = match self.source.slice(span) {
            text if text.starts_with('"') => decode(text, span.start).ok().map(|decoded| decoded.text.into()),
            _ => None,
        };
        let Some(name) = name else {
            let start = Span::new(span.start, span.start.saturating_add(1).min(span.end));
            self.report(start, problems::invalid_name());
            return self.hole(open);
        };
        if self.scanner.peek() != JsonToken::Colon {
            let (kind, place) = self.scanner.take();
            self.skip_object_from(kind);
            let problem = match kind {
                JsonToken::CloseBrace | JsonToken::Comma => problems::no_property_value(),
                JsonToken::Equals => problems::equals_for_colon(),
                _ => problems::no_colon(),
            };
            self.report(place, problem);
            return self.hole(open);
        }
        self.scanner.take();
        self.containers.push(OpenContainer::Object { open, items, key: Some((id, KeyForm::Property(name))) });
        Want::Value
    }

    fn array_got(&mut self, open: Span, mut items: Vec<ExprId>, id: ExprId) -> Want {
        items.push(id);
        match self.scanner.peek() {
            JsonToken::Comma => {
                let (_, comma) = self.scanner.take();
                if self.scanner.peek() == JsonToken::CloseBracket {
                    self.report(comma, problems::trailing_comma_in_array());
                    return self.hole(open);
                }
            }
            JsonToken::Colon => {
                self.skip_array();
                let place = self.scanner.place();
                self.report(place, problems::colon_in_array());
                return self.hole(open);
            }
            JsonToken::End => {
                self.report(open, problems::unclosed_array());
                return self.hole(open);
            }
            JsonToken::CloseBrace => {
                let place = self.scanner.place();
                self.skip_array();
                self.report(place, problems::brace_for_bracket());
                return self.hole(open);
            }
            JsonToken::CloseBracket => {}
            _ => {
                self.skip_array();
                let place = self.scanner.place();
                self.report(place, problems::no_comma_in_array());
                return self.hole(open);
            }
        }
        self.containers.push(OpenContainer::Array { open, items });
        Want::Element
    }

    fn skip_object(&mut self) {
        let (kind, _) = self.scanner.take();
        self.skip_object_from(kind);
    }

    /// Continues after the closing brace of the open object, or of an object within it.
    fn skip_object_from(&mut self, first: JsonToken) {
        self.skip(first, JsonToken::OpenBrace, JsonToken::CloseBrace);
    }

    fn skip_array(&mut self) {
        let (kind, _) = self.scanner.take();
        self.skip(kind, JsonToken::OpenBracket, JsonToken::CloseBracket);
    }

    /// Skips tokens up to and including a `close` token: the end of the surrounding object or array, or the end of one
    /// that is directly within it, whichever comes first. `first` has already been consumed.
    fn skip(&mut self, first: JsonToken, open: JsonToken, close: JsonToken) {
        let mut depth = 1_usize;
        let mut kind = first;
        while kind != JsonToken::End {
            if kind == open {
                depth += 1;
            } else if kind == close {
                depth = depth.saturating_sub(1);
                if depth <= 1 {
                    return;
                }
            }
            (kind, _) = self.scanner.take();
        }
    }

    fn number(&mut self, span: Span) -> Want {
        let text = self.source.slice(span);
        if !is_number(text.as_bytes()) {
            self.report(span, problems::invalid_number());
            return self.hole(span);
        }
        let (digits, negative) = match text.strip_prefix('-') {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        let behind = span.start.saturating_add(u32::from(negative));
        let literal = ExprKind::Literal(Literal::Number(digits.into()));
        let operand = self.add(literal, Span::new(behind, span.end));
        if !negative {
            return Want::Done(operand);
        }
        let operator_span = Span::new(span.start, behind);
        Want::Done(self.add(ExprKind::Unary { operator: UnaryOperator::Negate, operator_span, operand }, span))
    }

    fn keyword(&mut self, span: Span) -> Want {
        let literal = match self.source.slice(span) {
            "true" => Literal::Bool(true),
            "false" => Literal::Bool(false),
            "null" => Literal::Null,
            other => {
                let lower = other.to_ascii_lowercase();
                let meant = ["true", "false", "null"].into_iter().find(|word| {
                    let begins = lower.len() >= 2 && (word.starts_with(&lower) || lower.starts_with(*word));
                    begins || (lower.len() == word.len() && differences(&lower, word) <= 1)
                });
                self.report(span, problems::invalid_keyword(other, meant));
                return self.hole(span);
            }
        };
        Want::Done(self.add(ExprKind::Literal(literal), span))
    }

    fn string(&mut self, span: Span) -> Want {
        let decoded = match decode(self.source.slice(span), span.start) {
            Ok(decoded) => decoded,
            Err(wrong) => {
                let at = span.start.saturating_add(wrong);
                let subject = self.source.range(Span::new(at, at.saturating_add(1)));
                let problem = problems::invalid_string().at(subject);
                self.diagnostics.push(problem.within(self.source.range(span)));
                return self.hole(span);
            }
        };
        if is_template(&decoded.text) {
            let parsed = Parsed::new(self.source, &decoded, Goal::Template, self.containers.len());
            // Not every string is a template. Code that uses a string as a template must ask for the string's problems.
            return match parsed.problems.is_empty() {
                true => Want::Done(parsed.append(&mut self.nodes, span)),
                false => self.hole(span),
            };
        }
        Want::Done(self.add(plain_string(&decoded, span), span))
    }
}

/// The string at `span` as a template that contains only literal text.
pub(super) fn plain_string(decoded: &Decoded<'_>, span: Span) -> ExprKind {
    let inside = Span::new(span.start.saturating_add(1), span.end.saturating_sub(1));
    let parts = match decoded.text.is_empty() {
        true => Vec::new(),
        false => vec![TemplatePart::Literal { text: decoded.text.as_ref().into(), span: inside }],
    };
    ExprKind::Template(Template { form: TemplateForm::Bare, parts })
}

/// The number of characters that differ between two words of equal length.
fn differences(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).filter(|(a, b)| a != b).count()
}

/// Whether a text is a JSON number: digits without a redundant zero, optionally with a minus sign, a fraction and an
/// exponent.
fn is_number(bytes: &[u8]) -> bool {
    let digits = |from: &[u8]| from.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest.starts_with(b"0")) {
        return false;
    }
    rest = rest.get(whole..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = fraction.get(length..).unwrap_or_default();
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', unsigned @ ..] => unsigned,
            unsigned => unsigned,
        };
        let length = digits(exponent);
        if length == 0 {
            return false;
        }
        rest = exponent.get(length..).unwrap_or_default();
    }
    rest.is_empty()
}
