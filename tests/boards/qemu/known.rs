//! A terminal that remembers what it was told, and checks a board against it.

use crate::qemu::bedside::{Bedside, tag};

/// Facts that the terminal knows.
#[derive(Default)]
pub struct Known {
    /// Patients whose arm came, and the last one's.
    pub assigned: u32,
    pub arm: u8,
    /// Patients whose outcome was acknowledged.
    pub resolved: u32,
}

impl Known {
    /// The next request: outcomes follow two patients behind.
    pub fn next(&self) -> String {
        if self.resolved + 2 < self.assigned {
            format!("OUTCOME {} 1", self.resolved + 1)
        } else {
            format!("ASSIGN {} {} {}", self.assigned + 1, self.assigned % 4, tag(self.assigned + 1))
        }
    }

    pub fn heard(&mut self, reply: &str) {
        let words: Vec<&str> = reply.split(' ').collect();
        match words.as_slice() {
            ["ARM", patient, arm] => {
                assert_eq!(patient.parse(), Ok(self.assigned + 1));
                (self.assigned, self.arm) = (self.assigned + 1, arm.parse().unwrap());
            }
            ["OK", patient] => {
                assert_eq!(patient.parse(), Ok(self.resolved + 1));
                self.resolved += 1;
            }
            _ => panic!("{reply}"),
        }
    }

    /// The board must know what the terminal knows, and at most the one request more that got no
    /// reply.
    pub fn check(&self, board: &mut impl Bedside) {
        let (assigned, resolved) = (board.status("assigned"), board.status("resolved"));
        assert!(
            assigned == self.assigned || assigned == self.assigned + 1,
            "{assigned} of {}",
            self.assigned
        );
        assert!(
            resolved == self.resolved || resolved == self.resolved + 1,
            "{resolved} of {}",
            self.resolved
        );
        if assigned == self.assigned && assigned > 0 {
            assert_eq!(
                board.assign(assigned, 0),
                self.arm,
                "the arm of patient {assigned} changed"
            );
        }
    }
}
