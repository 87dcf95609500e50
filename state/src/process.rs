//! Processes of this machine.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Whether a process with this id exists. `/proc` may hide processes of other users (`hidepid`), so this sends a null
/// signal: the answer "not permitted" differs from "no such process".
pub fn process_exists(process: u32) -> bool {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    process.is_some_and(|process| test_kill_process(process) != Err(Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_other_users_exist_too() {
        assert!(process_exists(1), "the first process, which may belong to another user");
        assert!(process_exists(std::process::id()));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert!(!process_exists(child.id()));
        assert!(!process_exists(u32::MAX));
    }
}
