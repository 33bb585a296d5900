//! Refusals of the journal, and the sizes at which they begin.

use equipoise::journal::{Error, Journal, MAX_KEYS, MountError};
use equipoise::testkit::strict_flash::{StrictFlash, Tear};

use crate::common::book::Flash;
use crate::common::wide::Wide;

fn mounted(parts: &mut Wide) -> Journal<Flash> {
    Journal::mount(Flash::new(16, 0xff), parts).ok().unwrap()
}

/// Half a page, 125 words, needs no room: seven public parts of 17 words, four words of
/// descriptors, header and commit word.
#[test]
fn half_a_page_needs_no_room() {
    let keys = [1, 2, 4, 5, 7, 8, 10, 11];
    let mut parts = Wide::new(12, 68, 0).blank();
    let mut journal = mounted(&mut parts);
    parts.renew(2);
    journal.commit(&parts, || keys.into_iter().take(7)).unwrap();
    let before = journal.flash().operations();
    assert_eq!(journal.commit(&parts, || keys.into_iter()), Err(Error::Room));
    assert_eq!(journal.flash().operations(), before, "a refused commit writes nothing");
    journal.make_room(&parts).unwrap();
    journal.commit(&parts, || keys.into_iter()).unwrap();
    assert_eq!(journal.commit(&parts, || keys.into_iter()), Err(Error::Room), "room for one");
}

/// The end of what was written to the newest page, which is the one after the last erased ones.
fn used(journal: &mut Journal<Flash>) -> usize {
    let words = journal.flash().words();
    let pages = words.chunks(256).enumerate().filter(|(_, page)| page[0] != u32::MAX);
    let (at, page) = pages.max_by_key(|(_, page)| page[0]).unwrap();
    at * 256 + page.iter().rposition(|word| *word != u32::MAX).unwrap() + 1
}

#[test]
fn nothing_to_commit_writes_nothing() {
    let mut parts = Wide::new(3, 8, 0).blank();
    let mut journal = mounted(&mut parts);
    let before = journal.flash().operations();
    journal.commit(&parts, core::iter::empty).unwrap();
    assert_eq!(journal.flash().operations(), before);
}

/// The next page is erased and opened with the first record that does not fit into the newest one,
/// and not before.
#[test]
fn next_page_is_opened_when_needed() {
    let mut seen = [false; 2];
    // A record of the first part, which is secret, has five words, one of the second four.
    for (others, key) in (0..5).flat_map(|others| [(others, 0), (others, 1)]) {
        let mut parts = Wide::new(2, 4, 0).blank();
        let mut journal = mounted(&mut parts);
        parts.renew(1);
        for _ in 0..others {
            journal.commit(&parts, || core::iter::once(1 - key)).unwrap();
        }
        let record = if key == 0 { 5 } else { 4 };
        let page = |journal: &mut Journal<Flash>| {
            let end = used(journal);
            ((end - 1) / 256, end.next_multiple_of(256) - end)
        };
        let opened = (0..256).any(|_| {
            let erases =
                |journal: &mut Journal<Flash>| journal.flash().erases().iter().sum::<u32>();
            let ((at, left), before) = (page(&mut journal), erases(&mut journal));
            journal.commit(&parts, || core::iter::once(key)).unwrap();
            let opened = page(&mut journal).0 != at;
            assert_eq!(opened, left < record, "{left} words left");
            assert_eq!(erases(&mut journal) - before, u32::from(opened));
            seen = [seen[0] || left == record, seen[1] || left == record - 1];
            opened
        });
        assert!(opened, "no page was opened for as many records as a page has words");
    }
    assert_eq!(seen, [true; 2], "both sides of the limit were met");
}

fn geometry<const PAGE: usize>(pages: usize, parts: &Wide) -> Result<(), MountError> {
    let flash = StrictFlash::<PAGE>::new(pages, 0xff);
    Journal::mount(flash, &mut parts.blank()).map(drop).map_err(|(error, _)| error)
}

#[test]
fn geometry_has_limits() {
    let two = Wide::new(2, 4, 0);
    let pages = |found, most| Err(MountError::Pages { found, most });
    assert_eq!(geometry::<1024>(7, &two), pages(7, 64));
    assert_eq!(geometry::<1024>(8, &two), Ok(()));
    assert_eq!(geometry::<1024>(64, &two), Ok(()));
    assert_eq!(geometry::<1024>(65, &two), pages(65, 64));
    assert_eq!(geometry::<8192>(32, &two), Ok(()));
    assert_eq!(geometry::<8192>(33, &two), pages(33, 32));
    assert_eq!(geometry::<1024>(64, &Wide::new(0, 4, 0)), Err(MountError::Keys(0)));
    assert_eq!(geometry::<1024>(64, &Wide::new(512, 4, MAX_KEYS - 512)), Ok(()));
    let many = Err(MountError::Keys(MAX_KEYS + 1));
    assert_eq!(geometry::<1024>(64, &Wide::new(512, 4, MAX_KEYS - 511)), many);
}

/// A journal of as many parts as there may be is known as one.
#[test]
fn largest_journal_is_not_foreign() {
    let mut parts = Wide::new(512, 4, MAX_KEYS - 512).blank();
    let journal = Journal::mount(Flash::new(64, 0xff), &mut parts).ok().unwrap();
    assert_eq!(Journal::is_foreign(journal.release()), Ok(false));
}

/// A record with an absent secret part may be torn like any other.
#[test]
fn torn_record_with_an_absent_secret_mounts() {
    let mut parts = Wide::new(6, 8, 0).blank();
    let journal = mounted(&mut parts);
    parts.renew(2);
    assert!(parts.values[3].is_empty(), "the second secret part is absent");
    for cut in 0..256 {
        let mut torn = journal.clone();
        torn.flash().cut_after(cut, Tear::Random(cut));
        let done = torn.commit(&parts, || 3..6);
        let mut flash = torn.release();
        flash.power_up();
        let mut found = parts.blank();
        assert!(Journal::mount(flash, &mut found).is_ok(), "cut at {cut}");
        if done.is_ok() {
            assert_eq!(found.values[4..], parts.values[4..]);
            return;
        }
    }
    panic!("the commit was never finished");
}

/// A journal that could not be read commits nothing.
#[test]
fn unreadable_journal_commits_nothing() {
    let mut bytes = vec![0xff; 8 * 1024];
    (bytes[0], bytes[5000]) = (1, 2);
    let mut parts = Wide::new(2, 4, 0).blank();
    let mut journal = Journal::unread(Flash::from_bytes(&bytes));
    assert_eq!(journal.recover(&mut parts), Err(MountError::Foreign));
    assert_eq!(journal.commit(&parts, || core::iter::once(0)), Err(Error::Broken));
    assert_eq!(journal.flash().bytes(), bytes);
}

/// Every error message says what happened.
#[test]
fn messages_differ() {
    use embedded_storage::nor_flash::NorFlashErrorKind::Other;
    use equipoise::journal::{BadPart, TooSmall};
    let messages = [
        BadPart.to_string(),
        TooSmall { pages: 8, needed: 31 }.to_string(),
        Error::Flash(Other).to_string(),
        Error::Full.to_string(),
        Error::Room.to_string(),
        Error::Broken.to_string(),
        MountError::Pages { found: 4, most: 64 }.to_string(),
        MountError::Keys(0).to_string(),
        MountError::Foreign.to_string(),
        MountError::OtherFormat(7).to_string(),
        MountError::Damaged.to_string(),
        MountError::Part(19).to_string(),
        MountError::Repair(Error::Full).to_string(),
    ];
    let different: std::collections::HashSet<_> = messages.iter().collect();
    assert_eq!(different.len(), messages.len());
    assert!(messages.iter().all(|message| message.len() > 10), "{messages:?}");
    assert!(messages[1].contains("31") && messages[9].contains('7') && messages[11].contains("19"));
}
