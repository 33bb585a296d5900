//! The firmware: the superloop.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod on_the_board {
    use embedded_io::Write as _;
    use equipoise::board::{Board, leds};

    #[cortex_m_rt::entry]
    fn main() -> ! {
        let Some(mut board) = Board::take() else { cortex_m::peripheral::SCB::sys_reset() };
        board.leds.picture = leds::HEART;
        loop {
            board.watchdog.feed();
            while let Some(byte) = board.receiver.take() {
                let Ok(()) = board.sender.write_all(&[byte]);
            }
            board.leds.scan();
            board.clock.sleep(|| board.receiver.ready());
        }
    }
}

#[cfg(not(target_os = "none"))]
fn main() {}
