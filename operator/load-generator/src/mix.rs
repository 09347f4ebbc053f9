//! The weighted mix of requests.

use crate::{random::Random, request::Request};

/// Chooses requests by their weights.
#[derive(Clone, Debug)]
pub struct Mix {
    /// Sums of the weights up to and with each request.
    bounds: Vec<u64>,
    total: u64,
}

impl Mix {
    /// A mix of `requests`.
    pub fn new(requests: &[Request]) -> Self {
        let bounds: Vec<u64> = requests
            .iter()
            .scan(0_u64, |sum, request| {
                *sum += u64::from(request.weight);
                Some(*sum)
            })
            .collect();
        Self { total: bounds.last().copied().unwrap_or(0), bounds }
    }

    /// Index of the next request. A mix of one draws nothing.
    pub fn choose(&self, random: &mut Random) -> usize {
        if self.bounds.len() < 2 {
            return 0;
        }
        let ticket = random.below(self.total);
        self.bounds.partition_point(|bound| *bound <= ticket)
    }
}

#[cfg(test)]
mod tests {
    use gaugeblock_measurement::plan::RequestPlan;

    use super::*;
    use crate::random::Stream;

    #[test]
    fn requests_come_in_proportion_to_their_weights() {
        let requests: Vec<Request> = [1, 3, 6]
            .into_iter()
            .map(|weight| {
                let plan = RequestPlan { weight, path: "/".into(), ..RequestPlan::default() };
                Request::new(&plan, "h").unwrap()
            })
            .collect();
        let mix = Mix::new(&requests);
        let mut random = Random::new(5, 0, 0, Stream::Mix);
        let mut seen = [0_u32; 3];
        for _ in 0..100_000 {
            seen[mix.choose(&mut random)] += 1;
        }
        // Five standard deviations are below 800.
        for (count, expected) in seen.into_iter().zip([10_000_i64, 30_000, 60_000]) {
            assert!((i64::from(count) - expected).abs() < 800, "{seen:?}");
        }
    }
}
