//! Pure numbers: tests, intervals and group-sequential bounds, each with its source.
//!
//! Nothing here reads a clock, draws a random number or allocates more than its input asks for.
//! Samples are slices of finite `f64`; a function that cannot say anything about its input (too
//! few values, an unattainable level) returns `None`, and constant samples are ordinary input:
//! their standard deviation is zero, and no result is `NaN`.

// Ties, zeros and constant samples are exact equalities here, and formulas keep the letters of
// the papers that they come from.
#![allow(clippy::float_cmp, clippy::many_single_char_names)]

pub mod adjustment;
pub mod chi_squared;
pub mod correlation;
pub mod e_value;
pub mod equivalence;
pub mod f_distribution;
pub mod fisher_exact;
pub mod group_sequential;
pub mod history_prior;
pub mod interval;
pub mod kolmogorov_smirnov;
pub mod median;
pub mod moments;
pub mod normal;
pub mod one_sample_t;
pub mod permutation;
pub mod polygamma;
pub mod quadrature;
pub mod quantile_ranks;
pub mod rank_sum;
pub mod root;
pub mod sign_flip;
pub mod signed_rank;
pub mod spending;
pub mod student_t;
pub mod two_sample_t;
pub mod visible_effect;

pub use interval::Interval;
