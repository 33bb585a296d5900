//! Linker scripts of the firmware: the memory layout of the chosen board, which `memory.x`
//! includes, and the one that logging needs.

use std::path::Path;
use std::{env, fs};

/// Boards by the feature that chooses them, and their layouts.
const LAYOUTS: [(&str, &str); 3] = [
    ("CARGO_FEATURE_MICROBIT_V1", "src/board/nrf/v1.x"),
    ("CARGO_FEATURE_MICROBIT_V2", "src/board/nrf/v2.x"),
    ("CARGO_FEATURE_PICO2", "src/board/rp2350/pico2.x"),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=memory.x");
    let set = |name: &str| env::var_os(name).is_some();
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    for (_, layout) in LAYOUTS.iter().filter(|(feature, _)| set(feature)) {
        println!("cargo::rerun-if-changed={layout}");
        let copied = Path::new(&out).join("layout.x");
        fs::copy(layout, copied).unwrap_or_else(|error| panic!("{layout}: {error}"));
        println!("cargo::rustc-link-search={}", out.display());
    }
    if set("CARGO_FEATURE_DEFMT") && set("CARGO_FEATURE_FIRMWARE") {
        println!("cargo::rustc-link-arg-bin=firmware=-Tdefmt.x");
    }
}
