//! Models of imperfect hardware for tests; `host` only.

pub mod strict_flash;
