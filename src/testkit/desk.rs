//! A desk for tests: a device with room for 4 features and 8 waiting patients on the strict flash,
//! the custodian's key, and a terminal's way to talk to it.
use std::boxed::Box;
use std::cell::RefCell;
use std::rc::Rc;
use std::string::{String, ToString as _};
use std::vec::Vec;

use crate::device::auth::CustodianKey;
use crate::device::generator::{Generator, Seeded};
use crate::device::health::{Entropy, Repeatable};
use crate::device::{Device, DeviceState};
use crate::journal::JournalFlash;
use crate::testkit::strict_flash::StrictFlash;
use crate::wire::{Hex, Reply, Request, RequestName, TrialId, Verb, Word, checksum, unhex};
use embedded_storage::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};

pub const PAGE: usize = 1024;
pub const PAGES: usize = 16;
pub const KEY: [u8; 32] = [0x5A; 32];
pub const PLAN: &str = "PLAN features=3 patients=20 better=high epsilon=1 results=open";

/// A flash that outlives the device's power.
#[derive(Clone)]
pub struct Flash<const P: usize = PAGE>(pub Rc<RefCell<StrictFlash<P>>>);

impl Default for Flash {
    fn default() -> Self {
        Self::new()
    }
}

impl Flash {
    pub fn new() -> Self {
        Self::of(PAGES)
    }
}

impl<const P: usize> Flash<P> {
    pub fn of(pages: usize) -> Self {
        Self(Rc::new(RefCell::new(StrictFlash::new(pages, 0xFF))))
    }
}

impl<const P: usize> ErrorType for Flash<P> {
    type Error = <StrictFlash<P> as ErrorType>::Error;
}

impl<const P: usize> ReadNorFlash for Flash<P> {
    const READ_SIZE: usize = StrictFlash::<P>::READ_SIZE;
    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.0.borrow_mut().read(offset, bytes)
    }
    fn capacity(&self) -> usize {
        self.0.borrow().capacity()
    }
}

impl<const P: usize> NorFlash for Flash<P> {
    const WRITE_SIZE: usize = StrictFlash::<P>::WRITE_SIZE;
    const ERASE_SIZE: usize = StrictFlash::<P>::ERASE_SIZE;
    fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        self.0.borrow_mut().erase(from, to)
    }
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        self.0.borrow_mut().write(offset, bytes)
    }
}

impl<const P: usize> MultiwriteNorFlash for Flash<P> {}

impl<const P: usize> JournalFlash for Flash<P> {}

/// A device with room for `M` features and `U` waiting patients, on pages of `P` bytes.
pub struct Desk<
    E = Repeatable,
    G = Generator,
    const M: usize = 4,
    const U: usize = 8,
    const P: usize = PAGE,
> {
    pub device: Device<Box<DeviceState<M, U>>, Flash<P>, E, G>,
    pub flash: Flash<P>,
}

impl Desk {
    /// A blank device.
    pub fn blank(seed: u64) -> Self {
        Self::on(Flash::new(), Repeatable::new(seed))
    }

    /// A device with a key and a running trial.
    pub fn running(seed: u64, plan: &str) -> Self {
        let mut desk = Self::blank(seed);
        desk.provision(plan);
        desk
    }

    /// Power comes back after a cut.
    pub fn power_up(self, seed: u64) -> Self {
        self.flash.0.borrow_mut().power_up();
        Self::on(self.flash, Repeatable::new(seed))
    }
}

impl<E: Entropy, G: Seeded, const M: usize, const U: usize, const P: usize> Desk<E, G, M, U, P> {
    pub fn on(flash: Flash<P>, entropy: E) -> Self {
        let device =
            Device::with_generator(Box::new(DeviceState::BLANK), flash.clone(), entropy, None);
        Self { device, flash }
    }

    pub fn provision(&mut self, plan: &str) {
        assert_eq!(self.ask(&Request::Key(KEY).to_string()), "OK");
        let planned = self.order(plan);
        assert!(planned.starts_with("OK trial="), "{planned}");
    }

    /// The bytes sent in answer to a line as it is.
    pub fn send(&mut self, line: &[u8]) -> Vec<u8> {
        let mut sent = Vec::new();
        self.device.handle_line(line, &mut |_, reply| sent.extend_from_slice(reply));
        sent
    }

    /// All reply lines to a line as it is, without their checksums, which must be right. A refusal
    /// must name the request; its `re=` is left out.
    pub fn ask_plain(&mut self, line: &str) -> String {
        let name = Request::parse(line.as_bytes())
            .map_or(RequestName { verb: Verb::Plan, patient: None }, |request| request.name());
        let told = self.ask_exactly(line);
        let lines = told.lines().map(|told| {
            let line_told = sealed(told);
            let Ok(Reply::Refused(refusal, re)) = Reply::parse(line_told.as_bytes()) else {
                return told.to_string();
            };
            let line_alone = [Word::Checksum, Word::Length, Word::Syntax].contains(&refusal.word());
            assert_eq!(re, (!line_alone).then_some(name), "{line}: {told}");
            told.replacen(&format!(" re={name}"), "", 1)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// All reply lines to a line as it is, without their checksums, which must be right.
    pub fn ask_exactly(&mut self, line: &str) -> String {
        let sent = String::from_utf8(self.send(line.as_bytes())).unwrap();
        assert!(sent.ends_with('\n'));
        let lines = sent.lines().map(|line| {
            assert!(Reply::parse(line.as_bytes()).is_ok(), "{line}");
            line.split('*').next().unwrap()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The same with a checksum added.
    pub fn ask(&mut self, line: &str) -> String {
        self.ask_plain(&sealed(line))
    }

    /// Every line gets its answer.
    pub fn dialogue(&mut self, lines: &[(&str, &str)]) {
        for (line, answer) in lines {
            assert_eq!(self.ask(line), *answer, "{line}");
        }
    }

    pub fn challenge(&mut self) -> [u8; 16] {
        let nonce = self.ask("AUTH");
        unhex(nonce.strip_prefix("NONCE ").unwrap().as_bytes()).unwrap()
    }

    /// The id of the trial on the device; zeros on a blank one.
    pub fn trial(&mut self) -> TrialId {
        match Reply::parse(self.send(sealed("HELLO").as_bytes()).trim_ascii_end()).unwrap() {
            Reply::Hello(hello) => hello.trial.map_or(TrialId::NONE, |name| name.id),
            other => panic!("{other:?}"),
        }
    }

    /// A custodian command with its proof, for the device as it is; the next request must be this
    /// one.
    pub fn proved(&mut self, line: &str) -> String {
        let (trial, nonce) = (self.trial(), self.challenge());
        format!(
            "{line} proof={}",
            Hex(&CustodianKey::new(KEY).proof(&nonce, trial, line.as_bytes()))
        )
    }

    /// Sends a custodian command with its proof.
    pub fn order(&mut self, line: &str) -> String {
        let line = self.proved(line);
        self.ask(&line)
    }

    /// Does what the main loop does while the line is idle. A look that is due waits for the next
    /// line, and nothing touches flash.
    pub fn run_until_idle(&mut self) {
        let work = |device: &mut Device<_, _, _, _>| device.draw_ahead() || device.prepare_kits();
        assert!((0..MOST_STEPS).any(|_| !work(&mut self.device)), "a device that is never idle");
    }

    /// Assigns a patient with the tag made of its number.
    pub fn assign(&mut self, patient: u32, feature: u32) -> String {
        self.ask(&format!("ASSIGN {patient} {feature} {patient:08x}"))
    }
}

/// Steps after which a device has nothing left to do.
const MOST_STEPS: u32 = 10_000;

pub fn sealed(line: &str) -> String {
    format!("{line}*{:04X}", checksum(line.as_bytes()))
}
