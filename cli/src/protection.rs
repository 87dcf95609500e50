//! Protection of the memory of this process, which holds the values of plans and states.

/// The environment variable that allows core dumps and debuggers.
const ALLOWED: &str = "WEFT_ALLOW_CORE_DUMPS";

/// Prevents core dumps of this process, and of its children unless they raise the limit. On Linux, also prevents other
/// processes of the same user from reading the memory and environment of this process. `WEFT_ALLOW_CORE_DUMPS=1` turns
/// both off, for debuggers.
pub fn protect_memory() {
    if std::env::var_os(ALLOWED).is_some_and(|value| value == "1") {
        return;
    }
    limit_core_dumps();
    #[cfg(target_os = "linux")]
    forbid_attaching();
}

/// Sets the limit for the size of core dumps to zero. Plugins inherit the limit, but may raise it again.
fn limit_core_dumps() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    if let Err(error) = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum }) {
        tracing::debug!("the limit for core dumps cannot be set: {error}");
    }
}

/// Marks the process as not dumpable, so that other processes of the same user cannot attach to it. This also prevents
/// dumps that the system pipes to a program. The limit of [`limit_core_dumps`] does not apply to such dumps.
#[cfg(target_os = "linux")]
fn forbid_attaching() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::debug!("core dumps cannot be turned off: {error}");
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};

    use super::*;

    #[test]
    fn the_process_dumps_no_core() {
        protect_memory();
        assert_eq!(getrlimit(Resource::Core).current, Some(0));
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
        // The process can still find its own executable.
        assert!(std::env::current_exe().is_ok() && std::fs::read_link("/proc/self/exe").is_ok());
    }
}
