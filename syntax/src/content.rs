//! Questions about a tree that have an answer in both syntaxes. For JSON, the caller must supply the roles of the names
//! of a body.

use std::borrow::Cow;

use weft_graph_format::diagnostic::Diagnostic;

use crate::body::{Attribute, Body, BodyId, NameRole};
use crate::json;
use crate::source::Span;
use crate::tree::{Syntax, Tree};

/// The content of a body, read with the roles of its names.
pub struct BodyView<'tree> {
    /// The content. In the JSON syntax, names without a role are among the attributes.
    pub body: Cow<'tree, Body>,
    /// Problems of the form of the body. Empty in the native syntax, where parsing reports them.
    pub problems: Vec<Diagnostic>,
}

impl Tree {
    /// The content of a body. `role` returns the roles of the body's names. The native syntax itself shows the roles,
    /// so a native body is returned unchanged.
    pub fn content<'tree, 'role>(&'tree self, id: BodyId, role: &dyn Fn(&str) -> NameRole<'role>) -> BodyView<'tree> {
        match self.syntax {
            Syntax::Native => BodyView { body: Cow::Borrowed(self.body(id)), problems: Vec::new() },
            Syntax::Json => {
                let (body, problems) = json::content(self, id, role);
                BodyView { body: Cow::Owned(body), problems }
            }
        }
    }

    /// The content of a body in which every name is an argument, except for those that are `hidden`.
    pub fn arguments(&self, id: BodyId, hidden: &dyn Fn(&str) -> bool) -> BodyView<'_> {
        match self.syntax {
            Syntax::Native => BodyView { body: Cow::Borrowed(self.body(id)), problems: Vec::new() },
            Syntax::Json => {
                let (body, problems) = json::arguments(self, id, hidden);
                BodyView { body: Cow::Owned(body), problems }
            }
        }
    }

    /// One argument of a body. All other content of the body is ignored.
    pub fn argument(&self, id: BodyId, name: &str) -> Option<Attribute> {
        let role = |found: &str| if found == name { NameRole::Argument } else { NameRole::Hidden };
        self.content(id, &role).body.attribute(name).cloned()
    }

    /// The source range for a diagnostic about a missing argument or block of a body. `None` in the native syntax,
    /// which has no such range.
    pub fn missing_span(&self, id: BodyId) -> Option<Span> {
        (self.syntax == Syntax::Json).then(|| json::missing_of(self, id))
    }

    /// The text of a span in the form of the native syntax: within JSON strings, escapes are resolved.
    pub fn native_text(&self, span: Span) -> Cow<'_, str> {
        match self.syntax {
            Syntax::Native => Cow::Borrowed(self.text(span)),
            Syntax::Json => json::unescaped(self.text(span)),
        }
    }
}
