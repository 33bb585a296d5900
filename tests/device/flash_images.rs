//! Mounting any flash image never panics, and damage to what was committed is never taken
//! for something else.
//!
//! `cargo test --test device flash_images::` mounts a few thousand images;
//! `EQUIPOISE_IMAGES=10000000` in its environment sets another number.
use crate::common::book;
mod forged;

use book::{Book, Days, Erase, Flash, KEYS, Look, PAGE, PAGES, SMALL, Step, mount};
use equipoise::device::health::Repeatable;
use equipoise::device::{Device, DeviceState};
use equipoise::journal::{Journal, MountError};
use equipoise::testkit::strict_flash::StrictFlash;
use equipoise::wire::State;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

const WORDS: usize = PAGE * PAGES / 4;
/// Words of a page header.
const HEADER: usize = 6;
/// The journal's present format.
const FORMAT: u8 = 3;
/// Images per seed; a seed is a unit of work.
const PER_SEED: u64 = 1000;

/// A flash after these steps.
fn image(steps: &[Step]) -> (Flash, Book) {
    let (mut journal, mut book) =
        mount(Flash::new(PAGES, 0xff), SMALL).map_err(|(error, _)| error).unwrap();
    for step in steps {
        step.take(&mut journal, &mut book).unwrap();
    }
    (journal.release(), book)
}

fn images() -> [(Flash, Book); 6] {
    [
        image(&[]),
        image(&[Days(1)]),
        image(&[Days(12), Look]),
        image(&[Days(150)]),
        image(&[Days(99), Look, Days(1)]),
        image(&[Days(5), Look, Erase, Days(1)]),
    ]
}

/// A single flipped bit is repaired or reported, and never changes a value. Requirement D10.
#[test]
fn one_flipped_bit_never_changes_a_value() {
    let mut counts = [0, 0];
    for (flash, book) in images() {
        let judged = (0..WORDS * 32).into_par_iter().map(|bit| {
            let mut flash = flash.clone();
            flash.damage(bit / 32 * 4, 1 << (bit % 32));
            match mount(flash, SMALL) {
                Ok((_, found)) => {
                    assert_eq!(found.values, book.values, "bit {bit}");
                    [1, 0]
                }
                Err((MountError::Damaged, _)) => [0, 1],
                Err((error, _)) => panic!("bit {bit}: {error:?}"),
            }
        });
        let [harmless, reported] =
            judged.reduce(|| [0, 0], |a: [u32; 2], b| [a[0] + b[0], a[1] + b[1]]);
        println!("{harmless} harmless, {reported} reported");
        assert!(reported > 500, "headers and values are covered by checksums");
        counts = [counts[0] + harmless, counts[1] + reported];
    }
    println!(
        "flipped bits: {} harmless, {} reported, 0 taken for something else",
        counts[0], counts[1]
    );
}

/// The newest page of a flash: its slot and its words.
fn newest_page(flash: &Flash) -> (usize, &[u32]) {
    let pages = flash.words().chunks(PAGE / 4).enumerate();
    pages.filter(|(_, page)| page[0] != u32::MAX).max_by_key(|(_, page)| page[0]).unwrap()
}

/// Every way to change up to two bits of a word, and to make it blank or zero.
fn changes(word: u32) -> impl Iterator<Item = u32> {
    let one = (0..32).map(move |a| word ^ 1 << a);
    let two = (0..32).flat_map(move |a| (0..a).map(move |b| word ^ 1 << a ^ 1 << b));
    one.chain(two).chain([0, u32::MAX]).filter(move |changed| *changed != word)
}

/// No change of up to two bits of a word of the newest page, and no word that becomes blank or
/// zero, silently changes what is read.
#[test]
fn two_bits_never_change_values_silently() {
    for (name, steps) in [
        ("patients", &[Days(4)][..]),
        ("a sweep and patients", &[Days(34)]),
        ("a look and patients", &[Days(3), Look, Days(2)]),
        ("a restarted trial", &[Days(5), Look, Erase, Days(2)]),
        ("patients over two pages", &[Days(10)]),
    ] {
        let (flash, book) = image(steps);
        let (slot, page) = newest_page(&flash);
        let records = records(page);
        assert!(records.len() >= 4, "{name}: {records:?}");
        let judged = (0..PAGE / 4).into_par_iter().map(|at| {
            let (mut same, mut reported) = (0, 0);
            for changed in changes(page[at]) {
                let mut flash = flash.clone();
                flash.damage((slot * PAGE / 4 + at) * 4, page[at] ^ changed);
                match mount(flash, SMALL) {
                    Ok((_, found)) => {
                        let what =
                            || format!("{name}, word {at}: {:08x} to {changed:08x}", page[at]);
                        assert!(found.values == book.values, "{}", what());
                        same += 1;
                    }
                    Err((error, _)) => {
                        assert_eq!(error, MountError::Damaged, "{name}, word {at}");
                        reported += 1;
                    }
                }
            }
            [same, reported]
        });
        let sum = |a: [u32; 2], b: [u32; 2]| [a[0] + b[0], a[1] + b[1]];
        let [same, reported] = judged.reduce(|| [0; 2], sum);
        println!("{name}: {same} changed no value, {reported} reported, 0 changed one silently");
        assert!(reported > 10_000, "{name}");
    }
}

/// A page that became blank is reported if the log needs it.
#[test]
fn a_missing_page_is_reported() {
    let mut reported = 0;
    for (flash, book) in images() {
        for page in 0..PAGES {
            let mut flash = flash.clone();
            for at in page * PAGE / 4..(page + 1) * PAGE / 4 {
                let word = flash.words()[at];
                flash.damage(at * 4, !word);
            }
            match mount(flash, SMALL) {
                Ok((_, found)) => assert_eq!(found.values, book.values, "page {page}"),
                Err((error, _)) => {
                    assert_eq!(error, MountError::Damaged);
                    reported += 1;
                }
            }
        }
    }
    assert!(reported >= 2 * images().len(), "two pages at least are needed in every image");
}

/// A flash with something else on it is refused, and not changed.
#[test]
fn foreign_flash_is_left_alone() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut bytes = vec![0xff; PAGE * PAGES];
    random.fill_bytes(&mut bytes[..2 * PAGE]);
    let Err((error, mut flash)) = mount(Flash::from_bytes(&bytes), SMALL) else {
        panic!("mounted")
    };
    assert_eq!(error, MountError::Foreign);
    assert_eq!(flash.bytes(), bytes);
    flash.power_up();
    assert_eq!(flash.operations(), 0);
}

/// A journal of another format is named, and not a byte of it changes.
#[test]
fn other_formats_are_named_and_untouched() {
    let (flash, _) = image(&[Days(12)]);
    for format in (1..=9).filter(|format| *format != FORMAT) {
        let mut flash = flash.clone();
        for page in 0..PAGES {
            let words: Vec<u32> = flash.words()[page * PAGE / 4..][..HEADER].to_vec();
            // The first two formats had a header of four words.
            let summed = if format < 3 { 3 } else { 5 };
            let sum =
                header_sum(&words[..summed]) ^ u32::from((b'0' + FORMAT) ^ (b'0' + format)) << 24;
            flash.damage(page * PAGE + summed * 4, words[summed] ^ sum);
        }
        let (bytes, operations) = (flash.bytes(), flash.operations());
        let Err((error, flash)) = mount(flash, SMALL) else { panic!("mounted") };
        assert_eq!(error, MountError::OtherFormat(format));
        assert!(flash.bytes() == bytes && flash.operations() == operations);
    }
}

#[test]
fn a_region_of_the_wrong_size_is_refused() {
    for pages in [0, 7] {
        let Err((error, _)) = mount(Flash::new(pages, 0xff), SMALL) else { panic!("mounted") };
        assert_eq!(error, MountError::Pages { found: pages as u32, most: 64 });
    }
}

/// A device on too few pages is in fault, and its program can say why.
#[test]
fn a_device_knows_why_its_flash_is_refused() {
    let flash = |pages| StrictFlash::<2048>::new(pages, 0xff);
    let mut state = DeviceState::<4, 16>::BLANK;
    let device = Device::new(&mut state, flash(4), Repeatable::new(1), None);
    let found = (device.state(), device.mount_error());
    assert_eq!(found, (State::Fault, Some(MountError::Pages { found: 4, most: 64 })));
    let device = Device::new(&mut state, flash(24), Repeatable::new(1), None);
    assert_eq!((device.state(), device.mount_error()), (State::Blank, None));
}

/// The checksum of a page header, so that nonsense gets past it.
fn header_sum(words: &[u32]) -> u32 {
    let open = |(at, word): (usize, &u32)| if at == 1 { word | 1 << 31 } else { *word };
    let bytes: Vec<u8> = words.iter().enumerate().map(open).flat_map(u32::to_le_bytes).collect();
    let sum = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&bytes);
    sum ^ u32::from_le_bytes(*b"Eqj3") ^ u32::from(KEYS)
}

/// The checksum that this test gives to invalid headers is the one of real headers.
#[test]
fn header_sum_matches_the_journal() {
    let (flash, _) = image(&[Days(1)]);
    let headers = flash.words().chunks(PAGE / 4).filter(|page| page[0] != u32::MAX);
    let right = headers.filter(|page| page[5] == header_sum(&page[..5]));
    assert!(right.count() >= 2);
}

/// The records of a page, as their headers say.
fn records(page: &[u32]) -> Vec<std::ops::Range<usize>> {
    let mut records = Vec::new();
    let mut at = HEADER;
    while at < page.len() && page[at] != u32::MAX {
        let end = at + (page[at] & 0xfff) as usize;
        records.push(at..end);
        at = end;
    }
    records
}

/// Bytes of another place, or of an earlier round, are never taken for committed ones.
#[test]
fn stale_bytes_are_never_read() {
    // An earlier record of the page, again behind its last.
    let (flash, book) = image(&[Days(3)]);
    let pages: Vec<&[u32]> = flash.words().chunks(PAGE / 4).collect();
    let opened = |page: &&&[u32]| page[0] != u32::MAX;
    let (newest, page) = pages
        .iter()
        .enumerate()
        .filter(|(_, page)| opened(page))
        .max_by_key(|(_, page)| page[0])
        .unwrap();
    let records = records(page);
    assert!(records.len() >= 4);
    for record in &records {
        let mut flash = flash.clone();
        for (from, to) in record.clone().zip(records.last().unwrap().end..) {
            let at = newest * PAGE / 4;
            let flip = flash.words()[at + to] ^ flash.words()[at + from];
            flash.damage((at + to) * 4, flip);
        }
        if let Ok((_, found)) = mount(flash, SMALL) {
            assert_eq!(found.values, book.values, "{record:?}");
        }
    }
    // What stood in a page a round ago, behind its present header.
    let (mut journal, mut book) =
        mount(Flash::new(PAGES, 0xff), SMALL).map_err(|(error, _)| error).unwrap();
    let mut before: Vec<u32> = journal.flash().words().to_vec();
    for _ in 0..600 {
        Days(1).take(&mut journal, &mut book).unwrap();
        let now = journal.flash().words().to_vec();
        for (page, (old, new)) in before.chunks(PAGE / 4).zip(now.chunks(PAGE / 4)).enumerate() {
            if old[0] != new[0] && old[0] != u32::MAX && new[0] != u32::MAX {
                let mut flash = journal.clone().release();
                for at in HEADER..PAGE / 4 {
                    flash.damage((page * PAGE / 4 + at) * 4, new[at] ^ old[at]);
                }
                if let Ok((_, found)) = mount(flash, SMALL) {
                    assert_eq!(found.values, book.values, "page {page}");
                }
            }
        }
        before = now;
    }
}

/// Spoils an image in one of many ways.
fn spoil(flash: &mut Flash, random: &mut Xoshiro256PlusPlus) {
    let below = |random: &mut Xoshiro256PlusPlus, n: usize| random.next_u64() as usize % n;
    let put = |flash: &mut Flash, at: usize, word: u32| {
        let flip = flash.words()[at] ^ word;
        flash.damage(at * 4, flip);
    };
    let (page, other) = (below(random, PAGES) * PAGE / 4, below(random, PAGES) * PAGE / 4);
    match random.next_u32() % 8 {
        0 => flash.damage(below(random, WORDS) * 4, 1 << (random.next_u32() % 32)),
        1 => {
            let word = random.next_u32() & random.next_u32();
            put(flash, below(random, WORDS), word);
        }
        2 => put(flash, below(random, WORDS), [0, u32::MAX][below(random, 2)]),
        3 => (0..PAGE / 4).for_each(|at| put(flash, page + at, flash.words()[other + at])),
        4 => (below(random, PAGE / 4)..PAGE / 4).for_each(|at| put(flash, page + at, u32::MAX)),
        5 => (0..PAGE / 4)
            .for_each(|at| put(flash, page + at, flash.words()[page + at] | random.next_u32())),
        6 => {
            let at = page + below(random, PAGE / 4);
            put(flash, at, flash.words()[at] & random.next_u32());
        }
        _ => {
            let mut words: [u32; 5] = flash.words()[page..page + 5].try_into().unwrap();
            words[below(random, 5)] = random.next_u32() >> (random.next_u32() % 32);
            if below(random, 2) == 0 {
                words[0] = words[0] / PAGES as u32 * PAGES as u32 + (page * 4 / PAGE) as u32;
            }
            words.into_iter().enumerate().for_each(|(at, word)| put(flash, page + at, word));
            put(flash, page + 5, header_sum(&words));
        }
    }
}

#[test]
fn no_image_makes_the_mount_panic() {
    let wanted =
        std::env::var("EQUIPOISE_IMAGES").map_or(20_000, |text| text.parse().expect("a number"));
    let images = images();
    let mounted: u64 = (0..wanted / PER_SEED)
        .into_par_iter()
        .map(|seed| {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut mounted = 0;
            for index in 0..PER_SEED {
                let flash = if index % 8 == 0 {
                    let mut bytes = vec![0; PAGE * PAGES];
                    random.fill_bytes(&mut bytes);
                    Flash::from_bytes(&bytes)
                } else {
                    let mut flash = images[index as usize % images.len()].0.clone();
                    (0..1 + random.next_u32() % 4).for_each(|_| spoil(&mut flash, &mut random));
                    flash
                };
                if let Ok(mut journal) = Journal::mount(flash, &mut Book::blank(SMALL)) {
                    // What can be mounted can be used, or refuses; it may not hang or panic.
                    let _ = Days(1).take(&mut journal, &mut Book::blank(SMALL));
                    mounted += 1;
                }
            }
            mounted
        })
        .sum();
    println!("{wanted} images, {mounted} mounted, no panic");
}
