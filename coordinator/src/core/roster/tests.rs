use super::*;

fn roster(windows: &[u32]) -> Roster {
    let mut roster = Roster::default();
    for (window, number) in windows.iter().zip(0..) {
        let worker = roster.enlist(&WorkerId(format!("w{number}/1")), 0);
        roster.join(worker, Abilities { window: *window, ..Abilities::default() });
    }
    roster
}

const FIRST: WorkerIndex = WorkerIndex(0);

#[test]
fn a_task_counts_once() {
    let mut roster = roster(&[2]);
    roster.add_task(FIRST, Position(1));
    roster.add_task(FIRST, Position(1));
    assert_eq!(roster.in_flight(), 1);
    assert!(roster.remove_task(FIRST, Position(1)) && !roster.remove_task(FIRST, Position(1)));
    assert_eq!(roster.in_flight(), 0);
}

#[test]
fn a_task_whose_intent_is_on_the_way_needs_no_slot() {
    let mut roster = roster(&[1]);
    roster.add_task(FIRST, Position(1));
    assert!(!roster.has_slot(FIRST));
    roster.leave_slot(FIRST, Position(1));
    roster.leave_slot(FIRST, Position(7));
    assert!(roster.has_slot(FIRST), "and a task that it does not have gives no slot away");
    roster.take_slot(FIRST, Position(1));
    assert!(!roster.has_slot(FIRST));
    roster.leave_slot(FIRST, Position(1));
    roster.remove_task(FIRST, Position(1));
    assert!(roster.has_slot(FIRST));
}

#[test]
fn a_worker_is_lost_once_after_its_time() {
    let mut roster = roster(&[1, 1]);
    assert!(roster.disconnect(FIRST, 10) && !roster.disconnect(FIRST, 15));
    assert_eq!(roster.lose_absent(19, 10), []);
    assert_eq!(roster.lose_absent(20, 10), [FIRST]);
    assert_eq!(roster.lose_absent(30, 10), []);
    assert!(!roster.bury(FIRST), "its tasks were given up already");
    assert!(roster.bury(WorkerIndex(1)) && roster.is_attempt_dead(WorkerIndex(1), Position(0)));
    assert!(roster.absent().is_empty() && !roster.has_connected() && roster.was_visited());
}

#[test]
fn workers_and_shards_take_turns() {
    let mut roster = roster(&[1, 1]);
    let second = WorkerIndex(1);
    for (worker, shard) in [(FIRST, 0), (FIRST, 2), (second, 1)] {
        roster.hold(worker, ShardIndex(shard), 1);
        roster.set_busy(worker, ShardIndex(shard), true);
        roster.refresh(worker, &Ahead::default());
    }
    let workers: Vec<_> = std::iter::from_fn(|| roster.next_worker()).take(3).collect();
    assert_eq!(workers, [FIRST, second, FIRST]);
    let shards: Vec<_> = std::iter::from_fn(|| roster.next_shard(FIRST)).take(3).collect();
    assert_eq!(shards, [ShardIndex(0), ShardIndex(2), ShardIndex(0)]);
    roster.disconnect(FIRST, 0);
    assert_eq!(roster.next_worker(), Some(second));
}

#[test]
fn a_shard_that_was_given_back_is_neither_load_nor_work() {
    let mut roster = roster(&[1, 1]);
    roster.hold(FIRST, ShardIndex(0), 3);
    roster.hold(FIRST, ShardIndex(0), 3);
    roster.set_busy(FIRST, ShardIndex(0), true);
    assert_eq!(roster.least_loaded(1, |_| true), Some(WorkerIndex(1)));
    roster.rest_began(FIRST);
    roster.release(FIRST, ShardIndex(0), 2);
    assert_eq!(roster.least_loaded(1, |_| true), Some(FIRST));
    assert!(roster.next_shard(FIRST).is_none() && roster.shards(FIRST).is_empty());
}

#[test]
fn only_a_worker_that_stays_and_has_what_is_needed_fits() {
    let mut roster = Roster::default();
    let worker = roster.enlist(&WorkerId("w/1".to_owned()), 0);
    let labels = BTreeMap::from([("region".to_owned(), "eu".to_owned())]);
    let packages = vec!["h1".to_owned()];
    assert!(!roster.fits(worker, &BTreeMap::new(), &[]), "it is not connected");
    roster.join(worker, Abilities { labels: labels.clone(), packages: packages.clone(), window: 1, only_home: false });
    assert!(roster.fits(worker, &labels, &packages));
    assert!(!roster.fits(worker, &labels, &["h2".to_owned()]));
    assert!(!roster.fits(worker, &BTreeMap::from([("region".to_owned(), "us".to_owned())]), &packages));
    assert!(roster.begin_to_leave(worker) && !roster.begin_to_leave(worker));
    assert!(!roster.fits(worker, &labels, &packages));
}

#[test]
fn a_worker_of_a_command_line_fits_only_what_must_run_there() {
    let mut roster = Roster::default();
    let home = BTreeMap::from([("home".to_owned(), "r".to_owned())]);
    let join = |roster: &mut Roster, name: &str, only_home| {
        let worker = roster.enlist(&WorkerId(name.to_owned()), 0);
        roster.join(worker, Abilities { labels: home.clone(), window: 1, only_home, ..Abilities::default() });
        worker
    };
    let (there, here) = (join(&mut roster, "home-r/1", true), join(&mut roster, "home/1", false));
    assert!(roster.fits(there, &home, &[]) && roster.fits(here, &home, &[]));
    assert!(!roster.fits(there, &BTreeMap::new(), &[]));
    assert!(roster.fits(here, &BTreeMap::new(), &[]));
}

#[test]
fn shards_are_spread_by_the_capacity_of_the_workers() {
    let spread = |windows: &[u32], open: u32, shards: u32| {
        let mut roster = roster(windows);
        for shard in 0..shards {
            let worker = roster.least_loaded(open, |_| true).expect("a worker");
            roster.hold(worker, ShardIndex(shard), open);
        }
        roster.shares().map(|(_, _, load)| load).collect::<Vec<_>>()
    };
    assert_eq!(spread(&[1, 100], 10, 4), [0, 40]);
    assert_eq!(spread(&[10, 30], 10, 4), [10, 30]);
    assert_eq!(spread(&[100, 100], 10, 4), [20, 20]);
    assert_eq!(spread(&[1, 3], u32::MAX, 4), [u64::from(u32::MAX), 3 * u64::from(u32::MAX)]);
}
