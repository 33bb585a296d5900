//! Flash used per patient: bytes and erases of a whole device with 64 features and 128 waiting patients, next to the
//! figure of the journal's header, and how many patients a region of 64 KB lasts.
//!
//! `cargo bench --bench journal`. It counts, it does not time: every run prints the same.
use equipoise::device::generator::Generator;
use equipoise::device::health::Repeatable;
use equipoise::device::{Device, Held, Rest};
use equipoise::journal::strict::StrictFlash;
use equipoise::wire::Request;

const REGION: usize = 64 * 1024;
const FEATURES: u32 = 64;
const WAITING: u32 = 128;
/// Patients before counting starts, so that the log has gone round the region.
const EARLIER: u32 = 2_000;
const PATIENTS: u32 = 10_000;
const ERASES_PER_PAGE: f64 = 20_000.0;
const EVERYONE: u32 = 10_000_000;

fn measure<const PAGE: usize>() {
    let mut flash = StrictFlash::<PAGE>::new(REGION / PAGE, 0xff);
    let mut counts = Vec::new();
    for (first, last) in [(0, EARLIER), (EARLIER, EARLIER + PATIENTS)] {
        let held = Box::new(Held::<64, 128>::BLANK);
        let mut device: Device<_, _, _, Generator> = Device::new(held, &mut flash, Repeatable::new(1), None);
        let mut ask = |line: String| {
            let mut reply = Vec::new();
            device.handle_line(line.as_bytes(), &mut |line| reply.extend_from_slice(line));
            let reply = String::from_utf8_lossy(&reply).into_owned();
            assert!(!reply.starts_with("ERR"), "{line}: {reply}");
            while device.rest() != Rest::Idle {}
        };
        if first == 0 {
            ask(Request::Key([1; 32]).to_string());
            ask(format!("PLAN features={FEATURES} patients={EVERYONE} epsilon=1"));
        }
        for patient in first + 1..=last {
            if patient > WAITING {
                ask(format!("OUTCOME {} {}", patient - WAITING, patient % 2));
            }
            ask(format!("ASSIGN {patient} {}", patient.wrapping_mul(0x9e37_79b9) >> 26));
        }
        drop(device);
        let erases: u32 = flash.erases().iter().sum();
        counts.push((f64::from(erases), flash.operations()));
    }
    let erases = (counts[1].0 - counts[0].0) / f64::from(PATIENTS);
    let operations = (counts[1].1 - counts[0].1) as f64 / f64::from(PATIENTS);
    let (least, most) = (flash.erases().iter().min(), flash.erases().iter().max());
    println!("{} pages of {PAGE} bytes:", REGION / PAGE);
    println!("  {:.1} bytes and {erases:.4} erases a patient, looks included", erases * PAGE as f64);
    println!("  {operations:.1} flash operations a patient");
    println!("  erases of a page so far: {} to {}", least.unwrap_or(&0), most.unwrap_or(&0));
    let pages = (REGION / PAGE) as f64;
    println!(
        "  {:.1} million patients until {ERASES_PER_PAGE} erases a page",
        pages * ERASES_PER_PAGE / erases / 1e6
    );
    assert_eq!(flash.misuse(), None);
}

fn main() {
    measure::<1024>();
    measure::<4096>();
}
