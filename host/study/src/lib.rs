//! Tools for statisticians, on the designs that the device ships: simulator, scenarios, planner,
//! boundaries, pooling, charts and the dossier.
//!
//! | module | what it is |
//! |---|---|
//! | [`simulate`], [`scenarios`], [`normality`], [`pareto`] | trials in great numbers, and tables of their figures |
//! | [`planner`], [`dossier`] | sample sizes, and the document that a protocol cites |
//! | [`boundaries`], [`pool`], [`ratios`] | interim boundaries, reports of several sites together, risk and odds ratios |
//! | [`chart`], [`output`], [`normal`], [`sample`], [`noise_law`] | pictures, files, the normal law, draws of the samplers, noisy numbers against true ones |

pub mod boundaries;
pub mod chart;
pub mod dossier;
pub mod noise_law;
pub mod normal;
pub mod normality;
pub mod output;
pub mod pareto;
pub mod planner;
pub mod pool;
pub mod ratios;
pub mod sample;
pub mod scenarios;
pub mod simulate;
