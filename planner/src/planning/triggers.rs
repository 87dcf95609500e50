//! `replace_triggered_by`.

use weft_evaluator::glue::Trigger;
use weft_graph_format::value::Value;

use super::Planning;

impl Planning {
    /// Whether what a trigger names changes. Everything that it names is planned already, so the answer for a whole
    /// resource is found once.
    pub(crate) fn fires(&self, trigger: &Trigger) -> bool {
        let differs = |(before, after): &(Value, Value)| {
            if trigger.path.0.is_empty() {
                return true;
            }
            match (before.at_path(&trigger.path), after.at_path(&trigger.path)) {
                (Ok(b), Ok(a)) => !a.is_wholly_known() || !a.same_unmarked(&b),
                (Err(_), Err(_)) => false,
                _ => true,
            }
        };
        if let Some(key) = &trigger.key {
            let address = trigger.resource.instance(key.clone());
            return self.altered.lock().get(&trigger.resource).and_then(|a| a.get(&address)).is_some_and(differs);
        }
        let question = (trigger.resource.clone(), trigger.path.clone());
        if let Some(answer) = self.fired.lock().get(&question) {
            return *answer;
        }
        let answer = self.altered.lock().get(&trigger.resource).is_some_and(|a| a.values().any(differs));
        self.fired.lock().insert(question, answer);
        answer
    }
}
