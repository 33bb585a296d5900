//! One build of the firmware: for which board, in which profile, and what came out.

use crate::elf::Elf;
use crate::tools::{self, Compiler, target_directory};
use crate::{fpu, image, run, say};
use std::path::PathBuf;
use std::{fmt, fs};

/// Head of the table [`Build::sizes`] gives rows for.
pub const SIZES_HEAD: &str = "\
| board | image | limit | code and constants | initialised data | static RAM | stack reserved | RAM | limit |
|---|---|---|---|---|---|---|---|---|
";

/// The boards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardName {
    /// nRF51822, Cortex-M0.
    V1,
    /// nRF52833, Cortex-M4F.
    V2,
    /// Raspberry Pi Pico 2: RP2350, Cortex-M33.
    Pico2,
}

impl BoardName {
    pub const ALL: [Self; 3] = [Self::V1, Self::V2, Self::Pico2];
    /// The names of all boards, for options and messages.
    pub const NAMES: &str = "v1, v2, pico2";

    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "v1" => Ok(Self::V1),
            "v2" => Ok(Self::V2),
            "pico2" => Ok(Self::Pico2),
            _ => Err(format!("there is no board `{name}`; allowed: {}", Self::NAMES)),
        }
    }

    /// The feature with which the device is built for it.
    pub const fn feature(self) -> &'static str {
        match self {
            Self::V1 => "microbit-v1",
            Self::V2 => "microbit-v2",
            Self::Pico2 => "pico2",
        }
    }

    pub const fn target(self) -> &'static str {
        match self {
            Self::V1 => "thumbv6m-none-eabi",
            Self::V2 => "thumbv7em-none-eabihf",
            Self::Pico2 => "thumbv8m.main-none-eabihf",
        }
    }

    /// Largest image, and RAM of the chip. The board's layout (`memory.x`) holds the linker to them
    /// too.
    const fn limits(self) -> (u32, u32) {
        match self {
            Self::V1 => (128 * 1024, 16 * 1024),
            Self::V2 => (256 * 1024, 128 * 1024),
            Self::Pico2 => (256 * 1024, 520 * 1024),
        }
    }

    /// The arguments that select this board's firmware.
    pub fn firmware(self, profile: Profile) -> Vec<String> {
        let binary = ["--bin", "firmware"].map(str::to_owned);
        self.library(profile).into_iter().chain(binary).collect()
    }

    /// The arguments that select the library that the firmware is made of.
    pub fn library(self, profile: Profile) -> Vec<String> {
        let features = format!("{}{}", self.feature(), profile.features());
        let words =
            ["--package", "equipoise", "--profile", profile.name(), "--features", &features];
        words.map(str::to_owned).to_vec()
    }

    /// The chip, as probe-rs calls it.
    pub const fn chip(self) -> &'static str {
        match self {
            Self::V1 => "nRF51822_xxAA",
            Self::V2 => "nRF52833_xxAA",
            Self::Pico2 => "RP235x",
        }
    }

    /// Address and value of the word that closes the debug port: UICR.RBPCONF, UICR.APPROTECT. The
    /// flash of the Pico 2 is a chip of its own, which anybody can read.
    pub const fn lock_word(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::V1 => Some(("0x10001004", "0xFFFF00FF")),
            Self::V2 => Some(("0x10001208", "0xFFFFFF00")),
            Self::Pico2 => None,
        }
    }

    /// The name of the drive as which the board shows itself, with its button BOOTSEL held on the
    /// Pico 2.
    pub const fn drive(self) -> &'static str {
        match self {
            Self::V1 | Self::V2 => "MICROBIT",
            Self::Pico2 => "RP2350",
        }
    }

    /// The file of the drive that names the board.
    pub const fn details(self) -> &'static str {
        match self {
            Self::V1 | Self::V2 => "DETAILS.TXT",
            Self::Pico2 => "INFO_UF2.TXT",
        }
    }

    /// The image that the drive takes. Only the boot program of the RP2350 takes UF2; it writes
    /// the sectors of the image and no others.
    pub const fn drive_image(self) -> &'static str {
        match self {
            Self::V1 | Self::V2 => "hex",
            Self::Pico2 => "uf2",
        }
    }

    /// The board whose drive has this file of details: the identity of a micro:bit begins with the
    /// model's number.
    pub fn from_details(text: &str) -> Option<Self> {
        if text.lines().any(|line| line.trim_end() == "Board-ID: RP2350") {
            return Some(Self::Pico2);
        }
        let id = text.lines().find_map(|line| line.strip_prefix("Unique ID: "))?;
        match id.get(..4)? {
            "9900" | "9901" => Some(Self::V1),
            "9903" | "9904" | "9905" | "9906" => Some(Self::V2),
            _ => None,
        }
    }
}

impl fmt::Display for BoardName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
            Self::Pico2 => "pico2",
        })
    }
}

/// Kind of image: for use, or for tests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// The image that ships.
    Release,
    /// Seeded, with commands that crash it: for tests only.
    Test,
    /// The same with logs for the emulator.
    Logging,
}

impl Profile {
    const fn name(self) -> &'static str {
        match self {
            Self::Release => "firmware",
            Self::Test | Self::Logging => "firmware-test",
        }
    }

    const fn features(self) -> &'static str {
        match self {
            Self::Release => "",
            Self::Test => ",seeded",
            Self::Logging => ",seeded,log-semihosting",
        }
    }
}

/// A firmware that was built.
pub struct Build {
    board: BoardName,
    pub elf: PathBuf,
}

impl Build {
    pub fn make(compiler: &Compiler, board: BoardName, profile: Profile) -> Result<Self, String> {
        run(compiler.cargo("build", board.target()).args(board.firmware(profile)))?;
        let name = profile.name();
        let mut elf = target_directory().join(board.target()).join(name).join("firmware");
        if profile == Profile::Logging {
            // The other test build has the same name.
            let kept = elf.with_file_name("firmware-logging");
            fs::copy(&elf, &kept).map_err(|error| format!("{}: {error}", kept.display()))?;
            elf = kept;
        }
        Ok(Self { board, elf })
    }

    /// A firmware that was built before.
    pub const fn at(board: BoardName, elf: PathBuf) -> Self {
        Self { board, elf }
    }

    /// SHA-256 of the image on flash.
    pub fn digest(&self) -> Result<String, String> {
        Ok(image::digest(&self.read()?.load_segments()))
    }

    fn read(&self) -> Result<Elf, String> {
        let bytes =
            fs::read(&self.elf).map_err(|error| format!("{}: {error}", self.elf.display()))?;
        Elf::parse(bytes)
            .ok_or_else(|| format!("{} is not a 32-bit little-endian ELF", self.elf.display()))
    }

    /// Writes `firmware.hex` beside the ELF, and `firmware.uf2` for a board that takes it, and says
    /// which SHA-256 the image has on flash.
    pub fn write_images(&self) -> Result<(), String> {
        let segments = self.read()?.load_segments();
        let write = |extension: &str, bytes: &[u8]| {
            let file = self.elf.with_extension(extension);
            fs::write(&file, bytes).map_err(|error| format!("{}: {error}", file.display()))?;
            say(&format!("wrote {}", file.display()));
            Ok::<(), String>(())
        };
        write("hex", image::hex(&segments).as_bytes())?;
        if self.board.drive_image() == "uf2" {
            write("uf2", &image::uf2(&segments))?;
        }
        let compiler = tools::rustc_version()?;
        say(&format!("SHA-256 of the image on flash: {} ({compiler})", self.digest()?));
        Ok(())
    }

    /// The memory map: every section with its address and size, the stack and the journal.
    pub fn map(&self) -> Result<String, String> {
        let elf = self.read()?;
        let address = |symbol: &str| {
            elf.symbol(symbol).ok_or_else(|| format!("the firmware has no symbol {symbol}"))
        };
        let mut rows = elf.sections();
        for (name, from, to) in
            [("stack", "_stack_end", "_stack_start"), ("journal", "_journal_start", "_journal_end")]
        {
            rows.push((name.to_owned(), address(from)?, address(to)? - address(from)?));
        }
        rows.sort_by_key(|(_, start, _)| *start);
        let mut text = format!("\n{}:\n", self.board.feature());
        for (name, start, size) in rows.iter().filter(|(_, _, size)| *size > 0) {
            text += &format!("    {start:#010x} {size:>7}  {name}\n");
        }
        Ok(text)
    }

    /// No segment of the image may lie in the journal.
    pub fn check_journal(&self) -> Result<(), String> {
        let elf = self.read()?;
        let address = |symbol| {
            elf.symbol(symbol).ok_or_else(|| format!("the firmware has no symbol {symbol}"))
        };
        let journal = address("_journal_start")?..address("_journal_end")?;
        let overlaps = |(start, bytes): &(u32, Vec<u8>)| {
            *start < journal.end && start + bytes.len() as u32 > journal.start
        };
        if elf.load_segments().iter().any(overlaps) {
            return Err(format!("the image reaches into the journal at {:#x}", journal.start));
        }
        Ok(())
    }

    /// The image must not compute with floating-point registers ([`fpu`]).
    pub fn check_arithmetic(&self) -> Result<(), String> {
        fpu::check(&self.read()?).map_err(|why| format!("{}: {why}", self.board.feature()))
    }

    /// One row of the table of sizes; an error if a limit is broken.
    pub fn sizes(&self) -> Result<String, String> {
        let elf = self.read()?;
        let image: u32 = elf.load_segments().iter().map(|(_, bytes)| bytes.len() as u32).sum();
        let size = |section| elf.section_size(section).unwrap_or(0);
        // The Pico 2 runs its code from RAM.
        let statics = size(".code") + size(".data") + size(".bss") + size(".uninit");
        let address = |symbol| {
            elf.symbol(symbol).ok_or_else(|| format!("the firmware has no symbol {symbol}"))
        };
        let stack = address("_stack_start")? - address("_stack_end")?;
        let board = self.board.feature();
        let (image_limit, ram_limit) = self.board.limits();
        for (what, bytes, limit) in
            [("image", image, image_limit), ("RAM", statics + stack, ram_limit)]
        {
            if bytes > limit {
                return Err(format!("{board}: {what} takes {bytes} bytes, {limit} are allowed"));
            }
        }
        Ok(format!(
            "| {board} | {image} | {image_limit} | {} | {} | {statics} | {stack} | {} | {ram_limit} |\n",
            image - size(".data"),
            size(".data"),
            statics + stack
        ))
    }
}
