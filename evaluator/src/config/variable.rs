//! `variable` blocks.

use std::sync::Arc;

use weft_expressions::constant::evaluate_constant;
use weft_expressions::convert::convert_with_defaults;
use weft_expressions::type_constraint::{TypeConstraint, variable_type};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::formula::TypeDefaults;
use weft_graph_format::types::Type;
use weft_syntax::Expression;

use super::Variable;
use super::compile::Compiling;
use super::content::{BlockRule, ContentRules, FoundBlock};
use super::literal::optional;

const VARIABLE: ContentRules = ContentRules {
    attributes: &[
        optional("type"),
        optional("default"),
        optional("description"),
        optional("sensitive"),
        optional("ephemeral"),
        optional("nullable"),
        optional("deprecated"),
        optional("const"),
    ],
    blocks: &[BlockRule { name: "validation", labels: &[] }],
    open: false,
};

/// Names that a variable cannot have, since module calls use them.
const RESERVED: &[&str] = &["source", "version", "providers", "count", "for_each", "lifecycle", "depends_on", "locals"];

/// A `variable` block.
pub(super) fn variable(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let name = block.labels[0].0.clone();
    let valid = compiling.identifier(&block.labels[0], "variable");
    if RESERVED.contains(&name.as_str()) {
        compiling.error(
            "Invalid variable name",
            format!("The variable name {name:?} is reserved: module calls use it for something else."),
            &block.labels[0].1,
        );
    }
    if let Some(first) = compiling.module.variables.get(&name) {
        let first = first.range.clone();
        compiling.duplicate("variable declaration", &name, &first, &block.range);
        return;
    }
    let content = compiling.content(block, &VARIABLE);
    let (ty, defaults, typed) = match content.get("type") {
        Some(expression) => match constraint(expression) {
            Ok(constraint) => (constraint.ty, constraint.defaults, true),
            Err(problems) => {
                compiling.diagnostics.extend(problems);
                (Type::Dynamic, TypeDefaults::default(), true)
            }
        },
        None => (Type::Dynamic, TypeDefaults::default(), false),
    };
    let nullable = compiling.flag(content.get("nullable"), true);
    if let Some(default) = content.get("default") {
        check_default(compiling, default, &ty, &defaults, nullable);
    }
    let validations: Vec<_> = content.blocks.iter().filter_map(|b| compiling.condition(b)).collect();
    let mut references = Vec::new();
    for validation in &validations {
        references.extend(compiling.references(&validation.condition));
        references.extend(compiling.references(&validation.error_message));
    }
    let variable = Variable {
        name: name.clone(),
        ty,
        typed,
        defaults,
        default: content.get("default").map(Expression::without_templates),
        description: compiling.text(content.get("description")),
        sensitive: compiling.flag(content.get("sensitive"), false),
        ephemeral: compiling.flag(content.get("ephemeral"), false),
        nullable,
        deprecated: compiling.text(content.get("deprecated")),
        constant: content.get("const").map(|given| compiling.flag(Some(given), false)),
        validations,
        references,
        range: block.range.clone(),
    };
    if valid {
        compiling.module.variables.insert(name, Arc::new(variable));
    }
}

/// A type constraint; in the JSON syntax it stands in a string.
fn constraint(expression: &Expression) -> Result<TypeConstraint, Vec<Diagnostic>> {
    // What is no expression is no type either, and that is said of the whole string.
    variable_type(&expression.unquoted().unwrap_or_else(|_| expression.clone()))
}

/// A default is written out and fits its type.
fn check_default(
    compiling: &mut Compiling<'_>,
    default: &Expression,
    ty: &Type,
    defaults: &TypeDefaults,
    nullable: bool,
) {
    let (value, problems) = evaluate_constant(default);
    if has_errors(&problems) {
        compiling.diagnostics.extend(problems);
        return;
    }
    const SUMMARY: &str = "Invalid default value for variable";
    match convert_with_defaults(&value, ty, defaults) {
        Err(problem) => compiling.error(
            SUMMARY,
            format!("This default value is not compatible with the type of the variable: {}.", problem.with_path()),
            &default.range(),
        ),
        Ok(value) if value.is_null() && !nullable => {
            compiling.error(SUMMARY, "A null default value is not valid when nullable is false.", &default.range())
        }
        Ok(_) => {}
    }
}
