//! Arithmetic of doubles on the v1, in place of the compiler's ([`soft_float`]).
//!
//! The compiler calls these functions by their names in Arm's run-time ABI. Its own are weak
//! symbols, so these take their place.

use crate::board::soft_float;

macro_rules! doubles {
    ($($name:ident, $function:ident;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(a: f64, b: f64) -> f64 {
            let words = |x: f64| ((x.to_bits() >> 32) as u32, x.to_bits() as u32);
            f64::from_bits(soft_float::$function(words(a), words(b)))
        }
    )*};
}

doubles! {
    __aeabi_dadd, add;
    __aeabi_dmul, multiply;
    __aeabi_ddiv, divide;
}

/// a minus b.
#[unsafe(no_mangle)]
extern "C" fn __aeabi_dsub(a: f64, b: f64) -> f64 {
    __aeabi_dadd(a, -b)
}
