//! Tests of the privacy audit: the claims hold, and broken devices are found out.

mod kit_attack;
mod privacy;
