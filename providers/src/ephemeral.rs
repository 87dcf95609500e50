//! Open ephemeral objects. Each object is renewed when its provider requires a renewal, until the object is closed.
//!
//! Each call takes the provider's process from its pool and returns it, so an open object never prevents another
//! provider from being started. The provider's data for later calls is in the object's private data (protocol: open,
//! renew and close of ephemeral resources).

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use smol_str::SmolStr;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::call::OpenedEphemeral;
use crate::diagnostic::{ProviderDiagnostic, has_errors};
use crate::provider::Provider;

/// The shortest time between two renewals, even if the provider asks for a shorter time. Without this limit, a provider
/// that always asks for a renewal at once would be called without a pause. Ten calls per second do no harm.
pub const SHORTEST_RENEWAL: Duration = Duration::from_millis(100);

/// Gets the configured provider, or the reason why it is not available.
pub type ProviderAgain = Arc<dyn Fn() -> BoxFuture<'static, Result<Arc<Provider>, String>> + Send + Sync>;

/// Receives events of renewals.
pub type RenewalHeard = Arc<dyn Fn(Renewal) -> BoxFuture<'static, ()> + Send + Sync>;

/// An event of a renewal.
#[derive(Clone, Debug, PartialEq)]
pub enum Renewal {
    /// The renewal begins.
    Started,
    /// The renewal is done.
    Done(Vec<ProviderDiagnostic>),
    /// The provider refuses the renewal. No further renewal follows.
    Refused(Vec<ProviderDiagnostic>),
    /// The provider could not be called. No further renewal follows.
    Failed(String),
}

/// An open ephemeral object. Dropping it ends the renewals but does not close the object. [`OpenObject::close`] closes
/// the object.
pub struct OpenObject {
    type_name: SmolStr,
    /// Locked during a call about the object, so that calls do not overlap.
    private: Arc<Mutex<Option<Vec<u8>>>>,
    provider: ProviderAgain,
    renewing: Option<JoinHandle<()>>,
}

impl OpenObject {
    /// Begins to renew an object that was just opened. Must be called within a tokio runtime.
    pub fn new(
        type_name: SmolStr,
        opened: &OpenedEphemeral,
        provider: ProviderAgain,
        heard: RenewalHeard,
    ) -> OpenObject {
        let private = Arc::new(Mutex::new(opened.private.clone()));
        let renewing = opened
            .renew_at
            .map(|first| tokio::spawn(keep_open(type_name.clone(), private.clone(), first, provider.clone(), heard)));
        OpenObject { type_name, private, provider, renewing }
    }

    /// Closes the object. Returns the provider's diagnostics.
    ///
    /// # Errors
    /// Returns the reason why the provider could not be called.
    pub async fn close(mut self) -> Result<Vec<ProviderDiagnostic>, String> {
        let private = self.private.clone();
        // A running renewal finishes first.
        let mut private = private.lock().await;
        if let Some(renewing) = self.renewing.take() {
            renewing.abort();
        }
        let provider = (self.provider)().await?;
        provider.close_ephemeral(&self.type_name, private.take()).await.map_err(|error| error.to_string())
    }
}

impl Drop for OpenObject {
    fn drop(&mut self) {
        if let Some(renewing) = &self.renewing {
            renewing.abort();
        }
    }
}

/// Renews an object until it needs no more renewals, or a renewal fails.
async fn keep_open(
    type_name: SmolStr,
    private: Arc<Mutex<Option<Vec<u8>>>>,
    first: SystemTime,
    provider: ProviderAgain,
    heard: RenewalHeard,
) {
    let mut next = Some(first);
    while let Some(at) = next {
        let wait = at.duration_since(SystemTime::now()).unwrap_or_default().max(SHORTEST_RENEWAL);
        tokio::time::sleep(wait).await;
        let mut private = private.lock().await;
        heard(Renewal::Started).await;
        let renewed = match provider().await {
            Ok(provider) => {
                provider.renew_ephemeral(&type_name, private.clone()).await.map_err(|error| error.to_string())
            }
            Err(error) => Err(error),
        };
        let (outcome, then) = match renewed {
            Ok(reply) if has_errors(&reply.diagnostics) => (Renewal::Refused(reply.diagnostics), None),
            Ok(reply) => {
                *private = reply.value.private;
                (Renewal::Done(reply.diagnostics), reply.value.renew_at)
            }
            Err(error) => (Renewal::Failed(error), None),
        };
        drop(private);
        heard(outcome).await;
        next = then;
    }
}
