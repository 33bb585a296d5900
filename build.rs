//! Linker scripts of the firmware: `memory.x` is watched, and logging needs one of its own.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=memory.x");
    let set = |name| std::env::var_os(name).is_some();
    if set("CARGO_FEATURE_DEFMT") && set("CARGO_FEATURE_FIRMWARE") {
        println!("cargo::rustc-link-arg-bin=firmware=-Tdefmt.x");
    }
}
