//! Logs of another time.

use equipoise::wire::Hex;
use equipoise_ward::records::log;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use std::path::Path;

/// Makes every line of a log older, with its chain computed anew; by less than nothing: of a time
/// to come, as after a clock was set back.
pub fn age(path: &Path, by: SignedDuration) {
    let (mut before, mut lines) = (log::GENESIS.to_owned(), String::new());
    let text = std::fs::read_to_string(path).unwrap();
    for line in text.lines() {
        let body = &line["{\"hash\":\"".len() + log::HASH_DIGITS + "\",".len()..];
        let time = serde_json::from_str::<serde_json::Value>(line).unwrap()["time"].clone();
        let time = time.as_str().unwrap();
        let older = (time.parse::<Timestamp>().unwrap() - by).to_string();
        let body = body.replacen(time, &older, 1);
        before =
            Hex(&Sha256::new().chain_update(&before).chain_update(&body).finalize()).to_string();
        lines += &format!("{{\"hash\":\"{before}\",{body}\n");
    }
    std::fs::write(path, lines).unwrap();
    let head = log::Head { lines: text.lines().count() as u64, hash: before };
    std::fs::write(log::head_path(path), serde_json::to_string(&head).unwrap()).unwrap();
}
