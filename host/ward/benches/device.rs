//! Requests per second of `Device::handle_line`, on a flash in memory and with room for 64
//! features.
//!
//! `cargo bench -p equipoise-ward`; the line `thrpt` gives requests (elements) per second. Every
//! request is a line with its checksum, every reply is formatted, and what it says is on the flash
//! in memory, journal and all.
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use equipoise::board::in_memory::InMemory;
use equipoise::device::health::Repeatable;
use equipoise::testkit::order;
use equipoise::wire::{Request, Tag};
use equipoise_ward::virtual_board::Flash;

const PATIENTS: u32 = 100;

type MemoryDevice = InMemory<Flash, Repeatable, 64, 256>;

fn line(request: &Request) -> Vec<u8> {
    request.to_line().map_or_else(Vec::new, |line| line.as_bytes().trim_ascii_end().to_vec())
}

fn running(features: u8) -> MemoryDevice {
    let mut board = MemoryDevice::asleep(Flash::in_memory(64), Repeatable::new(1), None);
    board.power_up();
    let plan = format!("PLAN features={features} patients=1000000 better=high epsilon=1");
    let mut ask = |text: &str| {
        let mut reply = Vec::new();
        board.exchange(format!("{text}\n").as_bytes(), &mut reply);
        String::from_utf8_lossy(&reply).into_owned()
    };
    ask(&Request::Key([0x5A; 32]).to_string());
    assert!(order([0x5A; 32], &plan, ask).starts_with("OK trial="));
    board.run_until_idle();
    board
}

fn device(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("handle_line");
    group.sample_size(30);
    for features in [1, 10, 64] {
        let lines: Vec<Vec<u8>> = (1..=PATIENTS)
            .flat_map(|patient| {
                let tag = Some(Tag(patient));
                let feature = patient % u32::from(features);
                [
                    Request::Assign { patient, feature, tag },
                    Request::Outcome { patient, y: patient % 2 },
                ]
            })
            .map(|request| line(&request))
            .collect();
        group.throughput(Throughput::Elements(lines.len() as u64));
        group.bench_function(format!("ASSIGN and OUTCOME in turn, {features} features"), |b| {
            let work = |mut board: MemoryDevice| {
                let mut sent = 0;
                for line in &lines {
                    board.device.handle_line(line, &mut |_, reply| sent += reply.len());
                }
                (board, sent)
            };
            b.iter_batched(|| running(features), work, BatchSize::PerIteration);
        });
    }
    let status = line(&Request::Status);
    group.throughput(Throughput::Elements(1));
    let mut board = running(10);
    group.bench_function("STATUS", |b| {
        b.iter(|| {
            let mut sent = 0;
            board.device.handle_line(&status, &mut |_, reply| sent += reply.len());
            sent
        });
    });
    group.finish();
}

criterion_group!(benches, device);
criterion_main!(benches);
