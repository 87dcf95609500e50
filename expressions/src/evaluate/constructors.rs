//! Object constructors.

use std::collections::BTreeSet;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::marks::Marks;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_syntax::{ExprId, KeyForm, ObjectItem};

use super::Evaluator;
use crate::convert::convert;
use crate::problems::objects as problems;
use crate::symbolic;

/// The key of an item as text, if the key is known, and the marks of the key. The problem has no source range.
pub(crate) fn constructor_key(key: &Value) -> Result<(Option<SmolStr>, Marks), Diagnostic> {
    if key.is_null() {
        return Err(problems::null_key());
    }
    let key = convert(key, &Type::String).map_err(|error| problems::unsuitable_key(&error))?;
    Ok((key.as_str().map(SmolStr::new), key.marks().clone()))
}

impl Evaluator<'_> {
    /// Evaluates `{ a = b }`. A later item replaces an earlier item with the same key. The JSON syntax does not allow
    /// duplicates.
    pub(super) fn object(&mut self, items: &[ObjectItem], id: ExprId) -> Value {
        let mut attributes: Vec<(SmolStr, Value)> = Vec::with_capacity(items.len());
        let mut all: Vec<(Value, Value)> = Vec::with_capacity(items.len());
        let mut marks = Marks::NONE;
        let mut open = false;
        let mut has_formula = false;
        let mut failure = None;
        let mut properties = BTreeSet::new();
        for item in items {
            let key = match &item.form {
                KeyForm::Bare(name) => Value::string(name),
                KeyForm::Ambiguous => {
                    let value = self.fail(problems::ambiguous_key(), self.span(item.key), id);
                    failure.get_or_insert(value);
                    self.value(item.value);
                    continue;
                }
                KeyForm::Parenthesised | KeyForm::Expression | KeyForm::Property(_) => {
                    let (key, failed) = self.checked(item.key);
                    if failed {
                        failure.get_or_insert(key);
                        self.value(item.value);
                        continue;
                    }
                    key
                }
            };
            let value = self.value(item.value);
            let is_property = matches!(item.form, KeyForm::Property(_));
            match constructor_key(&key) {
                Err(problem) => {
                    let problem = if is_property { problems::invalid_property(problem) } else { problem };
                    let value = self.fail(problem, self.span(item.key), id);
                    failure.get_or_insert(value);
                    continue;
                }
                Ok((name, key_marks)) => {
                    marks = marks.union(&key_marks);
                    has_formula |= key.deep().formula;
                    match name {
                        Some(name) if is_property && !properties.insert(name.clone()) => {
                            let value = self.fail(problems::duplicate_property(&name), self.span(item.key), id);
                            failure.get_or_insert(value);
                            continue;
                        }
                        Some(name) => attributes.push((name, value.clone())),
                        None => open = true,
                    }
                }
            }
            all.push((key, value));
        }
        if let Some(failure) = failure {
            return failure;
        }
        let object = if open { Value::unknown(Type::Dynamic) } else { Value::object(attributes) };
        if open && !has_formula {
            // During validation, no formula computes the value. As in OpenTofu, the value does not get the marks of its
            // keys in this case. The plan adds these marks.
            marks = Marks::NONE;
        }
        let object = object.mark(&marks);
        if !open && !has_formula {
            return all.iter().fold(object, |object, (key, _)| object.add_origin(key.origin()));
        }
        let parts = all.iter().map(|(key, value)| (key.to_formula(), value.to_formula())).collect();
        let formula = Formula::new(FormulaOp::ObjectOf(parts), object.ty(), Some(self.range(id)));
        let everything: Vec<Value> = all.into_iter().flat_map(|(key, value)| [key, value]).collect();
        symbolic::replace_formulas(&object, &formula).add_origin(symbolic::joined_origin(&everything).as_ref())
    }
}
