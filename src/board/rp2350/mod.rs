//! The Raspberry Pi Pico 2 (RP2350, two Cortex-M33 of which one runs, 150 MHz).
//!
//! | peripheral | driver |
//! |---|---|
//! | XOSC, PLL_SYS, TICKS, TIMER0 | [`clock`]: the crystal, 1 MHz count, sleep until a moment |
//! | UART0 | [`serial`]: 115200 8N1 on GP0 (TX) and GP1 (RX) |
//! | TRNG | [`entropy`]: hardware noise, with the chip's own tests on |
//! | QMI | [`flash`]: the region `JOURNAL` of the memory layout, on the QSPI flash |
//! | WATCHDOG | [`watchdog`], and resets by software |
//! | SIO | [`pins`]: the LED on GP25 |
//! | POWMAN, faults | [`faults`]: panic, hard fault, stray interrupt; reset reasons |
//!
//! # Everything runs from RAM
//! Start-up copies code and constants to RAM (`pico2.x`), and [`take`] the vector table. The flash
//! chip cannot be read while it writes or erases, so code in flash would stop the processor, or
//! crash it. And code in flash runs through a cache, so that what was computed before a reply would
//! shift the moment of its first byte by microseconds.
#![allow(unsafe_code, reason = "registers and interrupts; each block gives its own reason")]

pub mod clock;
pub mod entropy;
pub mod faults;
pub mod flash;
pub mod pins;
pub mod serial;
pub mod watchdog;

use super::display::Lamp;
use super::flash::Flash;
use super::memory::TrialMemory;
use super::serial::{Receiver, Sender};
use super::{Board, Peripherals};
use core::cell::UnsafeCell;
use rp235x_pac as pac;

/// Most features of a plan.
pub const FEATURES: usize = 64;
/// Most patients who wait for their outcome. More would need more pages: an `ERASE` erases each,
/// and the flash may take 0.4 seconds for one.
pub const WAITING: usize = 1024;

/// The Pico 2.
pub struct Pico2;

impl Board for Pico2 {
    type Clock = clock::Timer;
    type Sender = Sender<pac::UART0>;
    type Receiver = Receiver;
    type Entropy = entropy::HardwareRng;
    type Flash = Flash<flash::Chip>;
    type Screen = Lamp<pins::Pin>;
    type Watchdog = watchdog::Dog;
    const ERASE_MICROSECONDS: u32 = flash::ERASE_MICROSECONDS;
    const WORD_MICROSECONDS: u32 = flash::WORD_MICROSECONDS;
}

/// Block that the chip's boot program looks for in the first 4 KB of flash: an image for its Arm
/// cores in the secure state, which starts with its vector table.
#[unsafe(link_section = ".start_block")]
#[used]
static IMAGE: [u32; 5] = [
    0xFFFF_DED3, // A block begins.
    0x1021_0142, // An image: executable, secure, Arm, RP2350.
    0x0000_01FF, // The last item; one word of items precedes it.
    0x0000_0000, // No other block.
    0xAB12_3579, // The block ends.
];

// Start-up calls this before it has copied the code to RAM: it stays in flash.
core::arch::global_asm!(
    ".section .Reset, \"ax\"",
    ".global __pre_init",
    ".type __pre_init, %function",
    ".thumb_func",
    "__pre_init:",
    "bx lr",
);

/// Sets up the board; `None` if that was already done.
#[must_use]
pub fn take() -> Option<Peripherals<Pico2, FEATURES, WAITING>> {
    let chip = pac::Peripherals::take()?;
    move_vectors();
    clock::start_crystal(&chip.XOSC, &chip.CLOCKS);
    reset(&chip.RESETS);
    clock::start_pll(&chip.PLL_SYS, &chip.CLOCKS);
    let clock = clock::Timer::start(&chip.TICKS, chip.TIMER0);
    let restart = faults::reasons(&chip.WATCHDOG, &chip.POWMAN).cause();
    let watchdog = watchdog::Dog::start(&chip.TICKS, &chip.PSM, chip.WATCHDOG);
    pins::connect(&chip.IO_BANK0, &chip.PADS_BANK0);
    let (sender, receiver) = serial::open(chip.UART0)?;
    // The main loop wakes by these, and nothing else interrupts it.
    // SAFETY: no critical section is open, so unmasking breaks none.
    unsafe {
        cortex_m::peripheral::NVIC::unmask(clock::ALARM);
        cortex_m::peripheral::NVIC::unmask(pac::Interrupt::UART0_IRQ);
    }
    Some(Peripherals {
        clock,
        sender,
        receiver,
        entropy: entropy::HardwareRng::start(chip.TRNG),
        flash: Flash(flash::Chip::new(chip.QMI)),
        screen: Lamp::new(pins::Pin::led()),
        watchdog,
        // SAFETY: once only, because `pac::Peripherals::take` gives its value once.
        state: unsafe { STATE.take() },
        restart,
        image: flash::image_hash(),
    })
}

static STATE: TrialMemory<FEATURES, WAITING> = TrialMemory::blank();

/// Words of the vector table: the stack, 15 exceptions and the chip's interrupts.
const VECTORS: usize = 16 + 52;

/// The vector table in RAM, aligned to the next power of two above its size.
#[repr(align(512))]
struct Vectors(UnsafeCell<[u32; VECTORS]>);

// SAFETY: written once, by `take`, before any interrupt is unmasked.
unsafe impl Sync for Vectors {}

static IN_RAM: Vectors = Vectors(UnsafeCell::new([0; VECTORS]));

fn move_vectors() {
    unsafe extern "C" {
        #[link_name = "__vector_table"]
        static IN_FLASH: [u32; VECTORS];
    }
    // SAFETY: the linker placed a table of this size there, and nobody uses the copy yet.
    unsafe { *IN_RAM.0.get() = IN_FLASH };
    // SAFETY: the copy is complete, aligned and never changes again.
    unsafe { (*cortex_m::peripheral::SCB::PTR).vtor.write(IN_RAM.0.get() as u32) };
}

/// Takes the blocks that are used through a reset, whatever an earlier program left in them.
fn reset(resets: &pac::RESETS) {
    resets.reset().modify(|_, w| {
        w.pll_sys().set_bit().timer0().set_bit().uart0().set_bit().trng().set_bit();
        w.io_bank0().set_bit().pads_bank0().set_bit()
    });
    resets.reset().modify(|_, w| {
        w.pll_sys().clear_bit().timer0().clear_bit().uart0().clear_bit().trng().clear_bit();
        w.io_bank0().clear_bit().pads_bank0().clear_bit()
    });
    loop {
        let done = resets.reset_done().read();
        let timing = done.pll_sys().bit() && done.timer0().bit();
        let pins = done.io_bank0().bit() && done.pads_bank0().bit();
        if timing && pins && done.uart0().bit() && done.trng().bit() {
            break;
        }
    }
}
