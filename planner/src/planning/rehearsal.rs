//! Planning for the sake of its values: questions are asked about what would be, and nothing of it is kept.

use weft_evaluator::Session;
use weft_graph_format::diagnostic::Diagnostic;

use super::{PlanInputs, prepare};

/// Plans as far as values go, and stays open for questions about them. The session is none when there is nothing to
/// ask about; what is wrong otherwise keeps no question from being asked.
pub async fn rehearse(inputs: PlanInputs) -> (Option<Session>, Vec<Diagnostic>) {
    let (root, environment, given) = (inputs.root.clone(), inputs.environment.clone(), inputs.given.clone());
    let planning = match prepare(inputs).await {
        Ok(planning) => planning,
        Err(outcome) => return (None, outcome.diagnostics),
    };
    let session = Session::begin(root, planning.clone(), environment, given).ok();
    if let Some(session) = &session {
        // Why it failed is among the problems.
        let _ = session.everything().await;
    }
    (session, planning.nothing().diagnostics)
}
