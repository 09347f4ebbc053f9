//! An e-value for a mean of zero, valid whenever one looks.
//!
//! Right-Haar t e-value: Pérez-Ortiz, Lardy, de Heide & Grünwald, "E-statistics, group invariance
//! and anytime-valid testing", Ann. Stat. 52 (2024).

use crate::one_sample_t::OneSampleT;

/// ln E against an effect of `tau` standard deviations; reject at α when it reaches ln (1/α).
/// Of a constant sample away from zero it is as large as n values can make it.
pub fn log_e(sample: &OneSampleT, tau: f64) -> f64 {
    let n = sample.n as f64;
    let df = n - 1.0;
    let spread = 1.0 + n * tau * tau;
    let t = sample.t(0.0).abs().min(1e150);
    let evidence = (t * t / (df * spread)).ln_1p() - (t * t / df).ln_1p();
    -0.5 * spread.ln() - n / 2.0 * evidence
}
