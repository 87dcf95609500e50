//! Changes of a configuration for a test: replaces providers, and reduces modules to their variables and outputs.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::quoted;
use weft_graph_format::source::Position;
use weft_graph_format::value::{Kind, Value};
use weft_syntax::Expression;

use super::test_file::GivenValues;
use super::{CompiledModule, Output, ProviderBlock};

/// The file name of expressions that are not in a file.
const MADE: &str = "<test>";

impl ProviderBlock {
    /// Whether the block has `for_each`.
    pub fn is_repeated(&self) -> bool {
        self.for_each.is_some()
    }

    /// The expression in `for_each`, as written.
    pub fn repetition_text(&self) -> Option<&str> {
        self.for_each.as_ref().map(Expression::text)
    }

    /// The block without `for_each`.
    #[must_use]
    pub fn once(&self) -> ProviderBlock {
        ProviderBlock { for_each: None, ..self.clone() }
    }

    /// The block with the literal value `value` as its `for_each`.
    #[must_use]
    pub fn repeated_over(&self, value: &Value) -> ProviderBlock {
        ProviderBlock { for_each: Some(made(value)), ..self.clone() }
    }
}

impl CompiledModule {
    /// The module, reduced to its variables and outputs. The outputs have the values in `values`. Outputs without an
    /// entry in `values` are null.
    #[must_use]
    pub fn reduced_to_outputs(&self, values: &GivenValues) -> CompiledModule {
        let output = |(name, output): (&SmolStr, &Arc<Output>)| {
            let output = Output {
                name: name.clone(),
                value: values.get(name).map_or_else(|| parsed("null"), made),
                description: output.description.clone(),
                sensitive: output.sensitive,
                ephemeral: output.ephemeral,
                deprecated: output.deprecated.clone(),
                depends_on: Vec::new(),
                preconditions: Vec::new(),
                references: Vec::new(),
                range: output.range.clone(),
            };
            (name.clone(), Arc::new(output))
        };
        let mut left = CompiledModule {
            path: self.path.clone(),
            dir: self.dir.clone(),
            variables: self.variables.clone(),
            outputs: self.outputs.iter().map(output).collect(),
            ..CompiledModule::default()
        };
        left.settings.experiments = self.settings.experiments;
        left.settings.required_providers = self.settings.required_providers.clone();
        left
    }
}

/// An expression that evaluates to a value. Marks are lost, and unknown values become null.
fn made(value: &Value) -> Expression {
    parsed(&literal(value))
}

fn parsed(text: &str) -> Expression {
    weft_syntax::parse_expression(MADE, Arc::from(text), Position::START).0
}

fn literal(value: &Value) -> String {
    let list = |items: &[Value]| items.iter().map(literal).collect::<Vec<_>>().join(", ");
    let entry = |(name, value): (&SmolStr, &Value)| format!("{} = {}", quoted(name), literal(value));
    match value.open().1 {
        Kind::Bool(value) => value.to_string(),
        Kind::Number(number) => number.to_string(),
        Kind::String(text) => quoted(text),
        Kind::List(items) => format!("tolist([{}])", list(items.items())),
        Kind::Set(items) => format!("toset([{}])", list(items.items())),
        Kind::Tuple(items) => format!("[{}]", list(items.items())),
        Kind::Map(fields) => format!("tomap({{ {} }})", fields.iter().map(entry).collect::<Vec<_>>().join(", ")),
        Kind::Object(fields) => format!("{{ {} }}", fields.iter().map(entry).collect::<Vec<_>>().join(", ")),
        Kind::Null(_) | Kind::Unknown(_) | Kind::Provider(_) => "null".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_expressions::constant::evaluate_constant;
    use weft_graph_format::types::Type;

    #[test]
    fn literals_give_their_values() {
        let values = [
            Value::string("a ${b} \"c\" %{d}\n"),
            Value::int(-3),
            Value::object([("k-1", Value::tuple(vec![Value::bool(true), Value::null(Type::Dynamic)]))]),
            Value::empty_object(),
        ];
        for value in values {
            let (found, problems) = evaluate_constant(&made(&value));
            assert!(problems.is_empty() && found.same_content(&value), "{}", literal(&value));
        }
    }
}
