//! Noise families, after `reference/noise.py`: values with mean 0 and standard deviation 1.

use super::Dice;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    Normal,
    Lognormal,
    Bimodal,
    /// Five per cent of trials lie 4 to 12 standard deviations above.
    Outliers,
    /// Both trials of a pair share the machine's state, which also drifts over the session.
    Drift,
}

pub const FAMILIES: [Noise; 5] = [Noise::Normal, Noise::Lognormal, Noise::Bimodal, Noise::Outliers, Noise::Drift];

impl Noise {
    /// `n` pairs of (baseline, candidate), the order inside each pair drawn at random.
    pub fn pairs(self, dice: &mut Dice, n: usize) -> Vec<(f64, f64)> {
        let slope = if dice.coin() { 2.0 } else { -2.0 };
        (0..n)
            .map(|pair| {
                let machine = 0.9 * dice.normal();
                let mut trial = |slot: usize| match self {
                    Self::Drift => {
                        let time = slot as f64 / (2 * n - 1) as f64 - 0.5;
                        machine + slope * time + 0.436 * dice.normal()
                    }
                    Self::Normal | Self::Lognormal | Self::Bimodal | Self::Outliers => self.trial(dice),
                };
                let (first, second) = (trial(2 * pair), trial(2 * pair + 1));
                if dice.coin() { (first, second) } else { (second, first) }
            })
            .collect()
    }

    fn trial(self, dice: &mut Dice) -> f64 {
        match self {
            Self::Normal | Self::Drift => dice.normal(),
            Self::Lognormal => {
                let (s, mean) = (0.6_f64, 0.18_f64.exp());
                ((s * dice.normal()).exp() - mean) / (mean * ((s * s).exp() - 1.0).sqrt())
            }
            Self::Bimodal => {
                let mode = if dice.uniform() < 0.3 { 2.5 } else { 0.0 };
                (0.3 * dice.normal() + mode - 0.75) / (0.09_f64 + 6.25 * 0.21).sqrt()
            }
            Self::Outliers => {
                let far = if dice.uniform() < 0.05 { 4.0 + 8.0 * dice.uniform() } else { 0.0 };
                dice.normal() + far
            }
        }
    }
}
