//! Parses type constraints from source: `object({ a = optional(string, "x") })`.

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
use crate::problems::types as problems;
use crate::stack;

/// The type constructor for references to providers.
const PROVIDER: &str = "providerconfig";

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

/// Resolves local names of providers. `None` where constraints may not contain providers.
pub type ProviderNames<'a> = Option<&'a dyn Fn(&str) -> ProviderSource>;

/// Like [`variable_type`], but also accepts types such as `providerconfig(aws)`.
pub fn variable_type_with(
    expression: &Expression,
    providers: ProviderNames<'_>,
) -> Result<TypeConstraint, Vec<Diagnostic>> {
    if let Some(text) = expression.as_string_literal() {
        let problem = match text.as_str() {
            "string" | "list" | "map" => problems::quoted_type(&text),
            _ => problems::quoted_text(),
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

fn invalid(expression: &Expression, problem: Diagnostic) -> Vec<Diagnostic> {
    vec![problem.at(expression.range())]
}

fn read(expression: &Expression, providers: ProviderNames<'_>) -> Result<TypeConstraint, Vec<Diagnostic>> {
    if let Some(name) = expression.as_keyword() {
        return keyword(name).map(TypeConstraint::plain).map_err(|problem| invalid(expression, problem));
    }
    let Some(call) = expression.as_call() else {
        return Err(invalid(expression, problems::no_type()));
    };
    let arguments: Vec<Expression> = call.arguments.iter().map(|id| expression.child(*id)).collect();
    constructor(expression, call.name.as_str(), &arguments, providers)
}

/// The type of a keyword, or the problem if it is not a type.
fn keyword(name: &str) -> Result<Type, Diagnostic> {
    match name {
        "bool" => Ok(Type::Bool),
        "number" => Ok(Type::Number),
        "string" => Ok(Type::String),
        "any" => Ok(Type::Dynamic),
        "list" | "set" | "map" | "object" | "tuple" => Err(problems::one_argument(name)),
        "optional" => Err(problems::misplaced_optional()),
        other => Err(problems::unknown_keyword(other)),
    }
}

/// The type of a constructor call such as `list(string)`.
fn constructor(
    expression: &Expression,
    name: &str,
    arguments: &[Expression],
    providers: ProviderNames<'_>,
) -> Result<TypeConstraint, Vec<Diagnostic>> {
    let problem = match (name, arguments) {
        (PROVIDER, _) => return provider(expression, arguments, providers),
        ("object", [argument]) => return object(argument, providers),
        ("tuple", [argument]) => return tuple(argument, providers),
        ("list", [argument]) => return collection(Type::list, argument, providers),
        ("set", [argument]) => return collection(Type::set, argument, providers),
        ("map", [argument]) => return collection(Type::map, argument, providers),
        ("list" | "set" | "map" | "object" | "tuple", _) => problems::one_argument(name),
        ("bool" | "number" | "string", _) => problems::arguments_of_primitive(name),
        ("any", _) => problems::arguments_of_any(),
        ("optional", _) => problems::misplaced_optional(),
        _ => problems::unknown_constructor(name),
    };
    Err(invalid(expression, problem))
}

fn collection(
    make: fn(Type) -> Type,
    argument: &Expression,
    providers: ProviderNames<'_>,
) -> Result<TypeConstraint, Vec<Diagnostic>> {
    let element = constraint(argument, providers)?;
    Ok(TypeConstraint { ty: make(element.ty), defaults: inside([("", element.defaults)]) })
}

/// Parses `providerconfig(aws)`: the type of references to configured providers with the source of this local name.
fn provider(
    expression: &Expression,
    arguments: &[Expression],
    providers: ProviderNames<'_>,
) -> Result<TypeConstraint, Vec<Diagnostic>> {
    let Some(source_of) = providers else {
        return Err(invalid(expression, problems::provider_values_off(PROVIDER)));
    };
    match arguments {
        [name] if name.as_keyword().is_some() => {
            let name = name.as_keyword().unwrap_or_default();
            Ok(TypeConstraint::plain(Type::provider(source_of(name))))
        }
        _ => Err(invalid(expression, problems::one_provider(PROVIDER))),
    }
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
        return Err(invalid(argument, problems::tuple_without_list()));
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
        return Err(invalid(argument, problems::object_without_map()));
    };
    let mut problems = Vec::new();
    let mut attributes = BTreeMap::new();
    let mut optional = BTreeSet::new();
    let mut defaults = TypeDefaults::default();
    for (key, value) in &entries {
        let Some(name) = attribute_name(key) else {
            problems.extend(invalid(key, problems::invalid_attribute_name()));
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
            problems.extend(invalid(key, problems::duplicate_attribute(&name)));
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

/// Parses the type of an attribute: a type, or `optional(type, default)`. Errors that only concern the default are
/// added to `problems`.
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
            return Err(invalid(value, problems::optional_without_type()));
        }
        [ty] => (ty, None),
        [ty, default] => (ty, Some(default)),
        _ => {
            return Err(invalid(value, problems::optional_with_more()));
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
    constraint.convert(&value).map_err(|error| invalid(expression, problems::unsuitable_default(&error)))
}
