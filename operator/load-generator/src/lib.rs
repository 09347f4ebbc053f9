//! The load generator: open and closed HTTP load with true latencies.
