//! What others see of the connected workers.

use std::collections::BTreeMap;

use weft_state::{RunId, WorkerId};

use super::{Connected, Hub};
use crate::fleet::{WorkerListing, WorkerStatus};

impl Hub {
    /// The connected workers that carry out operations of any run, by name.
    pub fn listing(&self) -> Vec<WorkerListing> {
        let state = self.state.lock();
        let tasks = |id: &WorkerId| state.loads.values().filter_map(|loads| loads.get(id)).sum();
        let workers = state.workers.iter().filter(|(_, worker)| !worker.scope.is_limited());
        let listing = |(name, worker): (&String, &Connected)| WorkerListing {
            name: name.clone(),
            labels: worker.hello.labels.clone(),
            version: worker.hello.version.clone(),
            status: match (worker.leaving, state.drained.contains(name)) {
                (true, _) => WorkerStatus::Leaving,
                (false, true) => WorkerStatus::Draining,
                (false, false) => WorkerStatus::Ready,
            }
            .word()
            .to_owned(),
            tasks: tasks(&worker.id),
            capacity: worker.hello.capacity,
            identity: worker.peer.to_string(),
        };
        workers.map(listing).collect()
    }

    /// Records the numbers of tasks that the workers have in a run.
    pub(crate) fn note_loads(&self, run: &RunId, loads: BTreeMap<WorkerId, u32>) {
        self.state.lock().loads.insert(run.clone(), loads);
    }

    /// Names of the connected workers.
    pub fn workers(&self) -> Vec<String> {
        self.state.lock().workers.keys().cloned().collect()
    }

    /// The labels of the connected workers that carry out operations of any run, by name.
    pub fn labels(&self) -> BTreeMap<String, BTreeMap<String, String>> {
        let state = self.state.lock();
        let stays = |name: &String, worker: &Connected| !worker.leaving && !state.drained.contains(name);
        let workers = state.workers.iter().filter(|(name, worker)| stays(name, worker) && !worker.scope.is_limited());
        workers.map(|(name, worker)| (name.clone(), worker.hello.labels.clone())).collect()
    }
}
