//! `variable` blocks.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::constant::evaluate_constant;
use weft_expressions::convert::{apply_defaults, convert_with_defaults};
use weft_expressions::type_constraint::{TypeConstraint, variable_type_with};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::formula::TypeDefaults;
use weft_graph_format::marks::Marks;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_syntax::Expression;

use super::call_arguments::check_ignored;
use super::compiling::Compiling;
use super::content::{BlockRule, ContentRules, FoundBlock, OverrideBody};
use super::literal::optional;
use super::{CompiledModule, Variable, problems};
use crate::reference::{Referent, resolve};

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

/// Reserved names of variables: the meta-arguments of module calls.
const RESERVED: &[&str] = &["source", "version", "providers", "count", "for_each", "lifecycle", "depends_on", "locals"];

impl Variable {
    /// A variable without a type or a default.
    pub fn untyped(name: SmolStr, range: SourceRange) -> Variable {
        Variable {
            name,
            ty: Type::Dynamic,
            typed: false,
            defaults: TypeDefaults::default(),
            default: None,
            description: None,
            sensitive: false,
            ephemeral: false,
            nullable: true,
            deprecated: None,
            constant: None,
            validations: Vec::new(),
            references: Vec::new(),
            range,
        }
    }

    /// Whether the variable has a default.
    pub fn has_default(&self) -> bool {
        self.default.is_some()
    }

    /// The default, converted to the type if possible. `None` if there is no default, or if the default has errors.
    pub fn default_value(&self) -> Option<Value> {
        let (value, problems) = evaluate_constant(self.default.as_ref()?);
        let value = convert_with_defaults(&value, &self.ty, &self.defaults).unwrap_or(value);
        (!has_errors(&problems)).then_some(value)
    }

    /// A given value in the form that assertions of tests use. Missing optional attributes have their defaults, but the
    /// value is not converted to the type of the variable.
    pub(crate) fn unconverted(&self, given: &Value) -> Value {
        let filled = if self.defaults.is_empty() || given.is_null() {
            given.clone()
        } else {
            apply_defaults(given, &self.defaults)
        };
        filled.mark(&self.marks())
    }

    /// The marks of every reference to this variable.
    pub(crate) fn marks(&self) -> Marks {
        let sensitive = if self.sensitive { Marks::SENSITIVE } else { Marks::NONE };
        let ephemeral = if self.ephemeral { Marks::EPHEMERAL } else { Marks::NONE };
        sensitive.union(&ephemeral)
    }
}

/// Reads a `variable` block.
pub(super) fn variable(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let name = block.labels[0].0.clone();
    let valid = compiling.identifier(&block.labels[0], "variable");
    if RESERVED.contains(&name.as_str()) {
        compiling.report(problems::variable::reserved_name(&name, &block.labels[0].1));
    }
    let content = compiling.content(block, &VARIABLE);
    let (ty, defaults, typed) = match content.get("type") {
        Some(expression) => match constraint(expression, &compiling.module) {
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
        check_default(compiling, default, &ty, &defaults, nullable, &merged_from(block));
        check_ignored(&name, default, &ty, compiling.diagnostics);
    }
    let mut validations = Vec::new();
    for inner in &content.blocks {
        let (condition, whole) = compiling.condition_parts(inner);
        if let Some(condition) = condition {
            names_itself(compiling, &name, &condition);
        }
        validations.extend(whole);
    }
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
        deprecated: compiling.deprecation(
            content.get("deprecated"),
            "Invalid `deprecated` value",
            Some(&block.labels[0].1),
        ),
        constant: content.get("const").map(|given| compiling.flag(Some(given), false)),
        validations,
        references,
        range: block.range.clone(),
    };
    let first = compiling.module.variables.get(&name).map(|first| first.range.clone());
    if let Some(first) = first {
        compiling.duplicate_value("variable declaration", &name, &first, &block.range);
    }
    if valid {
        // As in OpenTofu, the last declaration wins.
        compiling.module.variables.insert(name, Arc::new(variable));
    }
}

/// Reports a validation whose condition does not refer to its own variable.
fn names_itself(compiling: &mut Compiling<'_>, name: &str, condition: &Expression) {
    let itself = weft_syntax::references(condition).into_iter().any(|traversal| {
        resolve(&condition.tree, traversal)
            .is_ok_and(|found| matches!(&found.subject, Referent::Variable(v) if v == name))
    });
    if !itself {
        compiling.report(problems::variable::condition_of_other(name, condition.range()));
    }
}

/// Reads a type constraint. In the JSON syntax, the constraint is quoted.
fn constraint(expression: &Expression, module: &CompiledModule) -> Result<TypeConstraint, Vec<Diagnostic>> {
    // A string that is not a valid expression is reported as an invalid type, with the range of the string.
    let expression = expression.unquoted().unwrap_or_else(|_| expression.clone());
    let source_of = |name: &str| module.provider_source(name);
    variable_type_with(&expression, if module.settings.experiments.provider_values { Some(&source_of) } else { None })
}

/// The override blocks at which problems are reported if the parts of a variable do not fit each other.
struct Merged<'a> {
    /// The later of the two blocks, if the default and the type are from different files.
    misfit: Option<&'a OverrideBody>,
    /// The last block with `default` or `nullable`.
    null: Option<&'a OverrideBody>,
}

fn merged_from(block: &FoundBlock) -> Merged<'_> {
    let last = |name: &str| block.layers.iter().rposition(|layer| layer.tree.argument(layer.body, name).is_some());
    let later = |a: Option<usize>, b: Option<usize>| a.max(b).and_then(|at| block.layers.get(at));
    let (ty, default, nullable) = (last("type"), last("default"), last("nullable"));
    Merged { misfit: if ty == default { None } else { later(ty, default) }, null: later(default, nullable) }
}

/// Reports a default that is not a constant, or that does not fit the type.
fn check_default(
    compiling: &mut Compiling<'_>,
    default: &Expression,
    ty: &Type,
    defaults: &TypeDefaults,
    nullable: bool,
    merged: &Merged<'_>,
) {
    let (value, problems) = evaluate_constant(default);
    if has_errors(&problems) {
        compiling.diagnostics.extend(problems);
        return;
    }
    let at = |layer: Option<&OverrideBody>| layer.map_or_else(|| default.range(), |layer| layer.range.clone());
    match convert_with_defaults(&value, ty, defaults) {
        Err(problem) => {
            compiling.report(problems::variable::incompatible_default(&problem.with_path(), at(merged.misfit)));
        }
        Ok(value) if value.is_null() && !nullable => {
            compiling.report(problems::variable::null_default(at(merged.null)));
        }
        Ok(_) => {}
    }
}
