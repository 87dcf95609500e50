//! The progress of each provider instance: counts, running operations, and the remaining time.
//!
//! A [`Board`] receives events with the time since the start. The board produces lines for a terminal, which are
//! redrawn in place, and plain lines, which are printed at intervals. The board knows only the addresses of provider
//! instances, so it never contains sensitive values.

use std::collections::BTreeMap;
use std::time::Duration;

use unicode_width::UnicodeWidthStr;

use super::counted::counted;
use super::natural::{natural, short};
use super::plan::duration;
use super::style::Style;

/// The maximum number of lines about provider instances on a terminal.
const MOST_ROWS: usize = 12;
/// The maximum number of lines about provider instances in the final summary. They fit on one screen.
const MOST_SUMMARY_ROWS: usize = 40;
/// The time after which a running operation is named. Shorter operations would flicker.
const NAMED_AFTER: Duration = Duration::from_secs(5);
/// The width of a bar, in columns.
const BAR: usize = 20;
/// The minimum number of finished operations for an estimate of the remaining time. Fewer give no useful estimate.
const ENOUGH: usize = 3;

/// The progress of one provider instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct InstanceProgress {
    all: usize,
    done: usize,
    failed: usize,
    running: usize,
    /// When the first operation began.
    began: Option<Duration>,
    /// When the last finished operation ended.
    ended_at: Option<Duration>,
}

impl InstanceProgress {
    fn ended(&self) -> usize {
        self.done + self.failed
    }

    /// The estimated remaining time. `None` if too little is known.
    fn left(&self, now: Duration) -> Option<Duration> {
        let spent = now.checked_sub(self.began?)?;
        let rest = u32::try_from(self.all.saturating_sub(self.ended())).ok()?;
        let ended = u32::try_from(self.ended()).ok()?;
        (self.ended() >= ENOUGH && rest > 0).then(|| spent.saturating_mul(rest) / ended)
    }

    fn add(&mut self, other: &InstanceProgress) {
        self.all += other.all;
        self.done += other.done;
        self.failed += other.failed;
        self.running += other.running;
        self.began = match (self.began, other.began) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.ended_at = self.ended_at.max(other.ended_at);
    }

    /// The finished part, in thousandths.
    fn share(&self) -> usize {
        (1000 * self.ended()).checked_div(self.all).unwrap_or(1000)
    }

    fn words(&self, now: Duration) -> String {
        let mut words = Vec::new();
        if self.running > 0 {
            words.push(format!("{} running", self.running));
        }
        if self.failed > 0 {
            words.push(format!("{} failed", self.failed));
        }
        if let Some(left) = self.left(now) {
            words.push(format!("about {} left", duration(left.as_secs().max(1))));
        }
        words.join(", ")
    }
}

/// The progress of all provider instances.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Board {
    instances: BTreeMap<String, InstanceProgress>,
}

impl Board {
    /// Creates a board before the first event. `operations` are the provider instances of the operations to come, as
    /// text. Operations without a provider instance are ignored.
    pub fn new<'o>(operations: impl IntoIterator<Item = &'o str>) -> Board {
        let mut board = Board::default();
        for instance in operations.into_iter().filter(|instance| !instance.is_empty()) {
            board.instances.entry(instance.to_owned()).or_default().all += 1;
        }
        board
    }

    fn change(&mut self, instance: &str, change: impl FnOnce(&mut InstanceProgress)) {
        if let Some(tally) = self.instances.get_mut(instance) {
            change(tally);
        }
    }

    /// An operation of a provider instance began.
    pub fn began(&mut self, instance: &str, now: Duration) {
        self.change(instance, |tally| {
            tally.running += 1;
            tally.began.get_or_insert(now);
        });
    }

    /// An operation no longer runs, but has not finished.
    pub fn returned(&mut self, instance: &str) {
        self.change(instance, |tally| tally.running = tally.running.saturating_sub(1));
    }

    /// An operation has finished. `ran` says whether it had begun.
    pub fn done(&mut self, instance: &str, ran: bool, now: Duration) {
        self.change(instance, |tally| {
            tally.done += 1;
            tally.ended_at = Some(now);
            tally.running = tally.running.saturating_sub(usize::from(ran));
        });
    }

    /// An operation failed, will not begin, or is in doubt. `ran` says whether it had begun.
    pub fn failed(&mut self, instance: &str, ran: bool, now: Duration) {
        self.change(instance, |tally| {
            tally.failed += 1;
            tally.ended_at = Some(now);
            tally.running = tally.running.saturating_sub(usize::from(ran));
        });
    }

    /// Whether there are several provider instances, so that each of them has its own line.
    pub fn has_several(&self) -> bool {
        self.instances.len() > 1
    }

    /// The provider instances by need for attention: first the ones with failures, then the running ones, then the
    /// waiting ones, then the finished ones. Within each group, the instance with the smallest finished share is first.
    fn by_attention(&self) -> Vec<(&str, &InstanceProgress)> {
        let mut rows: Vec<(&str, &InstanceProgress)> =
            self.instances.iter().map(|(name, tally)| (name.as_str(), tally)).collect();
        rows.sort_by(|(left, a), (right, b)| {
            let key = |tally: &InstanceProgress| {
                let waits = tally.began.is_none();
                (tally.failed == 0, tally.ended() >= tally.all, waits, tally.share())
            };
            key(a).cmp(&key(b)).then_with(|| natural(short(left), short(right)))
        });
        rows
    }

    /// Lines for a log: one for each provider instance that has not finished.
    pub fn plain(&self, now: Duration) -> Vec<String> {
        let busy = self.by_attention().into_iter().filter(|(_, tally)| tally.ended() < tally.all);
        busy.map(|(instance, tally)| {
            let words = tally.words(now);
            let comma = if words.is_empty() { "" } else { ", " };
            format!("{}: {} of {} operations done{comma}{words}", short(instance), tally.done, tally.all)
        })
        .collect()
    }

    /// Lines for the final summary: the result and the duration of each provider instance.
    pub fn summary(&self, style: &Style) -> Vec<String> {
        let widest = self.instances.keys().map(|name| short(name).width()).max().unwrap_or(0);
        let rows = self.by_attention().into_iter().take(MOST_SUMMARY_ROWS).map(|(instance, tally)| {
            let name = short(instance);
            let space = " ".repeat(widest.saturating_sub(name.width()));
            let took = tally.ended_at.unwrap_or_default().saturating_sub(tally.began.unwrap_or_default());
            let line = if tally.done == tally.all {
                format!("{name}{space}  {} done in {}", counted(tally.all, "operation"), duration(took.as_secs()))
            } else {
                let failed =
                    if tally.failed > 0 { format!(", {} failed or skipped", tally.failed) } else { String::new() };
                format!("{name}{space}  {} of {} operations done{failed}", tally.done, tally.all)
            };
            cut(&line, style.width.saturating_sub(1))
        });
        let mut lines: Vec<String> = rows.collect();
        if self.instances.len() > MOST_SUMMARY_ROWS {
            lines.push(format!("... and {} more", self.instances.len() - MOST_SUMMARY_ROWS));
        }
        lines
    }

    /// Lines for a terminal, each narrower than the terminal: the provider instances that need attention most, a total
    /// if there are several instances, and the operation that has run longest, if it has run for at least
    /// [`NAMED_AFTER`]. Empty if all operations have finished.
    pub fn block(&self, now: Duration, longest: Option<(&str, Duration)>, style: &Style) -> Vec<String> {
        let mut sum = InstanceProgress::default();
        self.instances.values().for_each(|tally| sum.add(tally));
        if sum.ended() >= sum.all {
            return Vec::new();
        }
        let mut rows: Vec<(&str, &InstanceProgress)> =
            self.by_attention().into_iter().map(|(name, tally)| (short(name), tally)).collect();
        let hidden = rows.len().saturating_sub(MOST_ROWS);
        rows.truncate(MOST_ROWS);
        let total = format!("all {}", self.instances.len());
        let several = self.has_several();
        let widest = rows.iter().map(|(name, _)| name.width()).chain([total.width()]).max().unwrap_or(0);
        let digits = sum.all.to_string().len();
        let row = |name: &str, tally: &InstanceProgress| {
            let filled = (BAR * tally.ended()).checked_div(tally.all).unwrap_or(0).min(BAR);
            let space = " ".repeat(widest.saturating_sub(name.width()));
            let bar = format!("{}{}", "━".repeat(filled), " ".repeat(BAR - filled));
            let done = tally.done;
            let all = tally.all;
            let line = format!("  {name}{space}  {bar}  {done:>digits$}/{all:<digits$}  {}", tally.words(now));
            cut(line.trim_end(), style.width.saturating_sub(1))
        };
        let mut lines: Vec<String> = rows.iter().map(|(name, tally)| row(name, tally)).collect();
        if hidden > 0 {
            lines.push(cut(&format!("  ... and {hidden} more"), style.width.saturating_sub(1)));
        }
        if several {
            lines.push(row(&total, &sum));
        }
        if let Some((object, elapsed)) = longest.filter(|(_, elapsed)| *elapsed >= NAMED_AFTER) {
            let line = format!("  longest: {object}, {}", duration(elapsed.as_secs()));
            lines.push(cut(&line, style.width.saturating_sub(1)));
        }
        lines
    }
}

/// The beginning of a line, up to this width.
fn cut(line: &str, width: usize) -> String {
    let mut taken = 0;
    line.chars()
        .take_while(|c| {
            taken += unicode_width::UnicodeWidthChar::width(*c).unwrap_or(0);
            taken <= width
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EU: &str = "provider[\"h/n/aws\"].by_region[\"eu-west-1\"]";
    const US: &str = "provider[\"h/n/aws\"].by_region[\"us\"]";

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn a_keyed_provider_instance_is_shown_by_its_key() {
        assert_eq!(short(EU), "eu-west-1");
        assert_eq!(short("provider[\"h/n/aws\"]"), "provider[\"h/n/aws\"]");
    }

    #[test]
    fn the_board_shows_counts_and_the_time_left() {
        let mut board = Board::new([EU, EU, EU, EU, EU, US, ""]);
        board.began(EU, seconds(10));
        for _ in 0..4 {
            board.began(EU, seconds(10));
        }
        for _ in 0..3 {
            board.done(EU, true, seconds(40));
        }
        assert_eq!(
            board.plain(seconds(40)),
            ["eu-west-1: 3 of 5 operations done, 2 running, about 20s left", "us: 0 of 1 operations done",]
        );
        board.failed(US, false, seconds(40));
        let longest = Some(("aws_db_instance.main", seconds(30)));
        let block = board.block(seconds(40), longest, &Style::default());
        assert_eq!(
            block,
            [
                "  us         ━━━━━━━━━━━━━━━━━━━━  0/1  1 failed",
                "  eu-west-1  ━━━━━━━━━━━━          3/5  2 running, about 20s left",
                "  all 2      ━━━━━━━━━━━━━         3/6  2 running, 1 failed, about 15s left",
                "  longest: aws_db_instance.main, 30s",
            ]
        );
        let narrow = board.block(seconds(40), longest, &Style { width: 12, ..Style::default() });
        assert!(narrow.iter().all(|l| l.width() <= 11));
        let short_one = Some(("aws_db_instance.main", seconds(4)));
        assert_eq!(board.block(seconds(40), short_one, &Style::default()).len(), 3);
        board.done(EU, true, seconds(50));
        board.done(EU, true, seconds(60));
        assert!(board.block(seconds(60), None, &Style::default()).is_empty());
        assert_eq!(
            board.summary(&Style::default()),
            ["us         0 of 1 operations done, 1 failed or skipped", "eu-west-1  5 operations done in 50s"]
        );
    }

    #[test]
    fn slow_and_failing_provider_instances_come_first() {
        let instance = |name: &str| format!("provider[\"h/n/aws\"].by_region[\"{name}\"]");
        let names = ["r-10", "r-2", "done", "slow", "failed", "fast"];
        let operations: Vec<String> = names.iter().flat_map(|name| vec![instance(name); 4]).collect();
        let mut board = Board::new(operations.iter().map(String::as_str));
        let mut finish = |name: &str, count: usize| {
            board.began(&instance(name), seconds(1));
            (0..count).for_each(|_| board.done(&instance(name), false, seconds(2)));
        };
        finish("done", 4);
        finish("slow", 1);
        finish("fast", 3);
        finish("failed", 3);
        board.failed(&instance("failed"), false, seconds(3));
        let order: Vec<&str> = board.by_attention().into_iter().map(|(name, _)| short(name)).collect();
        assert_eq!(order, ["failed", "slow", "fast", "r-2", "r-10", "done"]);
    }
}
