//! Calls that the main loop of a board makes beside requests.

use super::*;
use equipoise::wire::ImageHash;

#[test]
fn hello_names_the_image() {
    let mut desk = Desk::blank(1);
    assert!(!desk.ask("HELLO").contains("image="));
    desk.device.set_image(ImageHash([0xAB; 8]));
    assert!(desk.ask("HELLO").ends_with(" image=abababababababab"), "{}", desk.ask("HELLO"));
}

/// Power-up takes the state from flash alone, whatever was in memory before.
#[test]
fn power_up_reads_everything_anew() {
    let mut desk = Desk::running(1, PLAN);
    desk.assign(1, 0);
    assert!(desk.ask("STATUS").contains(" assigned=1 "), "{}", desk.ask("STATUS"));
    let blank = Flash::new();
    *desk.flash.0.borrow_mut() = blank.0.borrow().clone();
    desk.device.power_up();
    let hello = desk.ask("HELLO");
    assert!(hello.contains(" blank ") && hello.contains("key=none"), "{hello}");
}

/// A look is due from the reply to the outcome of its count to the next request.
#[test]
fn due_looks_are_announced() {
    let mut desk = Desk::blank(1);
    assert!(!desk.device.is_look_due());
    desk.provision(PLAN);
    for patient in 1..=10 {
        assert!(!desk.device.is_look_due(), "patient {patient}");
        desk.assign(patient, 0);
        desk.ask(&format!("OUTCOME {patient} 1"));
    }
    assert!(desk.device.is_look_due());
    desk.ask("STATUS");
    assert!(!desk.device.is_look_due());
}

/// Kits are prepared in pieces, and only where there are any.
#[test]
fn kits_are_prepared_in_pieces() {
    let mut desk = Desk::blank(1);
    assert!(!desk.device.prepare_kits());
    desk.provision(&format!("{PLAN} kits=30"));
    let pieces = (0..1000).take_while(|_| desk.device.prepare_kits()).count();
    assert!((100..1000).contains(&pieces), "{pieces} pieces");
    assert!(!Desk::running(1, PLAN).device.prepare_kits());
}
