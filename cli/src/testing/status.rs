//! Statuses of runs, files and whole tests.

/// The outcome of a run, from good to bad. The worst of several counts for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It was not reached.
    #[default]
    Pending,
    /// It was skipped, because an earlier one failed or the user interrupted the test.
    Skip,
    /// All assertions hold.
    Pass,
    /// An assertion failed.
    Fail,
    /// Another error.
    Error,
}

impl Status {
    /// The worse of the two.
    #[must_use]
    pub fn with(self, other: Status) -> Status {
        self.max(other)
    }

    /// The name for programs.
    pub fn word(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Skip => "skip",
            Status::Pass => "pass",
            Status::Fail => "fail",
            Status::Error => "error",
        }
    }

    /// The name for people. The messages show which kind of failure it is.
    pub fn shown(self) -> &'static str {
        if self == Status::Error { "fail" } else { self.word() }
    }

    /// The color of that name.
    pub fn colour(self) -> &'static str {
        match self {
            Status::Error | Status::Fail => "31",
            Status::Pass => "32",
            Status::Pending | Status::Skip => "37",
        }
    }
}

/// The number of runs with each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusCounts {
    /// Passed.
    pub passed: usize,
    /// Failed assertions.
    pub failed: usize,
    /// Other errors.
    pub errored: usize,
    /// Skipped.
    pub skipped: usize,
}

impl StatusCounts {
    /// Counts these statuses.
    pub fn of(statuses: impl IntoIterator<Item = Status>) -> StatusCounts {
        let mut tally = StatusCounts::default();
        for status in statuses {
            match status {
                Status::Pending => {}
                Status::Skip => tally.skipped += 1,
                Status::Pass => tally.passed += 1,
                Status::Fail => tally.failed += 1,
                Status::Error => tally.errored += 1,
            }
        }
        tally
    }

    /// The counts as text, after `Success!` or `Failure!`.
    pub fn words(&self) -> String {
        let skipped = if self.skipped > 0 { format!(", {} skipped", self.skipped) } else { String::new() };
        format!("{} passed, {} failed{skipped}.", self.passed, self.failed + self.errored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_status_counts() {
        let worst = |statuses: &[Status]| statuses.iter().fold(Status::Pass, |all, one| all.with(*one));
        assert_eq!(worst(&[]), Status::Pass);
        assert_eq!(worst(&[Status::Pass, Status::Skip]), Status::Pass);
        assert_eq!(worst(&[Status::Fail, Status::Pass]), Status::Fail);
        assert_eq!(worst(&[Status::Fail, Status::Error, Status::Skip]), Status::Error);
    }

    #[test]
    fn statuses_are_counted() {
        let tally =
            StatusCounts::of([Status::Pass, Status::Pass, Status::Fail, Status::Error, Status::Skip, Status::Pending]);
        assert_eq!(tally.words(), "2 passed, 2 failed, 1 skipped.");
        assert_eq!(StatusCounts::of([Status::Pass]).words(), "1 passed, 0 failed.");
    }
}
