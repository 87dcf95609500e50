//! What planning tells while it looks at real objects, for whoever wants to show that something goes on.

use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::value::{Kind, Value};

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looking {
    /// A managed object is about to be looked at.
    RefreshStarted,
    /// It was looked at.
    RefreshDone,
    /// A data source is about to be read.
    ReadStarted,
    /// It was read.
    ReadDone,
    /// An ephemeral object is about to be opened.
    OpenStarted,
    /// It is open.
    OpenDone,
    /// It is about to be renewed.
    RenewStarted,
    /// It was renewed.
    RenewDone,
    /// It is about to be closed.
    CloseStarted,
    /// It was closed.
    CloseDone,
}

/// One report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// The object.
    pub address: ResourceInstance,
    /// What happens to it.
    pub what: Looking,
    /// Its `id`, else its `name`, and which of the two; none where it has neither or it is sensitive.
    pub id: Option<(&'static str, String)>,
    /// Since it was started.
    pub elapsed: Duration,
}

/// Where reports go.
///
/// Planning does not wait for whoever reads them: there are two for an object that is looked at, each far smaller than
/// what planning would hold of the object meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Watch(Option<UnboundedSender<Look>>);

impl Watch {
    /// Nobody listens.
    pub fn none() -> Watch {
        Watch(None)
    }

    /// One, and what it will hear.
    pub fn new() -> (Watch, UnboundedReceiver<Look>) {
        let (sender, receiver) = unbounded_channel();
        (Watch(Some(sender)), receiver)
    }

    /// Tells that something begins; the time is for the end of it.
    pub(crate) fn begin(&self, address: &ResourceInstance, what: Looking, value: &Value) -> Instant {
        self.tell(address, what, value, Duration::ZERO);
        Instant::now()
    }

    /// Tells that something ended.
    pub(crate) fn end(&self, address: &ResourceInstance, what: Looking, value: &Value, began: Instant) {
        self.tell(address, what, value, began.elapsed());
    }

    pub(crate) fn tell(&self, address: &ResourceInstance, what: Looking, value: &Value, elapsed: Duration) {
        if let Some(sender) = &self.0 {
            let look = Look { address: address.clone(), what, id: identity(value), elapsed };
            // A listener that went away does not matter to the plan.
            let _ = sender.send(look);
        }
    }
}

/// `id` of an object, else its `name`, unless it must not be shown.
pub fn identity(value: &Value) -> Option<(&'static str, String)> {
    let fields = value.as_fields()?;
    ["id", "name"].into_iter().find_map(|key| {
        let (marks, kind) = fields.get(key)?.open();
        match kind {
            Kind::String(text) if !marks.is_sensitive() => Some((key, text.to_string())),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_graph_format::marks::Marks;

    #[test]
    fn identities() {
        let object = |id: Value| Value::object([("id", id), ("name", Value::string("n"))]);
        assert_eq!(identity(&object(Value::string("i-1"))), Some(("id", "i-1".to_owned())));
        let hidden = Value::string("i-1").mark(&Marks::SENSITIVE);
        assert_eq!(identity(&object(hidden)), Some(("name", "n".to_owned())));
        assert_eq!(identity(&Value::int(1)), None);
    }
}
