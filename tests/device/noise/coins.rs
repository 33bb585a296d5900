//! Coins, seeds, and what a sampler prints.

use super::*;

#[test]
fn sixty_four_coins_are_the_bits_of_one_word() {
    let mut chance = DeviceSampler::from_seed([3; 32]);
    let mut words = chacha20::ChaCha20Rng::from_seed([3; 32]);
    for _ in 0..10 {
        let word = words.next_u64();
        assert!((0..64).all(|i| chance.coin() == (word >> i & 1 == 1)));
    }
}

/// Coins are fair and independent of their neighbours. Requirement S4.
#[test]
fn coins_are_fair_and_independent() {
    let mut chance = DeviceSampler::seed_from_u64(4);
    let mut seen = [0u32; 8];
    let mut pattern = 0;
    for _ in 0..MILLION {
        pattern = pattern << 1 & 7 | usize::from(chance.coin());
        seen[pattern] += 1;
    }
    // Overlapping patterns: a count has variance below 1.5 n/8; five standard deviations.
    assert!(seen.iter().all(|&count| (f64::from(count) - 125_000.0).abs() < 2200.0), "{seen:?}");
}

/// A generator that gives one word for ever.
struct Always(u32);

impl TryRng for Always {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0)
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.into())
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill(0);
        Ok(())
    }
}

/// A biased coin is one word compared with the fraction. Requirement S4.
#[test]
fn biased_coin_compares_one_word() {
    for p in [0, 1, 12_345, 1 << 31, 3_000_000_000, u32::MAX] {
        assert!(!Sampler::new(Always(p)).biased_coin(Fraction(p)));
        assert!(p == 0 || Sampler::new(Always(p - 1)).biased_coin(Fraction(p)));
        let mut chance = Sampler::<Xoshiro256PlusPlus>::seed_from_u64(5);
        let mut words = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut heads = 0u32;
        for _ in 0..100_000 {
            let coin = chance.biased_coin(Fraction(p));
            assert_eq!(coin, words.next_u32() < p);
            heads += u32::from(coin);
        }
        let expected = 1e5 * f64::from(p) / 2f64.powi(32);
        assert!((f64::from(heads) - expected).abs() < 5.0 * expected.sqrt() + 1.0, "{p}: {heads}");
    }
}

/// A seed gives the same answers on every machine and in every version.
#[test]
fn seed_gives_the_same_answers_everywhere() {
    let mut chance = DeviceSampler::from_seed([42; 32]);
    let law = |den| Laplace::new(Rate::new(1, den).unwrap());
    let (narrow, middle, wide) = (law(2), law(40), law(131_070_000));
    let draws: Vec<i64> = (0..4)
        .flat_map(|_| {
            let coin = i64::from(chance.coin()) + 2 * i64::from(chance.biased_coin(Fraction::HALF));
            let [a, b, c] = [&narrow, &middle, &wide].map(|law| chance.discrete_laplace(law));
            [coin, a, b, c, chance.lap_plus(3, &middle) as i64]
        })
        .collect();
    let expected = [
        0, -4, -33, 318262971, 46, 2, -2, -11, -81580827, 1, 0, -2, -88, 30598670, 9, 3, -1, 19,
        1385913, 61,
    ];
    assert_eq!(draws, expected);
}

#[test]
fn a_sampler_does_not_print_its_state() {
    assert_eq!(format!("{:?}", DeviceSampler::from_seed([42; 32])), "Sampler { .. }");
}
