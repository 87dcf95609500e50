//! Reads type constraints from source: `object({ a = optional(string, "x") })`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::formula::TypeDefaults;
use weft_graph_format::types::{ObjectType, Type};
use weft_graph_format::value::Value;
use weft_syntax::{ExprKind, Expression, Syntax};

use crate::constant::evaluate_constant;
use crate::convert::convert_with_defaults;
use crate::stack;

/// The type constructor for references to providers.
const PROVIDER: &str = "providerconfig";

const INVALID: &str = "Invalid type specification";

/// A type constraint with the defaults of its optional attributes.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeConstraint {
    /// The type. `any` is dynamic.
    pub ty: Type,
    /// The defaults of optional attributes.
    pub defaults: TypeDefaults,
}

impl TypeConstraint {
    fn plain(ty: Type) -> TypeConstraint {
        TypeConstraint { ty, defaults: TypeDefaults::default() }
    }

    /// The constraint `any`.
    pub fn any() -> TypeConstraint {
        TypeConstraint::plain(Type::Dynamic)
    }

    /// Fills in the defaults and converts the value to the type.
    pub fn convert(&self, value: &Value) -> Result<Value, crate::convert::ConvertError> {
        convert_with_defaults(value, &self.ty, &self.defaults)
    }
}

/// Reads the `type` argument of a variable: a type constraint, or the legacy `list` and `map` without an element type.
pub fn variable_type(expression: &Expression) -> Result<TypeConstraint, Vec<Diagnostic>> {
    variable_type_with(expression, None)
}

/// Resolves local provider names, in places where constraints may name providers.
pub type ProviderNames<'a> = Option<&'a dyn Fn(&str) -> ProviderSource>;

/// Like [`variable_type`], but also accepts types such as `providerconfig(aws)`.
pub fn variable_type_with(
    expression: &Expression,
    providers: ProviderNames<'_>,
) -> Result<TypeConstraint, Vec<Diagnostic>> {
    if let Some(text) = expression.as_string_literal() {
        let problem = match text.as_str() {
            "string" | "list" | "map" => Diagnostic::error(
                "Invalid quoted type constraints",
                format!(
                    "Early versions required type constraints to be given in quotes, but that form is now rejected. \
                     Remove the quotes around {:?}{}.",
                    text.as_str(),
                    match text.as_str() {
                        "list" =>
                            " and write list(string) instead to explicitly indicate that the list elements are strings",
                        "map" =>
                            " and write map(string) instead to explicitly indicate that the map elements are strings",
                        _ => "",
                    }
                ),
            ),
            _ => Diagnostic::error("Invalid legacy variable type hint", "Types are written without quotes."),
        };
        return Err(vec![problem.at(expression.range())]);
    }
    if matches!(expression.kind(), ExprKind::Template(_)) {
        // A quoted text is first read as a plain string, which has no references.
        let (_, problems) = evaluate_constant(expression);
        if has_errors(&problems) {
            return Err(problems);
        }
    }
    match expression.as_keyword() {
        Some("list") => Ok(TypeConstraint::plain(Type::list(Type::Dynamic))),
        Some("map") => Ok(TypeConstraint::plain(Type::map(Type::Dynamic))),
        _ => constraint(expression, providers),
    }
}

/// Reads a type constraint.
pub fn type_constraint(expression: &Expression) -> Result<TypeConstraint, Vec<Diagnostic>> {
    constraint(expression, None)
}

fn constraint(expression: &Expression, providers: ProviderNames<'_>) -> Result<TypeConstraint, Vec<Diagnostic>> {
    stack::guarded(|| read(expression, providers))
}

fn invalid(expression: &Expression, detail: impl Into<String>) -> Vec<Diagnostic> {
    vec![Diagnostic::error(INVALID, detail).at(expression.range())]
}

fn read(expression: &Expression, providers: ProviderNames<'_>) -> Result<TypeConstraint, Vec<Diagnostic>> {
    if let Some(name) = expression.as_keyword() {
        return keyword(name).map(TypeConstraint::plain).map_err(|detail| invalid(expression, detail));
    }
    let Some(call) = expression.as_call() else {
        return Err(invalid(
            expression,
            "A type specification is either a primitive type keyword (bool, number, string) or a complex type \
             constructor call, like list(string).",
        ));
    };
    let arguments: Vec<Expression> = call.arguments.iter().map(|id| expression.child(*id)).collect();
    constructor(expression, call.name.as_str(), &arguments, providers)
}

/// The type of a keyword, or the error message if it is not a type.
fn keyword(name: &str) -> Result<Type, String> {
    match name {
        "bool" => Ok(Type::Bool),
        "number" => Ok(Type::Number),
        "string" => Ok(Type::String),
        "any" => Ok(Type::Dynamic),
        "list" | "set" | "map" | "object" | "tuple" => Err(one_argument(name)),
        "optional" => Err(optional_elsewhere()),
        other => Err(format!("The keyword {other:?} is not a valid type specification.")),
    }
}

/// The error message for a type constructor that takes exactly one argument.
fn one_argument(name: &str) -> String {
    let what = match name {
        "object" => "the attribute types and values as a map",
        "tuple" => "the element types as a list",
        _ => "the element type",
    };
    format!("The {name} type constructor requires one argument specifying {what}.")
}

/// The type of a constructor call such as `list(string)`.
fn constructor(
    expression: &Expression,
    name: &str,
    arguments: &[Expression],
    providers: ProviderNames<'_>,
) -> Result<TypeConstraint, Vec<Diagnostic>> {
    let detail = match (name, arguments) {
        (PROVIDER, _) => return provider(expression, arguments, providers),
        ("object", [argument]) => return object(argument, providers),
        ("tuple", [argument]) => return tuple(argument, providers),
        ("list", [argument]) => return collection(Type::list, argument, providers),
        ("set", [argument]) => return collection(Type::set, argument, providers),
        ("map", [argument]) => return collection(Type::map, argument, providers),
        ("list" | "set" | "map" | "object" | "tuple", _) => one_argument(name),
        ("bool" | "number" | "string", _) => format!("Primitive type keyword {name:?} does not expect arguments."),
        ("any", _) => format!("Type constraint keyword {name:?} does not expect arguments."),
        ("optional", _) => optional_elsewhere(),
        _ => format!("Keyword {name:?} is not a valid type constructor."),
    };
    Err(invalid(expression, detail))
}

fn collection(
    make: fn(Type) -> Type,
    argument: &Expression,
    providers: ProviderNames<'_>,
) -> Result<TypeConstraint, Vec<Diagnostic>> {
    let element = constraint(argument, providers)?;
    Ok(TypeConstraint { ty: make(element.ty), defaults: inside([("", element.defaults)]) })
}

/// `providerconfig(aws)`: a configured provider of the source that the local name refers to.
fn provider(
    expression: &Expression,
    arguments: &[Expression],
    providers: ProviderNames<'_>,
) -> Result<TypeConstraint, Vec<Diagnostic>> {
    let Some(source_of) = providers else {
        let detail = format!(
            "Keyword {PROVIDER:?} is not a valid type constructor. Modules that say experiments = [provider_values] in \
             a language block have it."
        );
        return Err(invalid(expression, detail));
    };
    match arguments {
        [name] if name.as_keyword().is_some() => {
            let name = name.as_keyword().unwrap_or_default();
            Ok(TypeConstraint::plain(Type::provider(source_of(name))))
        }
        _ => Err(invalid(
            expression,
            "The providerconfig type constructor requires one argument: the local name of a provider.",
        )),
    }
}

fn optional_elsewhere() -> String {
    format!("Keyword {:?} is valid only as a modifier for object type attributes.", "optional")
}

fn inside<'n>(children: impl IntoIterator<Item = (&'n str, TypeDefaults)>) -> TypeDefaults {
    let children = children
        .into_iter()
        .filter(|(_, defaults)| !defaults.is_empty())
        .map(|(name, defaults)| (SmolStr::new(name), defaults))
        .collect();
    TypeDefaults { values: BTreeMap::new(), children }
}

fn tuple(argument: &Expression, providers: ProviderNames<'_>) -> Result<TypeConstraint, Vec<Diagnostic>> {
    let Some(items) = argument.as_list() else {
        return Err(invalid(argument, "Tuple type constructor requires a list of element types."));
    };
    let mut problems = Vec::new();
    let mut types = Vec::with_capacity(items.len());
    let mut children = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        match constraint(item, providers) {
            Ok(found) => {
                types.push(found.ty);
                if !found.defaults.is_empty() {
                    children.insert(SmolStr::new(index.to_string()), found.defaults);
                }
            }
            Err(found) => problems.extend(found),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(TypeConstraint { ty: Type::tuple(types), defaults: TypeDefaults { values: BTreeMap::new(), children } })
}

fn object(argument: &Expression, providers: ProviderNames<'_>) -> Result<TypeConstraint, Vec<Diagnostic>> {
    let Some(entries) = argument.as_map() else {
        return Err(invalid(
            argument,
            "Object type constructor requires a map whose keys are attribute names and whose values are the \
             corresponding attribute types.",
        ));
    };
    let mut problems = Vec::new();
    let mut attributes = BTreeMap::new();
    let mut optional = BTreeSet::new();
    let mut defaults = TypeDefaults::default();
    for (key, value) in &entries {
        let Some(name) = attribute_name(key) else {
            problems.extend(invalid(key, "Object constructor map keys must be attribute names."));
            continue;
        };
        let attribute = match attribute(value, providers, &mut problems) {
            Ok(attribute) => attribute,
            Err(found) => {
                problems.extend(found);
                continue;
            }
        };
        if attribute.is_optional {
            optional.insert(name.clone());
        }
        if let Some(default) = attribute.default {
            defaults.values.insert(name.clone(), default);
        }
        if !attribute.constraint.defaults.is_empty() {
            defaults.children.insert(name.clone(), attribute.constraint.defaults);
        }
        if attributes.insert(name.clone(), attribute.constraint.ty).is_some() {
            let detail = format!("The attribute {name:?} stands twice in this object type.");
            problems.extend(invalid(key, detail));
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(TypeConstraint { ty: Type::Object(Arc::new(ObjectType { attributes, optional })), defaults })
}

fn attribute_name(key: &Expression) -> Option<SmolStr> {
    // In the JSON syntax, all names are quoted.
    let text = match key.tree.syntax() {
        Syntax::Native => None,
        Syntax::Json => key.as_string_literal().filter(|text| weft_syntax::is_identifier(text)),
    };
    key.as_keyword().map(SmolStr::new).or(text)
}

/// An attribute of an object type.
struct Attribute {
    constraint: TypeConstraint,
    is_optional: bool,
    /// The default, unless it is null.
    default: Option<Value>,
}

/// Reads an attribute's type: a type, or `optional(type, default)`. Errors that only concern the default are added to
/// `problems`.
fn attribute(
    value: &Expression,
    providers: ProviderNames<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Result<Attribute, Vec<Diagnostic>> {
    let Some(call) = value.as_call().filter(|call| call.name == "optional") else {
        return Ok(Attribute { constraint: constraint(value, providers)?, is_optional: false, default: None });
    };
    let arguments: Vec<Expression> = call.arguments.iter().map(|id| value.child(*id)).collect();
    let (ty, default) = match arguments.as_slice() {
        [] => {
            let detail = "Optional attribute modifier requires the attribute type as its argument.";
            return Err(invalid(value, detail));
        }
        [ty] => (ty, None),
        [ty, default] => (ty, Some(default)),
        _ => {
            let detail = "Optional attribute modifier expects at most two arguments: the attribute type, and a default \
                          value.";
            return Err(invalid(value, detail));
        }
    };
    let constraint = constraint(ty, providers)?;
    let default = match default.map(|default| default_value(default, &constraint)) {
        Some(Ok(value)) => Some(value).filter(|value| !value.is_null()),
        Some(Err(found)) => {
            problems.extend(found);
            None
        }
        None => None,
    };
    Ok(Attribute { constraint, is_optional: true, default })
}

fn default_value(expression: &Expression, constraint: &TypeConstraint) -> Result<Value, Vec<Diagnostic>> {
    let (value, problems) = evaluate_constant(expression);
    if problems.iter().any(Diagnostic::is_error) {
        return Err(problems);
    }
    constraint.convert(&value).map_err(|error| {
        vec![
            Diagnostic::error(
                "Invalid default value for optional attribute",
                format!(
                    "This default value is not compatible with the attribute's type constraint: {}.",
                    error.with_path()
                ),
            )
            .at(expression.range()),
        ]
    })
}
