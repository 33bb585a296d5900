//! The parts of a 32-bit little-endian ELF file that images, sizes and tests need, read by
//! `object`.

use object::elf::{FileHeader32, PT_LOAD, SHF_ALLOC};
use object::read::elf::{ElfFile32, FileHeader as _, ProgramHeader as _};
use object::{LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, SectionFlags};

/// The bytes of a file that was parsed once, so that later reads cannot fail.
pub struct Elf {
    bytes: Vec<u8>,
}

impl Elf {
    /// `None` if the bytes are not a 32-bit little-endian ELF file.
    pub fn parse(bytes: Vec<u8>) -> Option<Self> {
        ElfFile32::<LittleEndian>::parse(bytes.as_slice()).ok()?;
        Some(Self { bytes })
    }

    fn file(&self) -> Option<ElfFile32<'_, LittleEndian>> {
        ElfFile32::parse(self.bytes.as_slice()).ok()
    }

    /// The contents of flash: physical address and bytes, lowest address first.
    pub fn load_segments(&self) -> Vec<(u32, Vec<u8>)> {
        let data = self.bytes.as_slice();
        let header = FileHeader32::<LittleEndian>::parse(data);
        let Ok(headers) = header.and_then(|header| header.program_headers(LittleEndian, data))
        else {
            return Vec::new();
        };
        let mut segments: Vec<_> = headers
            .iter()
            .filter(|header| header.p_type(LittleEndian) == PT_LOAD)
            .filter_map(|header| {
                let bytes = header.data(LittleEndian, data).ok()?;
                (!bytes.is_empty()).then(|| (header.p_paddr(LittleEndian), bytes.to_vec()))
            })
            .collect();
        segments.sort();
        segments
    }

    /// The sections that take up memory: name, address and size.
    pub fn sections(&self) -> Vec<(String, u32, u32)> {
        let Some(file) = self.file() else { return Vec::new() };
        let sections = file.sections().filter(|section| match section.flags() {
            SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(SHF_ALLOC),
            _ => false,
        });
        sections
            .filter_map(|section| {
                let (address, size) = (section.address(), section.size());
                let name = section.name().ok()?.to_owned();
                Some((name, address.try_into().ok()?, size.try_into().ok()?))
            })
            .collect()
    }

    /// The size of a section.
    pub fn section_size(&self, name: &str) -> Option<u32> {
        self.file()?.section_by_name(name)?.size().try_into().ok()
    }

    /// The value of a symbol.
    pub fn symbol(&self, name: &str) -> Option<u32> {
        self.symbol_where(|known| known == name)
    }

    /// The value of the first symbol whose name `wanted` accepts.
    pub fn symbol_where(&self, wanted: impl Fn(&str) -> bool) -> Option<u32> {
        let file = self.file()?;
        let symbol = file.symbols().find(|symbol| symbol.name().is_ok_and(&wanted))?;
        symbol.address().try_into().ok()
    }
}
