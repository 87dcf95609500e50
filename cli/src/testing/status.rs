//! The statuses of runs, files and whole tests.

/// The status of a run, from good to bad. The status of a file or a test is the worst of its runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TestStatus {
    /// The run was not reached.
    #[default]
    Pending,
    /// The run was skipped, because an earlier one failed or the user interrupted the test.
    Skip,
    /// All assertions hold.
    Pass,
    /// An assertion failed.
    Fail,
    /// Another error.
    Error,
}

impl TestStatus {
    /// The worse of two statuses.
    #[must_use]
    pub fn with(self, other: TestStatus) -> TestStatus {
        self.max(other)
    }

    /// The word in events.
    pub fn word(self) -> &'static str {
        match self {
            TestStatus::Pending => "pending",
            TestStatus::Skip => "skip",
            TestStatus::Pass => "pass",
            TestStatus::Fail => "fail",
            TestStatus::Error => "error",
        }
    }

    /// The word in text output. Both kinds of failure have the same word, because the messages show the difference.
    pub fn shown(self) -> &'static str {
        if self == TestStatus::Error { "fail" } else { self.word() }
    }

    /// The color of the word in text output.
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
    /// The number of runs that passed.
    pub passed: usize,
    /// The number of runs with failed assertions.
    pub failed: usize,
    /// The number of runs with other errors.
    pub errored: usize,
    /// The number of skipped runs.
    pub skipped: usize,
}

impl StatusCounts {
    /// The counts of these statuses.
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
