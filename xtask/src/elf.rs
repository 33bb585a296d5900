//! The parts of a 32-bit little-endian ELF file that images, sizes and tests need, read by
//! `object`.

use object::elf::{FileHeader32, PT_LOAD, SHF_ALLOC};
use object::read::elf::{ElfFile32, ElfSymbol32, FileHeader as _, ProgramHeader as _};
use object::{
    LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, SectionFlags, SymbolKind,
};

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

    /// The pieces of code: address and bytes of every function, without the constants that lie in
    /// between. Symbols `$t` and `$d` mark where code and constants begin (ELF for the Arm
    /// architecture, 5.5.5).
    pub fn code(&self) -> Vec<(u32, Vec<u8>)> {
        let Some(file) = self.file() else { return Vec::new() };
        let mark = |symbol: &ElfSymbol32<'_, '_, LittleEndian>| {
            let kind = symbol.name().ok()?.split('.').next()?.strip_prefix('$')?.to_owned();
            ["t", "d"].contains(&kind.as_str()).then(|| (symbol.address(), kind == "t"))
        };
        let mut marks: Vec<(u64, bool)> =
            file.symbols().filter_map(|symbol| mark(&symbol)).collect();
        marks.sort_unstable();
        let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
        let mut pieces = Vec::new();
        for function in functions.filter(|symbol| symbol.size() > 0) {
            let start = function.address() & !1;
            let end = start + function.size();
            let inside = marks.iter().filter(|(at, _)| (start + 1..end).contains(at)).copied();
            let begins: Vec<(u64, bool)> = [(start, true)].into_iter().chain(inside).collect();
            let ends = begins.iter().skip(1).map(|(at, _)| *at).chain([end]);
            let section = function.section_index().and_then(|at| file.section_by_index(at).ok());
            let Some(section) = section else { continue };
            for ((from, is_code), to) in begins.iter().zip(ends) {
                let piece = section.data_range(*from, to - from).ok().flatten();
                if let (true, Some(bytes), Ok(at)) = (*is_code, piece, u32::try_from(*from)) {
                    pieces.push((at, bytes.to_vec()));
                }
            }
        }
        pieces
    }

    /// The function at an address, by the nearest symbol before it.
    pub fn function_at(&self, address: u32) -> Option<String> {
        let file = self.file()?;
        let symbols = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
        let named = symbols.filter(|symbol| symbol.name().is_ok_and(|name| !name.starts_with('$')));
        let before = named.filter(|symbol| symbol.address() & !1 <= u64::from(address));
        let nearest = before.max_by_key(|symbol| symbol.address())?;
        nearest.name().ok().map(str::to_owned)
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
