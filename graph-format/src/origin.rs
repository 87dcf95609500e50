//! Origins: which operations must have finished before a value may be used, and which deletes wait for its readers.
//!
//! An origin is a set of operations. It is a shared graph of unions, which is never flattened during evaluation.

use std::fmt;
use std::sync::Arc;

use crate::operation_id::OperationId;

/// The operations that must have finished before a value may be used, and the deletes that must wait for the readers of
/// the value.
#[derive(Clone)]
pub struct Origin(Arc<OriginNode>);

/// A node of the shared graph.
#[derive(Debug)]
pub enum OriginNode {
    /// A reader waits for this operation.
    After(OperationId),
    /// This operation (a delete) waits for every reader.
    BeforeDelete(OperationId),
    /// The combination of all these origins.
    Union(Vec<Origin>),
}

impl Origin {
    /// Readers wait for `operation`.
    pub fn after(operation: OperationId) -> Origin {
        Origin(Arc::new(OriginNode::After(operation)))
    }

    /// `operation` waits for the readers.
    pub fn before_delete(operation: OperationId) -> Origin {
        Origin(Arc::new(OriginNode::BeforeDelete(operation)))
    }

    /// The union of `members`, without duplicate nodes. `None` if there are no members.
    pub fn union(members: impl IntoIterator<Item = Origin>) -> Option<Origin> {
        let mut distinct: Vec<Origin> = members.into_iter().collect();
        if distinct.len() > 1 {
            distinct.sort_by_key(|o| Arc::as_ptr(&o.0) as usize);
            distinct.dedup_by(|a, b| Arc::ptr_eq(&a.0, &b.0));
        }
        match distinct.len() {
            0 | 1 => distinct.pop(),
            _ => Some(Origin(Arc::new(OriginNode::Union(distinct)))),
        }
    }

    /// The union of both origins. `None` if both are `None`.
    pub fn join(a: Option<&Origin>, b: Option<&Origin>) -> Option<Origin> {
        match (a, b) {
            (None, o) | (o, None) => o.cloned(),
            (Some(a), Some(b)) if a.same(b) => Some(a.clone()),
            (Some(a), Some(b)) => Origin::union([a.clone(), b.clone()]),
        }
    }

    /// The outermost node of the shared graph.
    pub fn node(&self) -> &OriginNode {
        &self.0
    }

    /// Whether both origins are the same shared node.
    pub fn same(&self, other: &Origin) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The identity of the shared node, which is unique while the node exists.
    pub fn identity(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node() {
            OriginNode::After(op) => write!(f, "after {op:?}"),
            OriginNode::BeforeDelete(op) => write!(f, "before delete {op:?}"),
            OriginNode::Union(members) => write!(f, "union of {}", members.len()),
        }
    }
}

/// Long chains of unions are dropped in a loop, so that dropping a chain cannot overflow the stack.
impl Drop for OriginNode {
    fn drop(&mut self) {
        let OriginNode::Union(members) = self else { return };
        let mut pending = std::mem::take(members);
        while let Some(Origin(node)) = pending.pop() {
            if let Some(OriginNode::Union(members)) = Arc::into_inner(node).as_mut() {
                pending.append(members);
            }
        }
    }
}
