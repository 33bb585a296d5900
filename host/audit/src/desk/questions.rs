//! Everything that anybody may ask of a device at any time.
//!
//! [`Desk::probe`] asks it. A new request of the protocol is added to [`Desk::questions`] if it
//! changes nothing; if it does, a method of its own asks it of a copy, and [`Desk::probe`] says
//! when. What is asked:
//! * requests that change nothing, refusals and repeats among them;
//! * all of this of a copy after a restart, of one cause after another;
//! * of a copy: wrong proofs until commands are locked, with the nonces between and after them;
//! * of a copy: a report under the key of another role;
//! * of a copy: as many patients as it takes until the next is refused;
//! * of a copy of a blinded trial: replacements until the reserve is used up;
//! * of a copy: the trial is erased and its plan given again, without a restart and after one.
//!
//! Small trials are asked everything every time. In larger ones the copies take turns, so that each
//! question is asked again and again over the trial.

use super::{Beside, Desk, KEY, Steady, parts};
use equipoise::device::auth::{CustodianKey, Role, WRONG_PROOFS};
use equipoise::device::generator::Seeded;
use equipoise::device::health::Entropy;
use equipoise::plan::DesignName;
use equipoise::terms::Phase;
use equipoise::wire::{Hex, NONCE_BYTES, PROOF_BYTES, Restart};

/// Trials with more patients than this are asked one question of a copy at a time.
const SMALL: u32 = 32;
/// Causes of a restart.
const CAUSES: [Restart; 4] = [Restart::Power, Restart::Reset, Restart::Watchdog, Restart::Fault];
/// Replacements of one patient that are asked for: one more than there may be.
const REPLACEMENTS: u32 = 4;

/// A question that is asked of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aside {
    /// Wrong proofs, until commands are locked.
    Guess,
    /// A report under the key of another role.
    OtherRole,
    /// Patients, until the next one is refused.
    Fill,
    /// Replacements, until the reserve is used up.
    UseReserve,
    /// The trial is erased, and its plan given again.
    BeginAgain,
}

impl Aside {
    const ALL: [Self; 5] =
        [Self::Guess, Self::OtherRole, Self::Fill, Self::UseReserve, Self::BeginAgain];
}

impl<const M: usize, const U: usize> Desk<M, U> {
    /// All replies to requests that anybody may send at any time, with or without a report, of the
    /// device and of copies. Nothing of this changes the trial.
    pub fn probe(&mut self, report: bool) -> String {
        let mut replies = self.probe_line(report);
        for aside in self.asides_due(1, report) {
            let mut copy = self.clone();
            (copy.beside, copy.probes) = (Beside::default(), 0);
            replies += &copy.asked_aside(aside);
            self.beside.add(&copy.beside);
        }
        replies
    }

    /// The replies to a question of a copy.
    fn asked_aside(&mut self, aside: Aside) -> String {
        parts::aside(|| match aside {
            Aside::Guess => self.guess(),
            Aside::OtherRole => self.other_role(),
            Aside::Fill => self.fill(),
            Aside::UseReserve => self.use_reserve(),
            Aside::BeginAgain => self.begin_again(),
        })
    }
}

impl<const M: usize, const U: usize, E: Entropy, G: Seeded> Desk<M, U, E, G> {
    /// As [`Desk::probe`], for devices that cannot be copied but by a restart.
    pub fn probe_line(&mut self, report: bool) -> String {
        self.probes += 1;
        let cause = CAUSES[self.probes as usize % CAUSES.len()];
        let mut copy = self.restarted(cause);
        let mut replies = self.questions(report) + &copy.questions(report);
        self.beside.add(&copy.beside);
        for aside in self.asides_due(3, report) {
            let mut copy = self.restarted(cause);
            replies += &copy.asked_aside(aside);
            self.beside.add(&copy.beside);
        }
        replies
    }

    /// The questions whose turn it is, `later` probes ahead of the count, with or without those for
    /// a report. In a small trial, and once all patients are assigned or the trial is closed, all
    /// of them.
    fn asides_due(&self, later: u32, report: bool) -> Vec<Aside> {
        let trial = self.trial();
        let (plan, assigned) = (trial.plan(), trial.assigned());
        let ends = assigned == plan.patients() || trial.phase() == Phase::Closed;
        let at = self.probes.wrapping_add(later) as usize;
        let due = if plan.patients() <= SMALL || ends {
            &Aside::ALL[..]
        } else if at.is_multiple_of(4) {
            &Aside::ALL[at / 4 % Aside::ALL.len()..][..1]
        } else {
            &[]
        };
        due.iter().copied().filter(|aside| report || *aside != Aside::OtherRole).collect()
    }

    /// A copy after a restart.
    fn restarted(&mut self, cause: Restart) -> Desk<M, U> {
        let flash = self.board.device.flash().flash().clone();
        let secret = self.secret.clone();
        let mut copy = Desk::<M, U>::on(flash, Steady::new(), cause, self.fault, secret);
        copy.hidden = self.hidden;
        copy
    }

    /// All replies while somebody without the key guesses proofs until commands are locked.
    fn guess(&mut self) -> String {
        let mut replies = String::new();
        for _ in 0..=WRONG_PROOFS {
            replies += &self.ask("AUTH");
            replies += &self.ask(&format!("CLOSE proof={}", Hex(&[0; PROOF_BYTES])));
        }
        replies + &self.ask("AUTH") + &self.ask("HELLO") + &self.ask("STATUS")
    }

    /// All replies to a report that is asked for under the key of another role.
    fn other_role(&mut self) -> String {
        let replies = self.order_as(&CustodianKey::new(KEY).role(Role::Presence), "REPORT");
        replies + &self.ask("AUTH") + &self.ask("HELLO")
    }

    /// All replies while patients come until one is refused: all are assigned, or the table of
    /// those who wait is full.
    fn fill(&mut self) -> String {
        let trial = self.trial();
        // A turn of the paper's designs draws noise, which a copy must not.
        let turns = matches!(trial.plan().design(), DesignName::Conse | DesignName::DpConse);
        if trial.phase() == Phase::Closed || turns {
            return String::new();
        }
        let (features, patients) = (u32::from(trial.plan().features()), trial.plan().patients());
        let mut replies = String::new();
        for patient in trial.assigned() + 1..=patients + 1 {
            let reply = self.assign(patient, patient % features);
            replies += &reply;
            if !reply.starts_with("ARM") && !reply.starts_with("KIT") {
                break;
            }
        }
        replies + &self.ask("STATUS") + &self.ask("HELLO")
    }

    /// All replies while patients of a blinded trial are given other kits, the last patient first,
    /// until there are none left for any of them.
    fn use_reserve(&mut self) -> String {
        let plan = *self.trial().plan();
        let mut replies = String::new();
        if !plan.is_blinded() {
            return replies;
        }
        let assigned = self.trial().assigned();
        let first = assigned.saturating_sub(plan.kits() - plan.patients());
        for patient in (first.max(1)..=assigned).rev() {
            for count in 1..=REPLACEMENTS {
                replies += &self.ask(&format!("REPLACE {patient} {count}"));
                self.rest();
            }
        }
        replies + &self.ask("STATUS")
    }

    /// All replies while the custodian erases the trial and gives its plan once more.
    fn begin_again(&mut self) -> String {
        let plan = format!("PLAN {}", self.trial().plan());
        self.learn();
        self.is_erased = true;
        let mut replies = self.order("ERASE");
        for line in ["HELLO", "STATUS", "REPORT"] {
            replies += &self.ask(line);
        }
        replies += &self.order(&plan);
        replies + &self.questions(true)
    }

    /// All replies to requests that change nothing. A custodian's command without a proof guesses
    /// no key, so it is not counted either.
    fn questions(&mut self, report: bool) -> String {
        let Some(trial) = self.board.device.trial() else { return String::new() };
        let (assigned, plan) = (trial.assigned(), *trial.plan());
        let mut replies = self.ask("HELLO") + &self.ask("STATUS");
        if report {
            replies += &self.ask("REPORT");
            replies += &self.order_as(&CustodianKey::new(KEY).role(Role::Report), "REPORT");
        }
        replies += &self.ask(&format!("OUTCOME {assigned} {}", u32::from(plan.scale()) + 1));
        replies += &self.ask(&format!("ASSIGN {assigned} 0 00000000"));
        replies += &self.ask(&format!("ASSIGN {} 255 00000000", assigned + 1));
        if self.hidden != Some(assigned) {
            replies += &self.assign(assigned, 0);
        }
        // In a blinded trial the first would give a kit.
        let replaced = if plan.is_blinded() { 0 } else { 1 };
        replies += &self.ask(&format!("REPLACE {assigned} {replaced}"));
        replies += &self.ask(&format!("REPLACE {} 1", assigned + 1));
        replies += &self.ask(&format!("LOST {}", assigned + 1));
        let key = format!("KEY {}", Hex(&KEY));
        let plan = "PLAN features=1 patients=20 better=high epsilon=1";
        let prove = format!("PROVE {}", Hex(&[0x3c; NONCE_BYTES]));
        for line in ["CLOSE", "ERASE", &key, plan, "NONSENSE", &prove, "AUTH"] {
            replies += &self.ask(line);
        }
        self.rest();
        replies
    }
}
