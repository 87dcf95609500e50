//! The parts of blocks whose references are checked separately: conditions, and other parts beside the arguments.

use weft_graph_format::source::SourceRange;
use weft_syntax::Expression;

use crate::config::{Condition, ResourceBlock};

/// Expressions whose references are checked together.
pub(super) struct Group<'c> {
    pub(super) ranges: Vec<SourceRange>,
    /// The expressions that are evaluated even if a reference is invalid.
    pub(super) evaluated: Vec<&'c Expression>,
}

impl<'c> Group<'c> {
    pub(super) fn of(expressions: Vec<&'c Expression>) -> Group<'c> {
        Group { ranges: expressions.iter().map(|expression| expression.range()).collect(), evaluated: expressions }
    }

    pub(super) fn holds(&self, at: &SourceRange) -> bool {
        self.ranges.iter().any(|range| range.holds(at))
    }
}

/// Groups for the conditions of outputs, variables and checks: each condition with its message.
pub(super) fn together<'c>(conditions: impl IntoIterator<Item = &'c Condition>) -> Vec<Group<'c>> {
    let both = |condition: &'c Condition| Group::of(vec![&condition.condition, &condition.error_message]);
    conditions.into_iter().map(both).collect()
}

/// Groups for assertions, of which only the messages are evaluated.
pub(super) fn messages_of<'a>(assertions: &'a [Condition]) -> Vec<Group<'a>> {
    let message = |group: Group<'a>| Group { evaluated: group.evaluated.into_iter().skip(1).collect(), ..group };
    together(assertions).into_iter().map(message).collect()
}

/// Groups for the conditions of resources: messages are separate from conditions.
pub(super) fn apart<'c>(conditions: impl IntoIterator<Item = &'c Condition>) -> Vec<Group<'c>> {
    let each = |condition: &'c Condition| [&condition.condition, &condition.error_message];
    conditions.into_iter().flat_map(each).map(|expression| Group::of(vec![expression])).collect()
}

/// The source ranges of conditions and messages.
fn expressions<'c>(conditions: impl IntoIterator<Item = &'c Condition>) -> Vec<SourceRange> {
    let both = |condition: &Condition| [condition.condition.range(), condition.error_message.range()];
    conditions.into_iter().flat_map(both).collect()
}

/// The source ranges of a resource's parts that are evaluated separately from its arguments.
pub(super) fn beside_arguments(resource: &ResourceBlock) -> Vec<SourceRange> {
    let mut found = places_with_self(resource);
    found.extend(expressions(&resource.lifecycle.preconditions));
    found.extend(resource.repetition.expression().map(Expression::range));
    found
}

/// The source ranges of a resource's parts in which `self` refers to its object.
pub(super) fn places_with_self(resource: &ResourceBlock) -> Vec<SourceRange> {
    let mut found = expressions(&resource.lifecycle.postconditions);
    found.extend(resource.provisioners.iter().map(|provisioner| provisioner.body.whole()));
    found.extend(resource.connection.iter().map(|connection| connection.body.whole()));
    found
}
