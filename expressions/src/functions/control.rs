//! Functions that are implemented by evaluation itself, because they handle errors in their arguments.

use weft_graph_format::types::Type;

use super::{Function, Parameter, Symbolic};

pub(super) fn functions() -> Vec<Function> {
    vec![
        Function::new("can", "Whether the argument can be evaluated without an error.", Symbolic::Opaque)
            .parameter(
                Parameter::new("expression", Type::Dynamic, "The expression to evaluate.")
                    .nullable()
                    .unknowns()
                    .dynamic()
                    .marked(),
            )
            .returns(Type::Bool)
            .lazy(),
        Function::new("try", "The first argument that can be evaluated without an error.", Symbolic::Structural)
            .variadic(
                Parameter::new("expressions", Type::Dynamic, "The expressions to evaluate, in order.")
                    .nullable()
                    .unknowns()
                    .dynamic()
                    .marked(),
            )
            .lazy(),
    ]
}
