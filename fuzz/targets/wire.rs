//! Any bytes on the line: the framer cuts them as documented, and a request or reply that was
//! understood is written and read back as the same value.
#![no_main]

use equipoise::wire::{Framer, LINE_LIMIT, Reply, Request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut framer = Framer::new();
    for byte in data.iter().chain(b"\n") {
        let Some(line) = framer.push(*byte) else { continue };
        assert!(!line.is_empty() && line.len() <= LINE_LIMIT + 1);
        if let Ok(request) = Request::parse(line)
            && let Some(again) = request.to_line()
        {
            assert_eq!(Request::parse(again.as_bytes().trim_ascii_end()), Ok(request));
        }
        if let Ok(reply) = Reply::parse(line) {
            assert_eq!(Reply::parse(reply.to_line().as_bytes().trim_ascii_end()), Ok(reply));
        }
    }
});
