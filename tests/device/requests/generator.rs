//! The device's generator: coins and noise have their laws, and neither disturbs the other.

use equipoise::chance::{Chance, Fraction};
use equipoise::device::generator::{Generator, Seeded};
use equipoise::noise::{Laplace, Rate};

fn law() -> Laplace {
    Laplace::new(Rate::new(1, 2).unwrap())
}

const DRAWS: usize = 4000;

#[test]
fn draws_have_their_laws() {
    let (mut generator, law) = (Generator::from_seed([7; 32]), law());
    let heads = (0..DRAWS).filter(|_| generator.coin()).count();
    assert!((1850..2150).contains(&heads), "{heads} heads");
    let quarter = (0..DRAWS).filter(|_| generator.biased_coin(Fraction(1 << 30))).count();
    assert!((880..1120).contains(&quarter), "{quarter} of a coin of 1/4");
    // E|k| = 2 p / (1 - p^2) with p = e^(-1/2).
    let noise: Vec<i64> = (0..DRAWS).map(|_| generator.discrete_laplace(&law)).collect();
    let size = noise.iter().map(|k| k.abs()).sum::<i64>() as f64 / DRAWS as f64;
    assert!((1.75..2.1).contains(&size), "mean size of the noise {size}");
    let sum: i64 = noise.iter().sum();
    assert!(sum.abs() < 700, "sum of the noise {sum}");
    let lengths: Vec<u64> = (0..DRAWS).map(|_| generator.lap_plus(100, &law)).collect();
    let mean = lengths.iter().sum::<u64>() as f64 / DRAWS as f64;
    assert!((95.0..105.0).contains(&mean), "mean length {mean}");
    assert!(lengths.iter().any(|length| *length != lengths[0]));
    let bytes: [u8; 4096] = generator.bytes();
    for bit in 0..8 {
        let ones = bytes.iter().filter(|byte| *byte >> bit & 1 == 1).count();
        assert!((1890..2206).contains(&ones), "bit {bit} is set {ones} times");
    }
}

/// Noise is drawn ahead whenever there is time; the coins of patients do not depend on that.
#[test]
fn noise_does_not_move_coins() {
    let [mut one, mut two] = [Generator::from_seed([9; 32]), Generator::from_seed([9; 32])];
    for draw in 0..500 {
        for _ in 0..draw % 3 {
            two.discrete_laplace(&law());
        }
        assert_eq!(one.coin(), two.coin());
    }
    assert_ne!(Generator::from_seed([8; 32]).bytes::<16>(), Generator::from_seed([9; 32]).bytes());
}
