//! Words about the overall effect below every table that shows it.

/// The overall effect in the words of tables.
pub const OVERALL: &str =
    "the mean over kinds of patient, weighted by their (noisy) numbers of outcomes";

/// The warning beside the overall effect of `interim`. Kinds of patient that chance settled have
/// large estimates and large standard errors at once, so their mean has heavy tails.
pub const NOT_A_TEST: &str = "NOT A TEST under interim: without any effect the overall interval \
    excludes 0 in 6 to 8 % of trials instead of 5 %. Read it as a summary, and test the kinds of \
    patient.";

/// The sentences about the overall effect below a table that shows it.
#[must_use]
pub fn overall_note(has_interim: bool) -> String {
    let warning = if has_interim { format!("\n{NOT_A_TEST}") } else { String::new() };
    format!("The overall effect is {OVERALL}.{warning}")
}
