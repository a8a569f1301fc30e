//! Implements the key stream of `ChaCha8` (Bernstein, "`ChaCha`, a variant of Salsa20", 2008). The crate `chacha20`
//! would add three other dependencies.

const DOUBLE_ROUNDS: usize = 4;

/// The constants of the definition: the ASCII string "expand 32-byte k".
const CONSTANTS: Row = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

type Row = [u32; 4];

#[derive(Clone, Debug)]
pub(super) struct ChaCha8 {
    key: [Row; 2],
    blocks: u64,
    numbers: [u64; 8],
    used: usize,
}

impl ChaCha8 {
    pub(super) fn new([a, b, c, d]: [u64; 4]) -> ChaCha8 {
        ChaCha8 { key: [row(a, b), row(c, d)], blocks: 0, numbers: [0; 8], used: 8 }
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        if self.used == self.numbers.len() {
            self.compute();
        }
        let number = self.numbers[self.used];
        self.used += 1;
        number
    }

    fn compute(&mut self) {
        let start = [CONSTANTS, self.key[0], self.key[1], row(self.blocks, 0)];
        let mut state = start;
        for _ in 0..DOUBLE_ROUNDS {
            let [a, b, c, d] = round(state);
            let [a, b, c, d] = round([a, turned(b, 1), turned(c, 2), turned(d, 3)]);
            state = [a, turned(b, 3), turned(c, 2), turned(d, 1)];
        }
        let words: [Row; 4] = std::array::from_fn(|at| add(state[at], start[at]));
        let word = |at: usize| u64::from(words[at / 4][at % 4]);
        self.numbers = std::array::from_fn(|at| word(2 * at) | word(2 * at + 1) << 32);
        self.blocks += 1;
        self.used = 0;
    }
}

#[expect(clippy::cast_possible_truncation, reason = "takes half of a word")]
fn row(a: u64, b: u64) -> Row {
    [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32]
}

#[inline]
fn round([mut a, mut b, mut c, mut d]: [Row; 4]) -> [Row; 4] {
    a = add(a, b);
    d = mix(d, a, 16);
    c = add(c, d);
    b = mix(b, c, 12);
    a = add(a, b);
    d = mix(d, a, 8);
    c = add(c, d);
    b = mix(b, c, 7);
    [a, b, c, d]
}

#[inline]
fn add(a: Row, b: Row) -> Row {
    std::array::from_fn(|at| a[at].wrapping_add(b[at]))
}

#[inline]
fn mix(a: Row, b: Row, bits: u32) -> Row {
    std::array::from_fn(|at| (a[at] ^ b[at]).rotate_left(bits))
}

#[inline]
fn turned(row: Row, by: usize) -> Row {
    std::array::from_fn(|at| row[(at + by) % 4])
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use proptest::prelude::*;
    use rand::{Rng, SeedableRng};

    /// The all-zero key and the first eight bytes of its key stream are from "Test Vectors for the Stream Cipher
    /// `ChaCha`", an internet draft by Strombergson, 2013.
    #[test]
    fn the_stream_is_the_published_one() {
        assert_eq!(
            ChaCha8::new([0; 4]).next(),
            u64::from_le_bytes(*b"\x3e\x00\xef\x2f\x89\x5f\x40\xd6")
        );
    }

    proptest! {
        #[test]
        fn the_stream_is_that_of_another_implementation(key: [u64; 4]) {
            let bytes: Vec<u8> = key.iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut other = ChaCha8Rng::from_seed(bytes.try_into().unwrap());
            let mut stream = ChaCha8::new(key);
            for _ in 0..200 {
                prop_assert_eq!(stream.next(), other.next_u64());
            }
        }
    }
}
