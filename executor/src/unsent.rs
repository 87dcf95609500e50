//! Data that a worker has not sent yet: reports, and lines of provisioners. The lines go before the results of their
//! operations.

use tokio::sync::mpsc;
use weft_graph_format::run::RunId;
use weft_protocol::{Report, RunLine, WorkerFrame};

/// The maximum number of lines in one frame. With lines of the maximum length, a frame has 4 MiB.
const FRAME_LINES: usize = 64;

/// Reports and lines that were taken from the queues and not sent yet.
#[derive(Debug, Default)]
pub(crate) struct Unsent {
    lines: Vec<RunLine>,
    reports: Vec<(RunId, Report)>,
    /// The number of lines to send before the reports: those that were queued before the reports were taken.
    lines_before: usize,
}

impl Unsent {
    /// Whether everything that was taken has been sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.reports.is_empty()
    }

    /// Whether there are lines already, so that the next frame need not wait for more.
    pub(crate) fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Waits for lines.
    pub(crate) async fn receive(&mut self, queue: &mut mpsc::Receiver<RunLine>) {
        queue.recv_many(&mut self.lines, FRAME_LINES).await;
    }

    /// The next frame. It contains reports only if all lines that were queued before these reports are in the frame or
    /// were sent. `more` returns further reports.
    pub(crate) fn frame(
        &mut self,
        queue: &mut mpsc::Receiver<RunLine>,
        more: impl FnOnce() -> Vec<(RunId, Report)>,
    ) -> WorkerFrame {
        if self.reports.is_empty() {
            self.reports = more();
            self.lines_before = self.lines.len() + queue.len();
        }
        while self.lines.len() < FRAME_LINES
            && let Ok(line) = queue.try_recv()
        {
            self.lines.push(line);
        }
        let lines = std::mem::take(&mut self.lines);
        self.lines_before = self.lines_before.saturating_sub(lines.len());
        let reports = if self.lines_before == 0 { std::mem::take(&mut self.reports) } else { Vec::new() };
        WorkerFrame { lines, ..WorkerFrame::of_reports(reports.into_iter()) }
    }
}

#[cfg(test)]
mod tests {
    use weft_protocol::{OutputLine, Task};

    use super::*;

    fn line(number: usize) -> RunLine {
        let line = OutputLine { address: "a.b".into(), provisioner: "local-exec".into(), text: number.to_string() };
        RunLine { run: RunId::parse("r").unwrap(), line }
    }

    #[test]
    fn lines_are_sent_before_the_reports_that_follow_them() {
        let (sender, mut queue) = mpsc::channel(1_000);
        let mut unsent = Unsent::default();
        let report = || vec![(RunId::parse("r").unwrap(), Report::Returned(Task::new(1, 1)))];
        (0..FRAME_LINES + 1).for_each(|number| sender.try_send(line(number)).unwrap());
        let first = unsent.frame(&mut queue, report);
        assert_eq!((first.lines.len(), first.reports.len(), unsent.is_empty()), (FRAME_LINES, 0, false));
        // Lines that follow do not delay the report.
        (0..3 * FRAME_LINES).for_each(|number| sender.try_send(line(number)).unwrap());
        let second = unsent.frame(&mut queue, || panic!("the first report is not sent"));
        assert_eq!((second.lines.len(), second.reports.len(), unsent.is_empty()), (FRAME_LINES, 1, true));
        assert_eq!(second.lines[0], line(FRAME_LINES));
    }
}
