//! `docs/wire.md` against the code: every test vector, every dialogue, every word and every limit
//! in it.

use equipoise::testkit::desk;

use desk::{Desk, KEY, sealed};
use equipoise::device::auth::{CustodianKey, Presence, Role, WRONG_PROOFS};
use equipoise::device::custodian::LIFETIME_BUDGET;
use equipoise::device::report::ReportMac;
use equipoise::kits::number;
use equipoise::plan::{Key, Plan};
use equipoise::terms::Arm;
use equipoise::wire::{
    Field, FileDigest, Hello, Hex, ImageHash, LINE_LIMIT, NONCE_SECONDS, PROTOCOL, Reply, Request,
    Status, TrialId, TrialName, WireError, Word, checksum, unhex,
};

const DOCUMENT: &str = include_str!("../../docs/wire.md");

/// The fenced blocks of this kind, which must exist.
fn blocks(kind: &str) -> Vec<&'static str> {
    let begin = format!("```{kind}\n");
    let blocks: Vec<_> =
        DOCUMENT.split(&begin).skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!blocks.is_empty(), "no block of {kind}");
    blocks
}

fn lines(kind: &str) -> impl Iterator<Item = &'static str> {
    blocks(kind).into_iter().flat_map(str::lines)
}

/// Bytes from hex digits.
fn bytes<const N: usize>(digits: &str) -> [u8; N] {
    unhex(digits.as_bytes()).unwrap_or_else(|| panic!("{digits}"))
}

#[test]
fn checksums_are_right() {
    for line in lines("checksum") {
        let (text, sum) = line.rsplit_once(' ').unwrap();
        assert_eq!(format!("{:04X}", checksum(text.as_bytes())), sum, "{text}");
    }
}

#[test]
fn requests_and_replies_are_of_the_grammar() {
    for line in lines("request") {
        let request =
            Request::parse(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error:?}"));
        assert_eq!(request.to_line().unwrap().as_bytes(), format!("{line}\n").as_bytes());
    }
    for line in lines("reply") {
        let reply =
            Reply::parse(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error:?}"));
        assert_eq!(reply.to_line().as_bytes(), format!("{line}\n").as_bytes());
    }
}

/// Lines of a newer device mean the same without its words, and lines that only look so are not
/// read.
#[test]
fn newer_words_are_skipped_or_refused() {
    for line in lines("newer") {
        let body = line.split('*').next().unwrap();
        let newer = |word: &&str| word.starts_with("battery=") || word.starts_with("slept=");
        let older: Vec<&str> = body.split(' ').filter(|word| !newer(word)).collect();
        let older = sealed(&older.join(" "));
        assert!(older.len() < line.len(), "{line}");
        assert_eq!(Reply::parse(line.as_bytes()), Reply::parse(older.as_bytes()), "{line}");
        assert!(Reply::parse(older.as_bytes()).is_ok(), "{older}");
    }
    for line in lines("refused") {
        let refused = Reply::parse(line.as_bytes());
        assert!(matches!(refused, Err(WireError::Syntax { .. })), "{line}: {refused:?}");
    }
}

/// The tables of fields are those of the code.
#[test]
fn fields_are_those_of_the_code() {
    for (heading, fields) in
        [("Who is there: `HELLO`", Hello::FIELDS), ("The trial: `STATUS`", Status::FIELDS)]
    {
        let row =
            |Field { key, value, meaning }: &Field| format!("| `{key}` | {value} | {meaning} |\n");
        let table: String = fields.iter().map(row).collect();
        let table = format!("| field | value | meaning |\n|---|---|---|\n{table}\n");
        let section = DOCUMENT.split(&format!("## {heading}\n")).nth(1).unwrap();
        let section = section.split("\n## ").next().unwrap();
        assert!(section.contains(&table), "docs/wire.md, {heading}, should have:\n{table}");
    }
}

#[test]
fn proofs_are_right() {
    for block in blocks("proof") {
        let field = |name: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_start().to_owned()
        };
        let key = CustodianKey::new(bytes(&field("key")));
        let trial = TrialId(bytes(&field("trial")));
        let proof = key.proof(&bytes(&field("nonce")), trial, field("text").as_bytes());
        assert_eq!(Hex(&proof).to_string(), field("proof"));
    }
}

/// The answer to `PROVE` of each `presence` block.
#[test]
fn presence_proofs_are_right() {
    for block in blocks("presence") {
        let field = |name: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_start().to_owned()
        };
        let facts = Presence {
            trial: TrialId(bytes(&field("trial"))),
            image: ImageHash(bytes(&field("image"))),
            assigned: field("assigned").parse().unwrap(),
            resolved: field("resolved").parse().unwrap(),
        };
        let key = CustodianKey::new(bytes(&field("key"))).role(Role::Presence);
        let proof = key.presence(&bytes(&field("nonce")), &facts);
        assert_eq!(Hex(&proof).to_string(), field("proof"));
    }
}

#[test]
fn the_report_mac_is_right() {
    for block in blocks("mac") {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let (id, file) = (TrialId(bytes(field("TRIAL "))), FileDigest(bytes(field("FILE "))));
        let plan = Plan::parse(field("PLAN ")).unwrap();
        assert_eq!(plan.to_string(), field("PLAN "), "canonical");
        let key = CustodianKey::new(bytes(field("key "))).role(Role::Report);
        let mut mac = ReportMac::new(&key, TrialName { id, file }, &plan);
        for line in block.lines().filter(|line| line.starts_with("ROW ")) {
            let Ok(Reply::Row(row)) = Reply::parse(sealed(line).as_bytes()) else {
                panic!("{line}")
            };
            mac.row(&row);
        }
        let (trial, none) = ("0".repeat(16), "0".repeat(64));
        let line = format!("END {} trial={trial} mac={none}", field("END "));
        let Ok(Reply::End { end, .. }) = Reply::parse(sealed(&line).as_bytes()) else {
            panic!("{line}")
        };
        let mac = mac.finish(&end);
        assert_eq!(Hex(&mac).to_string(), field("mac "));
        assert!(DOCUMENT.contains(&format!("mac={}*", Hex(&mac))), "the END line has this MAC");
    }
}

/// The kit numbers of each `kits` block.
#[test]
fn kit_numbers_are_those_of_the_code() {
    for block in blocks("kits") {
        let value = |name: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().to_owned()
        };
        let kits: u32 = value("kits").parse().unwrap();
        let key = CustodianKey::new(bytes(&value("key")))
            .role(Role::CodeBreak)
            .kit_key(FileDigest(bytes(&value("file"))), kits);
        for (arm, name) in Arm::BOTH.into_iter().zip(["arm0", "arm1"]) {
            let numbers: Vec<String> =
                (0..kits).map(|i| number(&key, kits, arm, i).to_string()).collect();
            assert_eq!(numbers.join(" "), value(name));
        }
    }
}

/// Whether a reply is of this form, where `<..>` stands for one word.
fn matches(reply: &str, form: &str) -> bool {
    let (got, want): (Vec<_>, Vec<_>) = (reply.split(' ').collect(), form.split(' ').collect());
    let same = |(got, want): (&&str, &&str)| match want.split_once('<') {
        Some((start, _)) => got.len() > start.len() && got.starts_with(start),
        None => got == want,
    };
    got.len() == want.len() && got.iter().zip(&want).all(same)
}

/// The dialogues take place on one device, one after the other. What a reply calls `<arm>` stays
/// the same arm.
#[test]
fn dialogues_are_what_a_device_says() {
    let mut desk = Desk::blank(1);
    desk.provision("PLAN features=3 patients=20 better=high epsilon=1 file=0011223344556677");
    let (trial, mut nonce, mut arm) = (desk.trial(), [0; 16], String::new());
    let mut key = CustodianKey::new(KEY);
    let fresh = CustodianKey::new([1; 32]);
    for block in blocks("dialogue") {
        let mut reply = String::new();
        for line in block.lines() {
            if let Some(request) = line.strip_prefix("> ") {
                let text = request.split(" proof=").next().unwrap();
                let text = text.replace("<new key>", &Hex(&[1; 32]).to_string());
                let proof = |key: &CustodianKey| {
                    Hex(&key.proof(&nonce, trial, text.as_bytes())).to_string()
                };
                let request = request.replace("<new key>", &Hex(&[1; 32]).to_string());
                let request = request.replace("<proof>", &proof(&key));
                let changes = request.contains("<new proof>");
                let request = request.replace("<new proof>", &proof(&fresh));
                reply =
                    desk.ask_exactly(&sealed(&request.replace("<wrong proof>", &"0".repeat(32))));
                if changes && reply == "OK" {
                    key = fresh.clone();
                }
                continue;
            }
            let form = line.strip_prefix("< ").unwrap();
            assert!(matches(&reply, form), "{reply}\n{form}");
            if let Some(digits) = reply.strip_prefix("NONCE ")
                && !form.ends_with("<second>")
            {
                nonce = bytes(digits);
            }
            if reply.starts_with("ARM ") {
                assert!(arm.is_empty() || arm == reply, "{arm}, then {reply}");
                arm = reply.clone();
            }
        }
    }
}

#[test]
fn words_keys_and_limits_are_those_of_the_code() {
    let rows: Vec<&str> = DOCUMENT.split("## Errors").nth(1).unwrap().lines().collect();
    let words = rows.iter().filter_map(|row| row.strip_prefix("| `")?.split('`').next());
    assert!(words.eq(Word::ALL.iter().map(|word| word.name())));
    for key in Key::ALL {
        let row = format!("| `{}` | `{}` |", key.name(), key.allowed());
        assert!(DOCUMENT.contains(&row), "{row}");
    }
    for text in [
        format!("protocol version {PROTOCOL}"),
        format!("at most {LINE_LIMIT} printable"),
        format!("more than {LINE_LIMIT} characters"),
        format!("after {NONCE_SECONDS} seconds"),
        format!("lifetime budget** is epsilon {}.", LIFETIME_BUDGET / 1_000_000),
    ] {
        assert!(DOCUMENT.contains(&text), "{text}");
    }
    assert!(WRONG_PROOFS == 3 && DOCUMENT.contains("Three wrong proofs"));
}
