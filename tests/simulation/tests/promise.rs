//! The seeds of the ordinary test run. `WEFT_SIMULATION_SEEDS=100000` runs more. `scripts/simulate` shows histories.

use weft_simulation::{history, run};

const SEEDS: u64 = 3_000;

#[test]
fn the_promise_is_kept() {
    let seeds = std::env::var("WEFT_SIMULATION_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SEEDS);
    let half = |first: u64| (first..seeds).step_by(2).find_map(|seed| run(seed).err());
    let failure = std::thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        half(0).or(other.join().expect("a history ends in a value"))
    });
    if let Some(failure) = failure {
        panic!("{}seed {} breaks the promise: {}", failure.history, failure.seed, failure.reason);
    }
}

#[test]
fn workers_that_cannot_configure_a_provider_occur() {
    let histories: Vec<String> = (0..100).map(history).collect();
    for report in ["unopened: true", "Unopened("] {
        assert!(histories.iter().any(|history| history.contains(report)), "{report}");
    }
}

#[test]
fn equal_seeds_give_equal_histories() {
    for seed in 0..20 {
        assert_eq!(run(seed).expect("it passes"), run(seed).expect("it passes"), "seed {seed}");
    }
}
