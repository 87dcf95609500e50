//! Pseudo-random numbers that repeat for the same seed, and choices based on them.

/// A generator (SplitMix64): small, and good enough to choose positions and pieces.
pub struct Random(u64);

impl Random {
    /// The generator for one input of one target.
    pub fn of(seed: u64, target: &str, index: u64) -> Random {
        let name = target
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let mut random = Random(seed ^ name.rotate_left(17) ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.next();
        random
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next() % bound as u64) as usize }
    }

    /// True with a probability of one in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of the elements. The slice must not be empty.
    pub fn pick<'a, T: ?Sized>(&mut self, all: &'a [&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// One of the elements. The slice must not be empty.
    pub fn one<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}
