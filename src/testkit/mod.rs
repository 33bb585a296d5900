//! What tests need beside the product: models of imperfect hardware, and a custodian; `host` only.

mod custodian;
pub mod strict_flash;

pub use custodian::order;
