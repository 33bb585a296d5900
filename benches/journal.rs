//! Flash used per patient: bytes and erases of a whole device with 64 features and 128 waiting patients, next to the
//! figure of the journal's header, and how many patients a region of 64 KB lasts.
//!
//! `cargo bench --bench journal`. It counts, it does not time: every run prints the same.
use equipoise::device::generator::Generator;
use equipoise::device::health::Repeatable;
use equipoise::device::{Device, DeviceState, Rest};
use equipoise::testkit::order;
use equipoise::testkit::strict_flash::StrictFlash;
use equipoise::wire::Request;

const REGION: usize = 64 * 1024;
const FEATURES: u32 = 64;
const WAITING: u32 = 128;
const EVERYONE: u32 = 10_000_000;
/// The log has gone round the region; patients are counted up to just before a look of this plan, then the look.
const EARLIER: u32 = 1_500;
const QUIET: u32 = 6_930;
const LOOKED: u32 = 6_950;
const ERASES_PER_PAGE: f64 = 20_000.0;
/// The arithmetic of the journal's header.
const ALL_PARTS: usize = 46 + 44 + 14 + 128 * 14 + 64 * (42 + 104);
const PATIENT: usize = 36 + 52;

fn measure<const PAGE: usize>() {
    let mut flash = StrictFlash::<PAGE>::new(REGION / PAGE, 0xff);
    let mut counts = Vec::new();
    for (first, last) in [(0, EARLIER), (EARLIER, QUIET), (QUIET, LOOKED)] {
        let held = Box::new(DeviceState::<64, 128>::BLANK);
        let mut device: Device<_, _, _, Generator> = Device::new(held, &mut flash, Repeatable::new(1), None);
        let mut ask = |line: &str| {
            let mut reply = Vec::new();
            device.handle_line(line.as_bytes(), &mut |_, line| reply.extend_from_slice(line));
            let reply = String::from_utf8_lossy(&reply).into_owned();
            assert!(!reply.starts_with("ERR"), "{line}: {reply}");
            while device.rest() != Rest::Idle {}
            reply
        };
        if first == 0 {
            ask(&Request::Key([1; 32]).to_string());
            let plan = format!("PLAN features={FEATURES} patients={EVERYONE} epsilon=1");
            order([1; 32], &plan, &mut ask);
        }
        for patient in first + 1..=last {
            if patient > WAITING {
                ask(&format!("OUTCOME {} {}", patient - WAITING, patient % 2));
            }
            ask(&format!("ASSIGN {patient} {}", patient.wrapping_mul(0x9e37_79b9) >> 26));
        }
        drop(device);
        let erases: u32 = flash.erases().iter().sum();
        counts.push((f64::from(erases), flash.operations()));
    }
    let patients = f64::from(QUIET - EARLIER);
    let erases = (counts[1].0 - counts[0].0) / patients;
    let operations = (counts[1].1 - counts[0].1) as f64 / patients;
    let look = counts[2].0 - counts[1].0 - erases * f64::from(LOOKED - QUIET);
    let (pages, page) = ((REGION / PAGE) as f64, PAGE as f64);
    let computed = page * PATIENT as f64 / (page - 16.0 - ALL_PARTS as f64 / (pages - 5.0));
    println!("{pages} pages of {PAGE} bytes:");
    println!("  {:.1} bytes of flash a patient, {computed:.1} computed; {erases:.4} erases", erases * page);
    println!("  {operations:.1} words written or pages erased a patient");
    println!("  {look:.0} erases a look, as many as {:.0} patients", look / erases);
    let (least, most) = (flash.erases().iter().min(), flash.erases().iter().max());
    println!("  {} to {} erases of a page so far", least.unwrap_or(&0), most.unwrap_or(&0));
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
