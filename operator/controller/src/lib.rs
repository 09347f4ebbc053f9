//! The operator: observe, plan, execute, report.
