//! How many patients may wait on a board, and how many would.

use std::fmt;

/// A board that a trial may run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardName {
    /// The micro:bit v1.
    V1,
    /// The Raspberry Pi Pico 2.
    Pico2,
    /// The micro:bit v2.
    V2,
}

impl BoardName {
    /// All, the smaller first.
    pub const ALL: [Self; 3] = [Self::V1, Self::Pico2, Self::V2];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::Pico2 => "pico2",
            Self::V2 => "v2",
        }
    }

    /// Patients who may wait for their outcome at a time: `WAITING` in `src/board`.
    #[must_use]
    pub const fn room(self) -> u32 {
        match self {
            Self::V1 => 256,
            Self::Pico2 => 1024,
            Self::V2 => 4096,
        }
    }

    /// Why a trial in which `waiting` patients wait at a time cannot run here, if it cannot.
    #[must_use]
    pub fn refusal(self, waiting: u32) -> Option<String> {
        if waiting <= self.room() {
            return None;
        }
        let other = Self::ALL.into_iter().find(|board| board.room() >= waiting);
        let way_out = other.map_or_else(
            || "no board has: a shorter follow-up, or several devices".to_owned(),
            |board| format!("the {board} has {}: --board {}", board.room(), board.name()),
        );
        Some(format!(
            "{waiting} patients wait for their outcome at a time, and the {self} has room for {}: \
             it would refuse to enrol; {way_out}",
            self.room()
        ))
    }
}

impl fmt::Display for BoardName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1 => "micro:bit v1",
            Self::Pico2 => "Pico 2",
            Self::V2 => "micro:bit v2",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The firmware's own constants; they are compiled for the boards only.
    #[test]
    fn rooms_are_those_of_the_firmware() {
        for (board, source) in [
            (BoardName::V1, include_str!("../../../../src/board/nrf/v1.rs")),
            (BoardName::Pico2, include_str!("../../../../src/board/rp2350/mod.rs")),
            (BoardName::V2, include_str!("../../../../src/board/nrf/v2.rs")),
        ] {
            let room = format!("pub const WAITING: usize = {};", board.room());
            assert!(source.contains(&room), "{board}: {room}");
        }
    }

    #[test]
    fn a_full_board_is_refused_with_a_way_out() {
        assert_eq!(BoardName::V1.refusal(256), None);
        assert!(BoardName::V1.refusal(257).is_some_and(|why| why.contains("--board pico2")));
        assert!(BoardName::V1.refusal(1025).is_some_and(|why| why.contains("--board v2")));
        assert!(BoardName::V2.refusal(5000).is_some_and(|why| why.contains("several devices")));
    }
}
