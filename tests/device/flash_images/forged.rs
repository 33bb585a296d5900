//! Headers of pages and records that no journal writes, with right checksums.

use super::*;

/// A header with a right checksum that names impossible pages, or parts that its sweep does not
/// hold, is damage.
#[test]
fn headers_that_lie_are_damage() {
    let (flash, _) = image(&[Days(120)]);
    let (slot, page) = newest_page(&flash);
    let [seq, place] = [page[0], page[1]];
    let (delta, back) = (place & 0xff, place >> 8 & 0xff);
    assert!(delta > 1 && back == 1 && (10..255).contains(&seq), "{seq}, {delta}, {back}");
    let pages = PAGES as u32;
    let with = |delta: u32, back: u32| place & !0xffff | delta | back << 8;
    let lies = [
        ("another slot", 0, seq + 1),
        ("a number that is never reached", 0, seq + (1 << 31)),
        ("a log as long as the region", 1, with(pages, back)),
        ("a log longer than all pages", 1, with(seq.min(255), back)),
        ("a log from before the first page", 1, with(seq + 1, back)),
        ("a page before the first", 1, with(delta, seq + 1)),
        ("the page before is older than the log", 1, with(delta, delta + 1)),
        ("no page before", 1, with(delta, 0)),
        ("a log of itself, with a page before", 1, with(0, back)),
        ("another page before", 1, with(delta, back + 1)),
        ("a longer tail", 1, place + (1 << 16)),
        ("more parts swept", 2, page[2] + 1),
        ("fewer parts swept", 2, page[2] - 1),
    ];
    for (name, at, word) in lies {
        let mut words: [u32; 5] = page[..5].try_into().unwrap();
        words[at] = word;
        let mut flash = flash.clone();
        let start = slot * PAGE;
        flash.damage(start + at * 4, page[at] ^ word);
        flash.damage(start + 5 * 4, page[5] ^ header_sum(&words));
        let (bytes, operations) = (flash.bytes(), flash.operations());
        let Err((error, flash)) = mount(flash, SMALL) else { panic!("{name}: mounted") };
        assert_eq!(error, MountError::Damaged, "{name}");
        assert!(flash.bytes() == bytes && flash.operations() == operations, "{name}");
    }
}

/// A first page without a record is one whose opening was cut, or its erase in another first start,
/// unless it was closed although it counts every part: then something behind it was committed. Only
/// a purge opens a first page.
#[test]
fn closed_first_page_is_damage() {
    let (open, purging) = (1 << 31, 1 << 30);
    let (all, damaged) = (u32::from(KEYS), Some(MountError::Damaged));
    for (place, swept, expected) in [
        (open | purging, all, None),
        (open | purging, all - 1, None),
        (purging, all - 1, None),
        (purging, all, damaged),
        (open, all, damaged),
        (open, all - 1, damaged),
    ] {
        let words = [1, place, swept, 0, 0];
        let mut flash = Flash::new(PAGES, 0xff);
        for (at, word) in words.into_iter().chain([header_sum(&words)]).enumerate() {
            flash.damage(PAGE + at * 4, !word);
        }
        let found = mount(flash, SMALL).err().map(|(error, _)| error);
        assert_eq!(found, expected, "{place:08x}, {swept} parts");
    }
}

/// Behind the last record, only what the writing of a record can leave is taken for a torn one.
#[test]
fn only_a_torn_record_is_torn() {
    // The newest page is the last of the region: nothing may be read behind it.
    let last = |days: &u16| newest_page(&image(&[Days(*days)]).0).0 == PAGES - 1;
    let (flash, book) = image(&[Days((1..).find(last).unwrap())]);
    let (slot, page) = newest_page(&flash);
    let end = records(page).last().unwrap().end;
    let room = (PAGE / 4 - end) as u32;
    assert!((8..2048).contains(&room), "{room} words are left");
    let header = |words: u32, items: u32| words | items << 12 | 3 << 30;
    // The descriptor of a part of one word, twice.
    let pair = 1 | 1 << 16;
    let torn: [&[u32]; 8] = [
        &[header(4, 1)],
        &[header(3, 1)],
        &[header(3, 1) & !(1 << 30)],
        &[header(4, 1) | 0xff],
        &[header(4, 1), pair & 0xffff],
        &[header(room, 1), 1],
        &[header(3, 1), 0],
        &[header(5, 2), pair | 0xff00_0000],
    ];
    let damaged: [&[u32]; 16] = [
        &[0],
        &[0x7fff_ffff],
        &[header(4, 1) & !(1 << 31)],
        // Too short for a part; of no part.
        &[header(2, 1)],
        &[header(2, 0)],
        &[header(4, 0)],
        &[header(room + 1, 1), 1],
        &[header(room + 2, 1), 1],
        &[header(2, 1), 0],
        &[header(1, 1), 0],
        &[header(4, 1) | 1 << 24, 1],
        &[header(4, 1) & !(1 << 31), 1],
        &[header(4, 1), 1, 9, 9, 9],
        &[header(0xfff, 0xfff), pair],
        &[header(4, 0xfff), pair],
        &[header(6, 2), pair | 0xff00_0000, 7],
    ];
    let what = |words: &[u32]| {
        let mut flash = flash.clone();
        for (at, word) in words.iter().enumerate() {
            flash.damage((slot * PAGE / 4 + end + at) * 4, !word);
        }
        mount(flash, SMALL)
            .map(|(_, found)| found.values == book.values)
            .map_err(|(error, _)| error)
    };
    for words in torn {
        assert_eq!(what(words), Ok(true), "{words:08x?}");
    }
    for words in damaged {
        assert_eq!(what(words), Err(MountError::Damaged), "{words:08x?}");
    }
}

/// The checksum of a record without secret parts, at its place.
fn record_sum(words: &[u32], (seq, at): (u32, usize)) -> u32 {
    static CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    (CRC.checksum(&bytes) ^ (seq << 12 | at as u32)) & !(1 << 31)
}

/// The last record with the mark set again and `last` cleared is damage, also where its commit word
/// has all bits that the changed header asks for.
#[test]
fn two_bits_of_the_last_header_are_no_tear() {
    let (flash, _) = image(&[Days(3), Step::Assign(0)]);
    let (slot, page) = newest_page(&flash);
    let record = records(page).pop().unwrap();
    let changed = 3 << 30;
    let sums = |value: u32| {
        let mut words = page[record.start..record.end - 1].to_vec();
        *words.last_mut().unwrap() = value;
        [1 << 31, changed].map(|bits| {
            words[0] = words[0] & !changed | bits;
            record_sum(&words, (page[0], record.start))
        })
    };
    // The last word of a patient who waits.
    let (old, commit) = (page[record.end - 2], page[record.end - 1]);
    assert_eq!(sums(old)[1], commit, "how the journal sums");
    let fits = |[torn, whole]: [u32; 2]| whole & torn == torn;
    let value = (0..=u32::MAX).find(|value| fits(sums(*value))).unwrap();
    let mut flash = flash.clone();
    let start = slot * PAGE / 4;
    flash.damage((start + record.end - 2) * 4, old ^ value);
    flash.damage((start + record.end - 1) * 4, commit ^ sums(value)[1]);
    assert!(mount(flash.clone(), SMALL).is_ok(), "a whole record");
    flash.damage((start + record.start) * 4, changed);
    assert_eq!(mount(flash, SMALL).err().map(|(error, _)| error), Some(MountError::Damaged));
}
