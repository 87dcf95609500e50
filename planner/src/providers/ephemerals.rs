//! Ephemeral objects that are open during planning.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use weft_graph_format::address::{ProviderInstance, ResourceInstance};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_providers::call::OpenedEphemeral;
use weft_providers::ephemeral::{ProviderAgain, RenewalHeard};
use weft_providers::{OpenObject, ProviderDiagnostic, Renewal};

use super::ProviderSet;
use crate::problems;
use crate::progress::{ProgressSender, ProgressStep};

/// The ephemeral objects of a set of providers.
#[derive(Default)]
pub(super) struct OpenObjects(Mutex<OpenList>);

#[derive(Default)]
struct OpenList {
    /// The open objects, in the order in which they were opened.
    kept: Vec<(OpenedHere, OpenObject)>,
    /// The addresses of objects whose close is not reported.
    hushed: BTreeSet<String>,
    /// Diagnostics of renewals.
    renewals: Vec<Diagnostic>,
}

impl OpenObjects {
    fn open(&self) -> MutexGuard<'_, OpenList> {
        self.0.lock()
    }
}

/// An open ephemeral object.
#[derive(Clone, Debug)]
pub struct OpenedHere {
    /// The address of the object.
    pub address: ResourceInstance,
    /// The provider instance of the object.
    pub provider: ProviderInstance,
    /// The source range of the object's block.
    pub range: SourceRange,
    /// The receiver of progress reports.
    pub progress: ProgressSender,
}

impl ProviderSet {
    /// Keeps an ephemeral object open and renews it, until [`ProviderSet::close_ephemerals`].
    pub fn keep_open(self: Arc<Self>, here: OpenedHere, opened: &OpenedEphemeral) {
        let (set, instance) = (self.clone(), here.provider.clone());
        let again: ProviderAgain = Arc::new(move || {
            let (set, instance) = (set.clone(), instance.clone());
            Box::pin(async move {
                let in_use = set
                    .open(&instance)
                    .await
                    .map_err(|problems| problems.into_iter().map(|p| p.summary).collect::<Vec<_>>().join("; "))?;
                Ok(Arc::new(in_use.provider))
            })
        });
        let (set, kept) = (self.clone(), here.clone());
        let heard: RenewalHeard = Arc::new(move |renewal| {
            let (set, kept) = (set.clone(), kept.clone());
            Box::pin(async move { set.renewed(&kept, renewal).await })
        });
        let object = OpenObject::new(here.address.resource.type_name.clone(), opened, again, heard);
        self.ephemerals.open().kept.push((here, object));
    }

    async fn renewed(&self, of: &OpenedHere, renewal: Renewal) {
        let what = match &renewal {
            Renewal::Started => ProgressStep::RenewStarted,
            _ => ProgressStep::RenewDone,
        };
        of.progress.tell(&of.address, what, &Value::null(Type::Dynamic), std::time::Duration::ZERO);
        let said = match renewal {
            Renewal::Started => Vec::new(),
            Renewal::Done(said) | Renewal::Refused(said) => of.converted(&said),
            Renewal::Failed(error) => vec![problems::ephemeral_not_renewed(&of.address, &error, &of.range)],
        };
        self.ephemerals.open().renewals.extend(said);
    }

    /// Marks an object whose block has failed, so that its close is not reported. Readers of the events consider the
    /// object failed, as with OpenTofu (see the recorded case `planning/ephemeral-resource-deferred`).
    pub fn hush(&self, address: &str) {
        self.ephemerals.open().hushed.insert(address.to_owned());
    }

    /// Closes all ephemeral objects in reverse order, since an object may need objects that were opened before. Returns
    /// the diagnostics.
    pub async fn close_ephemerals(&self) -> Vec<Diagnostic> {
        let OpenList { mut kept, hushed, renewals } = std::mem::take(&mut *self.ephemerals.open());
        for (here, _) in kept.iter_mut().filter(|(here, _)| hushed.contains(&here.address.to_string())) {
            here.progress = ProgressSender::none();
        }
        let mut said = Vec::new();
        while let Some((last, object)) = kept.pop() {
            let resource = last.address.all();
            let mut together = vec![close(last, object)];
            // Instances of one block do not depend on each other.
            while kept.last().is_some_and(|(here, _)| here.address.all() == resource) {
                together.extend(kept.pop().map(|(here, object)| close(here, object)));
            }
            said.extend(futures::future::join_all(together).await.into_iter().flatten());
        }
        said.extend(renewals);
        // Adds the diagnostics of renewals.
        said.append(&mut self.ephemerals.open().renewals);
        said
    }
}

impl OpenedHere {
    fn converted(&self, said: &[ProviderDiagnostic]) -> Vec<Diagnostic> {
        said.iter().map(|found| found.to_diagnostic().about(self.address.to_string()).at(self.range.clone())).collect()
    }
}

async fn close(here: OpenedHere, object: OpenObject) -> Vec<Diagnostic> {
    let nothing = Value::null(Type::Dynamic);
    let began = here.progress.begin(&here.address, ProgressStep::CloseStarted, &nothing);
    let said = match object.close().await {
        Ok(said) => here.converted(&said),
        Err(error) => vec![problems::ephemeral_not_closed(&here.address, &error, &here.range)],
    };
    here.progress.end(&here.address, ProgressStep::CloseDone, &nothing, began);
    said
}
