//! Batches of steps. If the answer to a batch is lost, the batch is sent again. Sending a batch twice must have the
//! same effect as sending it once.

use std::collections::BTreeSet;

use weft_state::StoreStep;

/// The number of leading steps that can form one batch, at most `most`. A batch does not contain both a reopen and a
/// failure of the same operation. If such a batch were sent again, the store would refuse to record the same failure a
/// second time.
pub fn batch_length<'s>(steps: impl IntoIterator<Item = &'s StoreStep>, most: usize) -> usize {
    let (mut reopened, mut failed) = (BTreeSet::new(), BTreeSet::new());
    let mut count = 0;
    for step in steps.into_iter().take(most) {
        let clashes = match step {
            StoreStep::Reopen { op } => {
                reopened.insert(*op);
                failed.contains(op)
            }
            StoreStep::Fail(failure) => {
                failed.insert(failure.op);
                reopened.contains(&failure.op)
            }
            _ => false,
        };
        if clashes {
            break;
        }
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_state::{Attempt, Failure, FailureKind, OpIndex, Opaque, WorkerId, Writes};

    fn reopen(op: u32) -> StoreStep {
        StoreStep::Reopen { op: OpIndex(op) }
    }

    fn fail(op: u32) -> StoreStep {
        StoreStep::Fail(Failure {
            op: OpIndex(op),
            attempt: Attempt(2),
            worker: WorkerId("w".to_owned()),
            intended: false,
            writes: Writes::default(),
            diagnostics: Opaque::default(),
            kind: FailureKind::Error,
        })
    }

    #[test]
    fn an_operation_is_not_reopened_and_failed_in_one_batch() {
        assert_eq!(batch_length(&[reopen(1), reopen(2), fail(3), fail(1), reopen(4)], 10), 3);
        assert_eq!(batch_length(&[fail(1), reopen(2), reopen(1)], 10), 2);
        assert_eq!(batch_length(&[reopen(1), fail(2), reopen(3)], 2), 2);
        assert_eq!(batch_length(&[], 10), 0);
    }
}
