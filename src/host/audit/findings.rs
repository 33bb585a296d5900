//! What the audit finds about the published algorithm, in words for whoever is about to use it.

/// Said when a device is provisioned with `dp-conse`. The figures are those of `equipoise audit
/// --design dp-conse`.
pub const DP_CONSE: &str = "\
Note: dp-conse is the published algorithm, and its published privacy, (epsilon, 1/n), does not survive an exact audit.
One patient can move the lengths of the measuring phase in every feature at once: with 10 features, epsilon 1 and
n = 10000 the loss is 5.0, and a delta of 0.33 is left at epsilon 1 where 0.0001 is claimed. A patient of another
feature is told apart through the noisy means with a loss of 2 epsilon (delta 0.24), and at epsilon 0.1 the end of one
batch alone leaves a delta of 0.014. The design `interim` holds its epsilon. See docs/privacy.md.";
