//! As much of HTTP/1.1 as a load generator speaks: requests in, answers out, no I/O.

pub mod answer;
mod chunked;
pub mod request;
