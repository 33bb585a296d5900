//! A plan as lines of a file.

use equipoise::plan::Plan;

/// The keys of a plan, but for its design, as lines of a file.
#[must_use]
pub fn keys(plan: &Plan) -> String {
    format!(
        "features = {}\npatients = {}\nscale = {}\nalpha = \"{}\"\nepsilon = \"{}\"\n\
         beta = \"{}\"\nreports = {}\n",
        plan.features(),
        plan.patients(),
        plan.scale(),
        plan.alpha(),
        plan.epsilon(),
        plan.beta(),
        plan.reports(),
    )
}
