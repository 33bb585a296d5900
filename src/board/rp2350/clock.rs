//! Time: the crystal of 12 MHz drives everything, TIMER0 counts microseconds in 32 bits, so a count
//! wraps after 71 minutes.
//!
//! One alarm ends every wait. It is armed, waited for and disarmed with interrupts masked, so that
//! its interrupt ends the sleep of the processor but never runs a handler.

use super::pac;
use crate::board::Clock;
use crate::board::main_loop::TICK_MICROSECONDS;
use cortex_m::asm;
use cortex_m::peripheral::NVIC;

/// The alarm's interrupt.
pub(super) const ALARM: pac::Interrupt = pac::Interrupt::TIMER0_IRQ_0;
/// The bit of the first alarm in ARMED.
const FIRST: u8 = 1;

/// The crystal.
const CRYSTAL_MHZ: u16 = 12;
/// A millisecond, in units of 256 cycles of the crystal.
const CRYSTAL_START: u16 = 47;
/// 12 MHz * 125 / (5 * 2) = 150 MHz.
const MULTIPLIER: u16 = 125;
const DIVIDERS: (u8, u8) = (5, 2);
/// The frequency of processor, UART and flash.
pub(super) const SYSTEM_HZ: u32 = 150_000_000;
const _: () = assert!(
    CRYSTAL_MHZ as u32 * 1_000_000 * MULTIPLIER as u32 / (DIVIDERS.0 * DIVIDERS.1) as u32
        == SYSTEM_HZ
);

/// Bits of CLK_REF_SELECTED and CLK_SYS_SELECTED.
const REF_FROM_CRYSTAL: u8 = 1 << 2;
const SYS_FROM_REF: u8 = 1 << 0;
const SYS_FROM_PLL: u8 = 1 << 1;

/// Starts the crystal and runs the processor from it.
pub(super) fn start_crystal(xosc: &pac::XOSC, clocks: &pac::CLOCKS) {
    // SAFETY: the delay takes 14 bits.
    xosc.startup().write(|w| unsafe { w.delay().bits(CRYSTAL_START) });
    xosc.ctrl().write(|w| w.freq_range()._1_15mhz().enable().enable());
    while !xosc.status().read().stable().bit() {}
    clocks.clk_ref_ctrl().write(|w| w.src().xosc_clksrc());
    while clocks.clk_ref_selected().read().clk_ref_selected().bits() != REF_FROM_CRYSTAL {}
    // Away from the PLL, which an earlier program may have left running.
    clocks.clk_sys_ctrl().modify(|_, w| w.src().clk_ref());
    while clocks.clk_sys_selected().read().clk_sys_selected().bits() != SYS_FROM_REF {}
}

/// Starts the PLL, which was reset, and runs processor and UART from it.
pub(super) fn start_pll(pll: &pac::PLL_SYS, clocks: &pac::CLOCKS) {
    // SAFETY: the fields take 6 and 12 bits; 1500 MHz is within the oscillator's range.
    pll.cs().modify(|_, w| unsafe { w.refdiv().bits(1) });
    // SAFETY: as above.
    pll.fbdiv_int().write(|w| unsafe { w.fbdiv_int().bits(MULTIPLIER) });
    pll.pwr().modify(|_, w| w.pd().clear_bit().vcopd().clear_bit());
    while !pll.cs().read().lock().bit() {}
    let (first, second) = DIVIDERS;
    // SAFETY: the fields take 1 to 7.
    pll.prim().write(|w| unsafe { w.postdiv1().bits(first).postdiv2().bits(second) });
    pll.pwr().modify(|_, w| w.postdivpd().clear_bit());
    clocks.clk_sys_ctrl().write(|w| w.src().clk_ref().auxsrc().clksrc_pll_sys());
    clocks.clk_sys_ctrl().modify(|_, w| w.src().clksrc_clk_sys_aux());
    while clocks.clk_sys_selected().read().clk_sys_selected().bits() != SYS_FROM_PLL {}
    clocks.clk_peri_ctrl().write(|w| w.auxsrc().clk_sys().enable().set_bit());
}

/// Starts a tick of so many microseconds.
pub(super) fn start_tick(tick: &pac::ticks::TICK, microseconds: u16) {
    // SAFETY: the field, which every tick calls by the name of the first, takes 9 bits.
    tick.cycles().write(|w| unsafe { w.proc0_cycles().bits(CRYSTAL_MHZ * microseconds) });
    tick.ctrl().write(|w| w.enable().set_bit());
}

/// The running timer.
pub struct Timer(pac::TIMER0);

impl Timer {
    pub(super) fn start(ticks: &pac::TICKS, timer: pac::TIMER0) -> Self {
        start_tick(ticks.ticktimer0(), 1);
        timer.inte().write(|w| w.alarm_0().set_bit());
        Self(timer)
    }

    /// Sleeps until the count is `moment`, or until any interrupt. Interrupts are masked: one that
    /// falls between the check of the caller and the sleep still ends it.
    fn wait(&mut self, moment: u32) {
        // SAFETY: any count is an alarm.
        self.0.alarm0().write(|w| unsafe { w.alarm0().bits(moment) });
        // An alarm that is set too late goes off after a whole cycle of the count.
        if !passed(moment) {
            asm::wfi();
        }
        // Disarmed first, or it could go off between the two.
        // SAFETY: written ones disarm.
        self.0.armed().write(|w| unsafe { w.armed().bits(FIRST) });
        self.0.intr().write(|w| w.alarm_0().clear_bit_by_one());
        // The clearing must have reached the timer, or the interrupt would be pending again.
        let _ = self.0.intr().read();
        NVIC::unpend(ALARM);
    }
}

/// Whether a moment is now, or was in the last half cycle of the count.
fn passed(moment: u32) -> bool {
    let ahead = moment.wrapping_sub(now());
    ahead == 0 || ahead > u32::MAX / 2
}

impl Clock for Timer {
    const PER_MICROSECOND: u32 = 1;

    fn now(&mut self) -> u32 {
        now()
    }

    fn sleep(&mut self, mut work: impl FnMut() -> bool) {
        cortex_m::interrupt::free(|_| {
            if !work() {
                self.wait(now().wrapping_add(TICK_MICROSECONDS));
            }
        });
    }

    fn sleep_until(&mut self, moment: u32) {
        loop {
            cortex_m::interrupt::free(|_| self.wait(moment));
            if passed(moment) {
                break;
            }
        }
    }
}

/// The count now, for drivers that must not wait for ever.
pub(super) fn now() -> u32 {
    // SAFETY: reading the count changes nothing.
    unsafe { &*pac::TIMER0::ptr() }.timerawl().read().bits()
}
