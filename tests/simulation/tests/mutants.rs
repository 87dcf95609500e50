//! Every deliberate bug is found. `cargo test --workspace --features weft-simulation/mutants --test mutants`.

use weft_simulation::{Mutant, run_mutant};

/// The number of seeds within which each bug must be found.
const SEEDS: u64 = 10_000;

#[test]
fn every_mutant_is_found() {
    let mut missed = Vec::new();
    for mutant in Mutant::ALL {
        match (0..SEEDS).find_map(|seed| run_mutant(seed, mutant).err()) {
            Some(failure) => println!("{mutant}: seed {}: {}", failure.seed, failure.reason),
            None => missed.push(mutant),
        }
    }
    assert_eq!(missed, []);
}
