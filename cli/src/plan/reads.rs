//! The call budgets for the reads of a plan. An apply uses the same budgets. If the state is in Redis, all processes
//! that use the store share the tokens.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;
use weft_graph_format::address::ProviderInstance;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::limits::CallBudget;
use weft_graph_format::value::Value;
use weft_planner::ReadGate;
use weft_state::{LocalBudgets, RunStore, StoreError, TokenGrant, TokenRequest};

use super::Placing;
use crate::store::{StoreLocation, problem};

/// The number of reads for which one request reserves tokens. The store grants only the tokens that become free within
/// half a second. Reserved tokens that planning does not use are lost.
const READS_AT_ONCE: u32 = 32;

/// The location of the tokens.
enum Buckets {
    /// In the store. All processes that use the store share the tokens.
    Store(Arc<dyn RunStore>),
    /// In this process, for stores in files or backends. Such stores have budgets only while they are locked.
    Here(LocalBudgets),
}

impl Buckets {
    async fn take(&self, request: TokenRequest) -> Result<TokenGrant, StoreError> {
        let grants = match self {
            Buckets::Store(store) => store.take_tokens(&[request]).await?,
            Buckets::Here(budgets) => budgets.take(&[request]),
        };
        Ok(grants.into_iter().next().unwrap_or_default())
    }
}

/// A budget, and the tokens that this plan has reserved.
struct Bucket {
    rule: CallBudget,
    reserved: AsyncMutex<Reserved>,
}

/// Reserved tokens: their number, and the time when the first one may be used.
#[derive(Default)]
struct Reserved {
    count: u32,
    first: Option<Instant>,
}

/// The call budgets for the reads of a plan.
pub struct ReadBudgets {
    placing: Placing,
    buckets: Buckets,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    by_name: BTreeMap<String, Arc<Bucket>>,
    by_instance: BTreeMap<ProviderInstance, Vec<Arc<Bucket>>>,
}

impl ReadBudgets {
    /// The budgets of these rules. `None` if the rules have no limits.
    ///
    /// # Errors
    /// Returns an error if the store cannot be opened.
    pub async fn of(placing: Option<&Placing>, place: &StoreLocation) -> Result<Option<Arc<dyn ReadGate>>, Diagnostic> {
        let Some(placing) = placing.filter(|placing| placing.has_limits()) else { return Ok(None) };
        let shared = match place {
            StoreLocation::Redis { .. } => place.open_existing().await?,
            StoreLocation::Embedded(_) | StoreLocation::Remote(_) => None,
        };
        let buckets = shared.map_or_else(|| Buckets::Here(LocalBudgets::default()), Buckets::Store);
        Ok(Some(Arc::new(ReadBudgets { placing: placing.clone(), buckets, known: Mutex::default() })))
    }

    /// The number of budgets of a provider instance. The budgets are determined on the first call.
    fn buckets(&self, instance: &ProviderInstance, config: &Value) -> usize {
        let mut known = self.known.lock();
        if let Some(found) = known.by_instance.get(instance) {
            return found.len();
        }
        let mut found = Vec::new();
        for rule in self.placing.budgets_of(instance, config) {
            let name = rule.name.clone();
            let new = || Arc::new(Bucket { rule, reserved: AsyncMutex::default() });
            let bucket = Arc::clone(known.by_name.entry(name).or_insert_with(new));
            if !found.iter().any(|other| Arc::ptr_eq(other, &bucket)) {
                found.push(bucket);
            }
        }
        let count = found.len();
        known.by_instance.insert(instance.clone(), found);
        count
    }

    /// Waits for the tokens of one read. Concurrent callers of a bucket queue up.
    async fn take(&self, bucket: &Bucket) -> Result<(), StoreError> {
        let rule = &bucket.rule;
        let mut reserved = bucket.reserved.lock().await;
        let mut missing = rule.tokens_per_call;
        let mut last = None;
        while missing > 0 {
            if reserved.count == 0 {
                let request = TokenRequest {
                    budget: rule.name.clone(),
                    interval_us: rule.interval_us,
                    burst: rule.burst,
                    count: rule.tokens_per_call.saturating_mul(READS_AT_ONCE),
                };
                let TokenGrant { count, first_us } = self.buckets.take(request).await?;
                let free = from_now(first_us);
                *reserved = Reserved { count, first: Some(free) };
                if count == 0 {
                    tokio::time::sleep_until(free.into()).await;
                }
                continue;
            }
            let taken = missing.min(reserved.count);
            let step = |count: u32| Duration::from_micros(rule.interval_us.saturating_mul(u64::from(count)));
            last = reserved.first.map(|first| first + step(taken - 1));
            reserved.first = reserved.first.map(|first| first + step(taken));
            reserved.count -= taken;
            missing -= taken;
        }
        drop(reserved);
        if let Some(free) = last {
            tokio::time::sleep_until(free.into()).await;
        }
        Ok(())
    }
}

#[async_trait]
impl ReadGate for ReadBudgets {
    fn limits(&self, instance: &ProviderInstance, config: &Value) -> bool {
        self.buckets(instance, config) > 0
    }

    async fn pass(&self, instance: &ProviderInstance) -> Result<(), Diagnostic> {
        let buckets = self.known.lock().by_instance.get(instance).cloned().unwrap_or_default();
        for bucket in buckets {
            self.take(&bucket).await.map_err(|error| problem(&error))?;
        }
        Ok(())
    }
}

/// The time in this number of microseconds, which may be negative.
fn from_now(microseconds: i64) -> Instant {
    let now = Instant::now();
    let distance = Duration::from_micros(microseconds.unsigned_abs());
    if microseconds < 0 { now.checked_sub(distance).unwrap_or(now) } else { now + distance }
}
