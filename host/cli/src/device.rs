//! `equipoise device`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::error::CliError;
use equipoise::journal::{MAX_PAGES, MIN_PAGES};
use equipoise_ward::virtual_board::serve::{Server, serve};
use equipoise_ward::virtual_board::{Flash, PAGES, VirtualBoard};

/// `equipoise device`
#[derive(Debug, clap::Args)]
pub struct DeviceArgs {
    /// The file that holds the flash; made if there is none
    #[arg(long, value_name = "FILE")]
    flash: PathBuf,
    #[command(flatten)]
    line: LineArgs,
    /// Pages of 4 KB, for a new flash file; a plan that needs more is refused
    #[arg(long, value_name = "N", default_value_t = PAGES as u16, value_parser = clap::value_parser!(u16).range(MIN_PAGES as i64..=MAX_PAGES as i64))]
    pages: u16,
}

/// Which line the device has.
#[cfg(unix)]
#[derive(Debug, clap::Args)]
struct LineArgs {
    /// Serial line on a pseudo-terminal (the default); its path is printed
    #[arg(long, group = "line")]
    pty: bool,
    /// Serial line on standard input and output
    #[arg(long, group = "line")]
    stdio: bool,
    /// Serial line on a unix socket
    #[arg(long, value_name = "PATH", group = "line")]
    socket: Option<PathBuf>,
    /// Make a symbolic link to the pseudo-terminal
    #[arg(long, value_name = "PATH", conflicts_with_all = ["stdio", "socket"])]
    link: Option<PathBuf>,
}

#[cfg(unix)]
impl LineArgs {
    fn line(&self) -> equipoise_ward::virtual_board::serve::Line<'_> {
        use equipoise_ward::virtual_board::serve::Line;
        match &self.socket {
            Some(path) => Line::Socket(path),
            None if self.stdio => Line::Standard,
            None => Line::PseudoTerminal { link: self.link.as_deref() },
        }
    }
}

/// Which line the device has.
#[cfg(windows)]
#[derive(Debug, clap::Args)]
struct LineArgs {
    /// Serial line on this TCP port of this machine; 0 takes a free one, which is printed
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    tcp: u16,
}

#[cfg(windows)]
impl LineArgs {
    fn line(&self) -> u16 {
        self.tcp
    }
}

/// Serves until the line ends or the process is told to.
///
/// # Errors
/// The flash file or the line cannot be used.
pub fn device(args: &DeviceArgs) -> Result<(), CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(CliError::no_device)?;
    }
    let flash = Flash::in_file(&args.flash, args.pages.into()).map_err(CliError::no_device)?;
    let server = Server { board: VirtualBoard::new(flash), stop };
    serve(server, args.line.line()).map_err(CliError::no_device)
}
