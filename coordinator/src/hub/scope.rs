//! The runs that a connection may work for, and send reports about.

use weft_protocol::Greeting;
use weft_state::RunId;

use crate::outline::HOME;
use crate::plan::is_of_command_line;

/// The runs that a connection may work for: all runs, or only the run whose command line made the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    only_run: Option<String>,
}

impl Scope {
    /// The scope of a connection that began with this greeting.
    pub(super) fn of(hello: &Greeting) -> Scope {
        let is_limited = is_of_command_line(&hello.name, &hello.labels);
        Scope { only_run: hello.labels.get(HOME).filter(|_| is_limited).cloned() }
    }

    /// Whether the connection may work for only one run.
    pub(super) fn is_limited(&self) -> bool {
        self.only_run.is_some()
    }

    /// Whether the connection may work for a run.
    pub(super) fn allows(&self, run: &RunId) -> bool {
        self.only_run.as_deref().is_none_or(|own| own == run.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_worker_of_a_command_line_is_limited_to_a_run() {
        let allowed = |name: &str, labels: &[(&str, &str)]| {
            let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let scope = Scope::of(&Greeting { name: name.to_owned(), labels, ..Greeting::default() });
            ["r1", "r2"].map(|run| scope.allows(&RunId::parse(run).expect("a run id")))
        };
        assert_eq!(allowed("home-r1", &[("home", "r1")]), [true, false]);
        assert_eq!(allowed("home-r1", &[("home", "r2")]), [true; 2]);
        assert_eq!(allowed("w", &[("home", "r1")]), [true; 2]);
        assert_eq!(allowed("home", &[]), [true; 2]);
    }
}
