//! A store that also remembers what progress lines want to say: the id of each object.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use weft_state::{
    Acquire, AcquireAnswer, ChainTip, Claim, ClaimAnswer, CreateAnswer, Edit, EditAnswer, Ending, InstanceObject,
    JournalLine, Lease, NewRun, Opaque, Outcome, PathStep, ReleaseAnswer, RenewAnswer, Resolution, RunHeader, RunId,
    RunStore, RunView, Snapshot, StoreAnswer, StoreError, StoreStep, Writes,
};

/// By operation `id` or `name` of the object that was committed, where it has one that is not sensitive.
pub type Commits = Arc<Mutex<BTreeMap<u32, Option<(String, String)>>>>;

/// The store.
pub struct ObservedStore {
    inner: Arc<dyn RunStore>,
    commits: Commits,
}

impl ObservedStore {
    /// This store, and what will be committed through it.
    pub fn new(inner: Arc<dyn RunStore>) -> (Arc<ObservedStore>, Commits) {
        let commits = Commits::default();
        (Arc::new(ObservedStore { inner, commits: commits.clone() }), commits)
    }
}

impl fmt::Debug for ObservedStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(out)
    }
}

/// `id` of an object, else its `name`, unless it must not be shown.
pub fn identity(object: &InstanceObject) -> Option<(String, String)> {
    let attributes: BTreeMap<String, &serde_json::value::RawValue> =
        serde_json::from_str(object.attributes.as_str()).ok()?;
    ["id", "name"].into_iter().find_map(|key| {
        let hidden = object.sensitive_paths.iter().any(
            |path| matches!(path.as_slice(), [] | [PathStep::Attribute(_), ..] if path.first().is_none_or(|s| *s == PathStep::Attribute(key.to_owned()))),
        );
        let text: String = serde_json::from_str(attributes.get(key)?.get()).ok()?;
        (!hidden).then(|| (key.to_owned(), text))
    })
}

fn id_of(writes: &Writes) -> Option<(String, String)> {
    let record = writes.instances.first()?.record.as_ref()?;
    identity(record.current.as_ref()?)
}

#[async_trait]
impl RunStore for ObservedStore {
    fn place(&self) -> String {
        self.inner.place()
    }

    async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.inner.snapshot().await
    }

    async fn overview(&self) -> Result<(Snapshot, Vec<RunHeader>), StoreError> {
        self.inner.overview().await
    }

    async fn export(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.export().await
    }

    async fn edit(&self, edit: Edit) -> Result<EditAnswer, StoreError> {
        self.inner.edit(edit).await
    }

    async fn create_run(&self, run: NewRun) -> Result<CreateAnswer, StoreError> {
        self.inner.create_run(run).await
    }

    async fn acquire(&self, request: Acquire) -> Result<AcquireAnswer, StoreError> {
        self.inner.acquire(request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<RenewAnswer, StoreError> {
        self.inner.renew(lease).await
    }

    async fn claim(&self, lease: &Lease, claims: &[Claim]) -> Result<ClaimAnswer, StoreError> {
        self.inner.claim(lease, claims).await
    }

    async fn step_batch(&self, lease: &Lease, steps: Vec<StoreStep>) -> Result<Vec<StoreAnswer>, StoreError> {
        {
            let mut commits = self.commits.lock();
            for step in &steps {
                let (op, writes) = match step {
                    StoreStep::Commit(commit) => (commit.op, &commit.writes),
                    StoreStep::Fail(failure) => (failure.op, &failure.writes),
                    StoreStep::Resolve(Resolution { outcome: Outcome::Done(commit), .. }) => {
                        (commit.op, &commit.writes)
                    }
                    _ => continue,
                };
                commits.insert(op.0, id_of(writes));
            }
        }
        self.inner.step_batch(lease, steps).await
    }

    async fn release(&self, lease: &Lease, ending: Ending) -> Result<ReleaseAnswer, StoreError> {
        self.inner.release(lease, ending).await
    }

    async fn withdraw(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError> {
        self.inner.withdraw(lease).await
    }

    async fn abandon(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError> {
        self.inner.abandon(lease).await
    }

    async fn prune(&self, before_unix_ms: u64) -> Result<Vec<RunId>, StoreError> {
        self.inner.prune(before_unix_ms).await
    }

    async fn runs(&self) -> Result<Vec<RunHeader>, StoreError> {
        self.inner.runs().await
    }

    async fn run(&self, run: &RunId) -> Result<Option<RunView>, StoreError> {
        self.inner.run(run).await
    }

    async fn plan(&self, run: &RunId) -> Result<Opaque, StoreError> {
        self.inner.plan(run).await
    }

    async fn journal(&self, run: &RunId) -> Result<Vec<JournalLine>, StoreError> {
        self.inner.journal(run).await
    }

    async fn tip(&self, run: &RunId) -> Result<ChainTip, StoreError> {
        self.inner.tip(run).await
    }
}
