//! Numbers that look random and come again for the same seed, and what is picked by them.

/// A generator (SplitMix64): small, and good enough to pick places and pieces.
pub struct Random(u64);

impl Random {
    /// The numbers of one input of one target.
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

    /// A number below `bound`; zero where that is zero.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next() % bound as u64) as usize }
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of them; there must be one.
    pub fn pick<'a, T: ?Sized>(&mut self, all: &'a [&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// One of them; there must be one.
    pub fn one<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}
