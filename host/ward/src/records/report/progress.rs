//! How far a trial is, and why the outcomes counted are not the patients resolved: from the counts
//! themselves.

use std::fmt::Write;

use super::Estimate;
use crate::records::words::moment;
use equipoise::plan::{DesignName, Plan};
use equipoise::terms::Phase;
use equipoise::wire::{Ending, LastLook, NextLook, Stage, Status};
use equipoise_study::ratios::draw_variance;
use jiff::Timestamp;

/// Standard deviations of the noise beyond which a difference is not called noise.
const FAR: f64 = 3.0;

/// How far a trial is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The device's own facts.
    pub end: Ending,
    /// When the report was written.
    pub date: String,
    pub(super) waiting: u32,
}

impl Progress {
    /// The progress that the end of a report tells.
    #[must_use]
    pub fn new(end: &Ending, status: &Status) -> Self {
        Self { end: *end, date: moment(Timestamp::now()), waiting: status.waiting() }
    }

    /// `look 3 of 5, INTERIM`, or `FINAL`.
    #[must_use]
    pub fn headline(&self) -> String {
        let stage = self.end.stage.name().to_uppercase();
        match self.end.look {
            Some(LastLook { number, of, .. }) => format!("look {number} of {of}, {stage}"),
            None => stage,
        }
    }

    /// Why the outcomes counted are not the patients resolved, as the end of a sentence.
    pub(super) fn why(&self, rows: &[Estimate], status: &Status, plan: Option<&Plan>) -> String {
        if matches!(status.design, DesignName::DpConse | DesignName::Conse) {
            return "lost outcomes do not count, only part of the second half measures, and counts \
                    are noisy"
                .to_owned();
        }
        self.reasons(rows, plan)
    }

    /// The same for `interim` and `uniform`.
    pub(super) fn reasons(&self, rows: &[Estimate], plan: Option<&Plan>) -> String {
        let mut parts = Vec::new();
        let read = self.end.look.and_then(|look| look.at).unwrap_or(self.end.resolved);
        let later = self.end.resolved.saturating_sub(read);
        if later > 0 {
            parts.push(format!("{later} were resolved after this look and are not read yet"));
        }
        let kinds = plan.map_or(rows.len(), |plan| plan.features().into());
        let without = kinds.saturating_sub(rows.len());
        if without > 0 {
            parts.push(format!("{without} kinds of patient have no estimate yet"));
        }
        let windows: u32 =
            rows.iter().filter_map(|row| row.basis).map(|basis| u32::from(basis.windows)).sum();
        let noise = plan.map(|plan| {
            let cells = if plan.scale() > 1 { 6.0 } else { 4.0 };
            (cells * f64::from(windows) * draw_variance(plan)).sqrt()
        });
        let missing = f64::from(read) - f64::from(self.end.counted);
        if noise.is_some_and(|noise| missing > FAR * noise) {
            parts.push(format!(
                "about {missing:.0} have no outcome here: they were lost, waited at the close, or \
                 stand in windows too small to be read"
            ));
        }
        parts.push(noise.map_or_else(
            || "the count carries noise".to_owned(),
            |noise| {
                format!("the count carries noise with a standard deviation of {noise:.0} that protects each patient")
            },
        ));
        parts.join("; ")
    }

    /// Enrolled, resolved and counted, in a sentence.
    pub(super) fn counts(&self) -> String {
        let Ending { assigned, resolved, counted, stage, .. } = self.end;
        let waiting = match (stage, self.waiting) {
            (Stage::Interim, waiting @ 1..) => format!(" ({waiting} wait)"),
            _ => String::new(),
        };
        format!(
            "Patients enrolled: {assigned}{waiting}, resolved: {resolved}. Outcomes counted: {counted} (noisy)."
        )
    }
}

/// The committee's open part: progress without effects, from public facts alone.
#[must_use]
pub fn without_effects(title: &str, status: &Status, losses: Option<&str>) -> String {
    let Status { assigned, resolved, patients, looks, .. } = status;
    let waiting = status.waiting();
    let stage = if status.phase == Phase::Closed { Stage::Final } else { Stage::Interim };
    let mut text = format!(
        "{title}\n\n{} without effects, {}\n",
        stage.name().to_uppercase(),
        moment(Timestamp::now())
    );
    let _ = writeln!(
        text,
        "Patients enrolled: {assigned} of {patients}, resolved: {resolved}, waiting: {waiting}."
    );
    let next = match status.next_look {
        NextLook::After(count) => format!("; the next after {count} resolved patients"),
        NextLook::AtClose => "; the next at the close".to_owned(),
        NextLook::None => String::new(),
    };
    let _ = writeln!(text, "Looks done: {looks}{next}.");
    let losses = losses.unwrap_or("Losses by reason: name the log with --log.\n");
    let _ = write!(text, "\n{losses}\nTrial {}.\n", status.name.id);
    text
}
