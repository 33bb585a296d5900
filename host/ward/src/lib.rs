//! The ward's side of a trial: everything between a person or a script and the device's line.
//!
//! ```text
//! screen, page -> worker (orders, news)
//!                    |
//! scripts, demo -> bedside (enrolment, outcomes) -> client (retries) -> link (bytes) -> device
//!                    |
//!                   log (requests and answers)
//! ```
//!
//! | room | what it is |
//! |---|---|
//! | [`line`](mod@line) | the client of the device's line: requests, retries, the custodian's commands, boards to talk to |
//! | [`records`] | files of a trial: log, trial file, register, keys, kit lists, reports |
//! | [`bedside`] | enrolment and outcomes; the screen and the page in the browser |
//! | [`virtual_board`] | the device on this machine: its flash file and its serial line |
//! | [`qualify`] | a device put through its checks, with a page for the trial's file |
//! | [`demo`], [`start`] | a trial that runs by itself, and the program without a subcommand |
//! | [`failure`], [`os`] | errors in words, and the differences between operating systems |

pub mod bedside;
pub mod demo;
pub mod failure;
pub mod line;
pub mod os;
pub mod own_file;
pub mod qualify;
pub mod records;
pub mod start;
pub mod virtual_board;
