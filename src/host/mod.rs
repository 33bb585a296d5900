//! What runs on a laptop: virtual board, terminal, simulator, planner, audit. Needs std.
pub mod terminal;
