//! A statistical attack with all features of the kit sequence predicts arms no better than the
//! public share, over a million assignments of adaptive trials; with increasing numbers it does.

use equipoise_audit::kits::{Attack, FEATURES, Numbering, attack};

fn print(attack: &Attack) {
    let Attack { assignments, share, right: [usual, guessed], z, dependence } = attack;
    println!("{assignments} assignments, {:.1} % on one arm", share * 100.0);
    println!("guessed right by the share {usual:.5}, by the attack {guessed:.5}, z = {z:.2}");
    FEATURES.iter().zip(dependence).for_each(|(name, z)| println!("  {name}: {z:.2}"));
}

/// Requirement D22.
#[test]
fn permuted_numbers_tell_nothing() {
    let found = attack(Numbering::Permutation, 200, 5_000, 1);
    print(&found);
    assert!(found.assignments >= 1_000_000 && (0.85..0.97).contains(&found.share));
    assert!(!found.succeeds(), "{found:?}");
    assert!(found.right[1] <= found.right[0] + 0.0005, "{found:?}");
}

#[test]
fn increasing_numbers_give_arms_away() {
    let found = attack(Numbering::Increasing, 20, 5_000, 2);
    print(&found);
    assert!(found.succeeds());
    assert!(found.z > 20.0 && found.right[1] > found.right[0] + 0.02, "{found:?}");
}
