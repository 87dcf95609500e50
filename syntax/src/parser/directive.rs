//! Directives of templates, matched with their end markers.

use crate::expression::{ExprId, ExprKind, Name, Template, TemplateForm, TemplatePart};
use crate::problems::templates as problems;
use crate::source::Span;

use super::Parser;
use super::frame::TemplatePiece;

/// A directive whose end has not been found yet.
enum OpenDirective {
    If { condition: ExprId, span: Span, then: Option<ExprId> },
    For { key_variable: Option<Name>, value_variable: Name, collection: ExprId, span: Span },
}

impl OpenDirective {
    /// The span of the marker that opened the directive.
    fn span(&self) -> Span {
        match self {
            OpenDirective::If { span, .. } | OpenDirective::For { span, .. } => *span,
        }
    }
}

/// Nested directives, innermost last, each with the surrounding parts.
struct Structure {
    form: TemplateForm,
    parts: Vec<TemplatePart>,
    open: Vec<(OpenDirective, Vec<TemplatePart>)>,
}

impl Structure {
    fn text(&mut self, text: String, span: Span) {
        if text.is_empty() {
            return;
        }
        self.parts.push(TemplatePart::Literal { text: text.into(), span });
    }
}

impl Parser<'_> {
    /// Builds a template from its pieces. Directives without a matching end are reported and become holes.
    pub(super) fn structure(
        &mut self,
        form: TemplateForm,
        pieces: Vec<TemplatePiece>,
        whole: Span,
        end: Span,
    ) -> Template {
        let mut structure = Structure { form, parts: Vec::new(), open: Vec::new() };
        let mut pieces = pieces.into_iter().peekable();
        while let Some(piece) = pieces.next() {
            match piece {
                TemplatePiece::Text { mut text, mut span } => {
                    // The pieces of a text over several lines form one part.
                    while let Some(TemplatePiece::Text { text: more, span: further }) =
                        pieces.next_if(|piece| matches!(piece, TemplatePiece::Text { .. }))
                    {
                        text.push_str(&more);
                        span = span.through(further);
                    }
                    structure.text(text, span);
                }
                TemplatePiece::Interpolation { expression, span } => {
                    structure.parts.push(TemplatePart::Interpolation { expression, span });
                }
                TemplatePiece::If { condition, span } => {
                    let outer = std::mem::take(&mut structure.parts);
                    structure.open.push((OpenDirective::If { condition, span, then: None }, outer));
                }
                TemplatePiece::For { key_variable, value_variable, collection, span } => {
                    let outer = std::mem::take(&mut structure.parts);
                    structure.open.push((OpenDirective::For { key_variable, value_variable, collection, span }, outer));
                }
                TemplatePiece::Else { span } => self.else_directive(&mut structure, span),
                TemplatePiece::EndIf { span } => self.end_directive(&mut structure, span, "endif"),
                TemplatePiece::EndFor { span } => self.end_directive(&mut structure, span, "endfor"),
            }
        }
        while let Some((open, outer)) = structure.open.pop() {
            let word = if matches!(open, OpenDirective::If { .. }) { "if" } else { "for" };
            let line = self.source.position(open.span().start).line;
            self.report_within(end, open.span(), problems::open_directive(word, line));
            self.abandon(&mut structure, outer, whole);
        }
        // Most templates have one part, and trees live long.
        structure.parts.shrink_to_fit();
        Template { form: structure.form, parts: structure.parts }
    }

    /// Turns a directive with its content into a hole of the surrounding template.
    fn abandon(&mut self, structure: &mut Structure, outer: Vec<TemplatePart>, span: Span) {
        let expression = self.hole(span);
        structure.parts = outer;
        structure.parts.push(TemplatePart::Interpolation { expression, span });
    }

    /// Turns the collected parts into a template.
    fn fragment(&mut self, structure: &mut Structure, after: Span, before: Span) -> ExprId {
        let parts = std::mem::take(&mut structure.parts);
        let span = Span::new(after.end, before.start.max(after.end));
        self.add(ExprKind::Template(Template { form: TemplateForm::Fragment, parts }), span)
    }

    fn else_directive(&mut self, structure: &mut Structure, span: Span) {
        match structure.open.pop() {
            Some((OpenDirective::If { condition, span: opened, then: None }, outer)) => {
                let then = Some(self.fragment(structure, opened, span));
                structure.open.push((OpenDirective::If { condition, span: opened.through(span), then }, outer));
            }
            Some((open, outer)) => {
                let problem = match open {
                    OpenDirective::If { .. } => problems::second_else(),
                    OpenDirective::For { .. } => problems::else_in_for(),
                };
                self.report_within(span, open.span().through(span), problem);
                self.abandon(structure, outer, open.span().through(span));
            }
            None => self.stray(structure, span, "else"),
        }
    }

    fn end_directive(&mut self, structure: &mut Structure, span: Span, word: &str) {
        match (structure.open.pop(), word) {
            (Some((OpenDirective::If { condition, span: opened, then }, outer)), "endif") => {
                let last = self.fragment(structure, opened, span);
                let (then, otherwise) = match then {
                    Some(then) => (then, Some(last)),
                    None => (last, None),
                };
                structure.parts = outer;
                let span = opened.through(span);
                structure.parts.push(TemplatePart::If { condition, then, otherwise, span });
            }
            (
                Some((OpenDirective::For { key_variable, value_variable, collection, span: opened }, outer)),
                "endfor",
            ) => {
                let body = self.fragment(structure, opened, span);
                structure.parts = outer;
                let span = opened.through(span);
                structure.parts.push(TemplatePart::For { key_variable, value_variable, collection, body, span });
            }
            (Some((open, outer)), _) => {
                let wanted = if matches!(open, OpenDirective::If { .. }) { "endif" } else { "endfor" };
                let line = self.source.position(open.span().start).line;
                let context = open.span().through(span);
                self.report_within(span, context, problems::wrong_end(word, line, wanted));
                self.abandon(structure, outer, context);
            }
            (None, _) => self.stray(structure, span, word),
        }
    }

    /// Reports an `else` or an end marker without an open directive.
    fn stray(&mut self, structure: &mut Structure, span: Span, word: &str) {
        self.report(span, problems::no_open_directive(word));
        let expression = self.hole(span);
        structure.parts.push(TemplatePart::Interpolation { expression, span });
    }
}
