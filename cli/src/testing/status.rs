//! Statuses of runs, files and whole tests.

/// The outcome of a run, from good to bad. The worst of several counts for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TestStatus {
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

impl TestStatus {
    /// The worse of the two.
    #[must_use]
    pub fn with(self, other: TestStatus) -> TestStatus {
        self.max(other)
    }

    /// The name for programs.
    pub fn word(self) -> &'static str {
        match self {
            TestStatus::Pending => "pending",
            TestStatus::Skip => "skip",
            TestStatus::Pass => "pass",
            TestStatus::Fail => "fail",
            TestStatus::Error => "error",
        }
    }

    /// The name for people. The messages show which kind of failure it is.
    pub fn shown(self) -> &'static str {
        if self == TestStatus::Error { "fail" } else { self.word() }
    }

    /// The color of that name.
    pub fn colour(self) -> &'static str {
        match self {
            TestStatus::Error | TestStatus::Fail => "31",
            TestStatus::Pass => "32",
            TestStatus::Pending | TestStatus::Skip => "37",
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
    pub fn of(statuses: impl IntoIterator<Item = TestStatus>) -> StatusCounts {
        let mut tally = StatusCounts::default();
        for status in statuses {
            match status {
                TestStatus::Pending => {}
                TestStatus::Skip => tally.skipped += 1,
                TestStatus::Pass => tally.passed += 1,
                TestStatus::Fail => tally.failed += 1,
                TestStatus::Error => tally.errored += 1,
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
        let worst = |statuses: &[TestStatus]| statuses.iter().fold(TestStatus::Pass, |all, one| all.with(*one));
        assert_eq!(worst(&[]), TestStatus::Pass);
        assert_eq!(worst(&[TestStatus::Pass, TestStatus::Skip]), TestStatus::Pass);
        assert_eq!(worst(&[TestStatus::Fail, TestStatus::Pass]), TestStatus::Fail);
        assert_eq!(worst(&[TestStatus::Fail, TestStatus::Error, TestStatus::Skip]), TestStatus::Error);
    }

    #[test]
    fn statuses_are_counted() {
        let tally = StatusCounts::of([
            TestStatus::Pass,
            TestStatus::Pass,
            TestStatus::Fail,
            TestStatus::Error,
            TestStatus::Skip,
            TestStatus::Pending,
        ]);
        assert_eq!(tally.words(), "2 passed, 2 failed, 1 skipped.");
        assert_eq!(StatusCounts::of([TestStatus::Pass]).words(), "1 passed, 0 failed.");
    }
}
