//! Random numbers that are equal to OpenTofu's, so that made-up strings are equal, too. The numbers are those of Go's
//! `math/rand`, with a seed from the name of the resource type.
//!
//! The generator is additive: each number is the sum, modulo 2^64, of the numbers 607 and 273 steps before it (D.
//! Knuth, The Art of Computer Programming, 3.2.2; Mitchell and Moore). Its first 607 numbers combine the numbers of a
//! congruential generator with 607 fixed numbers. The fixed numbers are those of the additive generator with the seed 1
//! after 7.8 * 10^12 steps. This module computes the fixed numbers once. A step is linear, so many steps are a power of
//! a polynomial.

use std::sync::LazyLock;

/// The lag of the first summand.
const LONG: usize = 607;
/// The lag of the second summand.
const SHORT: usize = 273;
/// The number of steps after which the additive generator with the seed 1 produces the fixed numbers.
const STEPS: u64 = 7_800_000_000_000;
/// The modulus of the congruential generator.
const MODULUS: u64 = (1 << 31) - 1;
/// The factor of the congruential generator.
const FACTOR: u64 = 48_271;
/// The number of values of the congruential generator that are skipped at the start.
const PASSED_OVER: usize = 20;
/// Replaces the seed 0, because that seed would give only zeros.
const FOR_ZERO: u64 = 89_482_311;

/// A ring with the last 607 numbers, stored in descending order of their steps.
type Numbers = [u64; LONG];

/// The position in the ring of the first number that is drawn.
const FIRST_PLACE: usize = LONG - SHORT - 1;

/// A ring of numbers from the congruential generator. Each number of the ring combines three numbers of the generator,
/// two of them shifted by `shifts`.
fn beginning(seed: u64, shifts: [u32; 2]) -> Numbers {
    let mut last = seed;
    let mut next = || {
        last = last * FACTOR % MODULUS;
        last
    };
    for _ in 0..PASSED_OVER {
        next();
    }
    std::array::from_fn(|_| (next() << shifts[0]) ^ (next() << shifts[1]) ^ next())
}

/// The product of two polynomials, reduced with `x^607 = x^334 + 1`.
fn product(one: &Numbers, other: &Numbers) -> Numbers {
    let mut long = [0_u64; 2 * LONG - 1];
    for (at, factor) in one.iter().enumerate().filter(|(_, factor)| **factor != 0) {
        for (sum, part) in long[at..].iter_mut().zip(other) {
            *sum = sum.wrapping_add(factor.wrapping_mul(*part));
        }
    }
    for high in (LONG..long.len()).rev() {
        let part = long[high];
        for low in [high - LONG, high - SHORT] {
            long[low] = long[low].wrapping_add(part);
        }
    }
    std::array::from_fn(|at| long[at])
}

/// The fixed numbers, in the order of the ring.
static FIXED: LazyLock<Box<Numbers>> = LazyLock::new(|| {
    let placed = beginning(1, [20, 10]);
    let place = |step: usize| (FIRST_PLACE + 2 * LONG - step % LONG) % LONG;
    // In the order of their steps: the 607 numbers of the ring, and the 607 numbers that the next steps add.
    let mut numbers: Vec<u64> = (0..LONG).map(|step| placed[place(step)]).collect();
    for at in LONG..2 * LONG {
        numbers.push(numbers[at - LONG].wrapping_add(numbers[at - SHORT]));
    }
    let mut power: Numbers = [0; LONG];
    power[0] = 1;
    let mut step: Numbers = [0; LONG];
    step[1] = 1;
    for bit in (0..u64::BITS - STEPS.leading_zeros()).rev() {
        power = product(&power, &power);
        if STEPS >> bit & 1 == 1 {
            power = product(&step, &power);
        }
    }
    let mut fixed = Box::new([0; LONG]);
    let behind = usize::try_from(STEPS % LONG as u64).unwrap_or_default();
    for from in 0..LONG {
        let parts = power.iter().zip(&numbers[from..]);
        let number = parts.fold(0_u64, |sum, (factor, number)| sum.wrapping_add(factor.wrapping_mul(*number)));
        fixed[place(behind + from)] = number;
    }
    fixed
});

/// A generator of random numbers.
pub struct NumberGenerator {
    numbers: Box<Numbers>,
    place: usize,
}

impl NumberGenerator {
    /// A generator with this seed.
    pub fn new(seed: u32) -> NumberGenerator {
        let seed = match u64::from(seed) % MODULUS {
            0 => FOR_ZERO,
            seed => seed,
        };
        let own = beginning(seed, [40, 20]);
        let numbers = Box::new(std::array::from_fn(|at| own[at] ^ FIXED[at]));
        NumberGenerator { numbers, place: FIRST_PLACE }
    }

    /// A generator whose seed is the 32-bit FNV-1 hash of a text.
    pub fn of(text: &str) -> NumberGenerator {
        let hash = |hash: u32, byte| hash.wrapping_mul(0x0100_0193) ^ u32::from(byte);
        NumberGenerator::new(text.bytes().fold(0x811c_9dc5, hash))
    }

    fn next(&mut self) -> u64 {
        let sum = self.numbers[self.place].wrapping_add(self.numbers[(self.place + SHORT) % LONG]);
        self.numbers[self.place] = sum;
        self.place = self.place.checked_sub(1).unwrap_or(LONG - 1);
        sum
    }

    /// A number below `end`, uniformly distributed.
    pub fn below(&mut self, end: u32) -> u32 {
        const LARGEST: u32 = i32::MAX as u32;
        let end = end.clamp(1, LARGEST);
        // A number has 31 bits. Numbers that would bias the result are skipped.
        let most = LARGEST - (LARGEST % end + 1) % end;
        loop {
            let drawn = u32::try_from(self.next() >> 32 & u64::from(LARGEST)).unwrap_or_default();
            if drawn <= most {
                return drawn % end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values were recorded from OpenTofu 1.12.6 for resources of these types.
    #[test]
    fn random_numbers_are_those_of_go() {
        assert_eq!(FIXED[0], 14_264_951_931_575_795_690);
        assert_eq!(FIXED[LONG - 1], 4_152_330_101_494_654_406);
        let mut drawing = NumberGenerator::of("lab_thing");
        let first: Vec<u32> = (0..4).map(|_| drawing.below(12)).collect();
        let mut again = NumberGenerator::of("lab_thing");
        assert_eq!(first, (0..4).map(|_| again.below(12)).collect::<Vec<_>>());
        assert!((0..1_000).all(|_| drawing.below(62) < 62));
    }
}
