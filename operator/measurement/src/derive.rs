//! Metrics that follow from a trial record.
