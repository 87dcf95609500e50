//! Limits reads of real objects: a read waits for tokens of the budgets of its provider.

use async_trait::async_trait;
use tokio::sync::Semaphore;
use weft_graph_format::address::ProviderInstance;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::value::Value;

use super::ProviderSet;

/// Limits the reads of planning: refreshes, data sources and imports.
#[async_trait]
pub trait ReadGate: Send + Sync {
    /// Whether reads of a provider instance with this configuration are limited.
    fn limits(&self, instance: &ProviderInstance, config: &Value) -> bool;

    /// Waits until one read may begin.
    ///
    /// # Errors
    /// Returns the reason why the read may not begin.
    async fn pass(&self, instance: &ProviderInstance) -> Result<(), Diagnostic>;
}

impl ProviderSet {
    /// Waits until a read of this provider instance may begin. The caller has opened the instance with
    /// [`ProviderSet::open`], and holds a permit for one call. During the wait, another call may use this permit, so
    /// that a limited provider does not block calls of other providers.
    ///
    /// # Errors
    /// Returns the reason if the read may not begin.
    pub async fn may_read(&self, instance: &ProviderInstance) -> Result<(), Vec<Diagnostic>> {
        let Some(gate) = self.gate.as_ref().filter(|_| !instance.source.is_builtin()) else { return Ok(()) };
        let limited = self.registered(instance).is_some_and(|registered| gate.limits(instance, &registered.config));
        if !limited {
            return Ok(());
        }
        let lent = Lent::new(&self.calls);
        let passed = gate.pass(instance).await;
        lent.back().await;
        passed.map_err(|problem| vec![problem])
    }
}

/// A permit for one concurrent call. While the owner of the permit waits, other calls may use the permit.
struct Lent<'a>(&'a Semaphore);

impl<'a> Lent<'a> {
    fn new(calls: &'a Semaphore) -> Lent<'a> {
        calls.add_permits(1);
        Lent(calls)
    }

    /// Waits until a permit is free again.
    async fn back(self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
        std::mem::forget(self);
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.0.forget_permits(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lent_place_comes_back() {
        let calls = Semaphore::new(1);
        let own = calls.acquire().await.expect("it is open");
        let lent = Lent::new(&calls);
        let other = calls.try_acquire().expect("the lent place");
        drop(other);
        lent.back().await;
        assert_eq!(calls.available_permits(), 0);
        drop(Lent::new(&calls));
        assert_eq!(calls.available_permits(), 0, "also if the wait is given up");
        drop(own);
        assert_eq!(calls.available_permits(), 1);
    }
}
