//! As much of a 32-bit little-endian ELF file as images, sizes and tests need.

const PT_LOAD: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const PROGRAM_HEADER: usize = 32;
const SECTION_HEADER: usize = 40;
const SYMBOL: usize = 16;

/// A parsed file.
pub struct Elf {
    bytes: Vec<u8>,
}

/// A section's header: name, type, file offset, size, linked section.
struct Section {
    name: usize,
    kind: u32,
    offset: usize,
    size: usize,
    link: usize,
}

impl Elf {
    /// Checks the magic, the class and the byte order.
    pub fn parse(bytes: Vec<u8>) -> Option<Self> {
        bytes.starts_with(b"\x7FELF\x01\x01").then_some(Self { bytes })
    }

    fn word(&self, at: usize) -> u32 {
        self.bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
    }

    fn half(&self, at: usize) -> usize {
        self.bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).map_or(0, |b| u16::from_le_bytes(b).into())
    }

    /// What is to be in flash: physical address and bytes, lowest address first.
    pub fn load_segments(&self) -> Vec<(u32, Vec<u8>)> {
        let start = self.word(28) as usize;
        let headers = (0..self.half(44)).map(|i| start + i * PROGRAM_HEADER);
        let mut segments: Vec<_> = headers
            .filter(|&at| self.word(at) == PT_LOAD && self.word(at + 16) > 0)
            .filter_map(|at| {
                let offset = self.word(at + 4) as usize;
                let bytes = self.bytes.get(offset..offset + self.word(at + 16) as usize)?;
                Some((self.word(at + 12), bytes.to_vec()))
            })
            .collect();
        segments.sort();
        segments
    }

    fn sections(&self) -> impl Iterator<Item = Section> + '_ {
        let start = self.word(32) as usize;
        (0..self.half(48)).map(move |i| start + i * SECTION_HEADER).map(|at| Section {
            name: self.word(at) as usize,
            kind: self.word(at + 4),
            offset: self.word(at + 16) as usize,
            size: self.word(at + 20) as usize,
            link: self.word(at + 24) as usize,
        })
    }

    /// The text at this place of the file, up to a zero.
    fn text(&self, at: usize) -> &str {
        let text = self.bytes.get(at..).and_then(|rest| rest.split(|byte| *byte == 0).next());
        text.and_then(|text| core::str::from_utf8(text).ok()).unwrap_or_default()
    }

    /// The size of a section.
    pub fn section_size(&self, name: &str) -> Option<u32> {
        let names = self.sections().nth(self.half(50))?.offset;
        let section = self.sections().find(|section| self.text(names + section.name) == name)?;
        Some(section.size as u32)
    }

    /// The value of a symbol.
    pub fn symbol(&self, name: &str) -> Option<u32> {
        self.symbol_where(|known| known == name)
    }

    /// The value of the first symbol whose name is wanted.
    pub fn symbol_where(&self, wanted: impl Fn(&str) -> bool) -> Option<u32> {
        let table = self.sections().find(|section| section.kind == SHT_SYMTAB)?;
        let names = self.sections().nth(table.link)?.offset;
        (table.offset..table.offset + table.size)
            .step_by(SYMBOL)
            .find(|&at| wanted(self.text(names + self.word(at) as usize)))
            .map(|at| self.word(at + 4))
    }
}
