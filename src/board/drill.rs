//! Test builds only: repeatable noise instead of the hardware's, and commands that crash the board.

use super::rehearsal::Rehearsal;
use crate::device::health::Entropy;
use core::marker::PhantomData;

/// A noise source that gives the same bytes after every start.
pub struct Rehearsed<B>(Rehearsal, PhantomData<B>);

impl<B> Rehearsed<B> {
    /// Takes the place of a hardware source.
    pub fn replace<E>(_: E) -> Self {
        Self(Rehearsal::START, PhantomData)
    }
}

impl<B> Entropy for Rehearsed<B> {
    fn sample(&mut self) -> Option<u8> {
        Some(self.0.byte())
    }
}

/// Crashes in the way the line asks for.
#[allow(clippy::panic, clippy::empty_loop, reason = "a drill crashes or hangs on purpose")]
pub fn run(line: &[u8]) {
    match line {
        b"DRILL panic" => panic!("a drill"),
        #[cfg(target_os = "none")]
        b"DRILL fault" => cortex_m::asm::udf(),
        b"DRILL hang" => loop {},
        b"DRILL overflow" => overflow(1),
        _ => {}
    }
}

#[allow(unconditional_recursion, reason = "the drill overflows the stack")]
fn overflow(depth: u32) {
    core::hint::black_box([depth; 64]);
    overflow(core::hint::black_box(depth) + 1);
    core::hint::black_box(depth);
}
