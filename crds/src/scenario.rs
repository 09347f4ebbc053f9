//! Scenarios: what is asked of every arm.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::GoDuration;

/// One scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = ("has(self.http)", "name the kind of the scenario: http"))]
pub struct Scenario {
    /// Name, unique in the run.
    #[schemars(length(min = 1, max = 40), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// Whether it changes data. The scenario after a writing one gets fresh dependencies and a
    /// fresh target.
    #[serde(default)]
    pub writes: bool,
    /// An HTTP workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Http>,
}

/// An HTTP workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = ("self.requests.all(r, self.requests.exists_one(q, q.name == r.name))", "request names must be unique"))]
pub struct Http {
    /// The mix of requests.
    #[schemars(length(min = 1, max = 32))]
    pub requests: Vec<Request>,
    /// How load is offered.
    pub load: Load,
    /// Warm-up before anything is measured.
    #[serde(default = "default_warm_up")]
    pub warm_up: GoDuration,
    /// Measured time.
    #[serde(default = "default_measure")]
    pub measure: GoDuration,
    /// Limit for one request. A request that takes longer counts as an error at this latency.
    #[serde(default = "default_time_out")]
    pub timeout: GoDuration,
}

/// How load is offered: a closed or an open workload (Schroeder et al., NSDI 2006).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = ("has(self.closed) != has(self.open)", "set exactly one of closed and open"))]
pub struct Load {
    /// A fixed number of connections, each asking again when it has its answer: tells the
    /// throughput.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Closed>,
    /// Requests at a rate that does not depend on the answers: tells latency, and CPU and memory
    /// at equal work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<Open>,
}

/// A closed workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Closed {
    /// Connections.
    #[schemars(range(min = 1, max = 10000))]
    pub connections: i32,
}

/// An open workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Open {
    /// Requests per second.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub rate: i32,
    /// Connections at most.
    #[serde(default = "default_connections")]
    #[schemars(range(min = 1, max = 10000))]
    pub connections: i32,
    /// Distribution of the gaps between requests.
    #[serde(default)]
    pub arrivals: Arrivals,
}

/// Distribution of the gaps between requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Arrivals {
    /// Equal gaps.
    #[default]
    Constant,
    /// Exponential gaps, as of many independent users.
    Poisson,
}

/// One request of the mix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Name in the results.
    #[schemars(length(min = 1, max = 40), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// Method.
    #[serde(default)]
    pub method: Method,
    /// Path with query. `{{id}}` is replaced by the parameter `id`.
    #[schemars(length(min = 1, max = 2048), regex(pattern = r"^/"))]
    pub path: String,
    /// Headers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub headers: Vec<Header>,
    /// Body. `{{id}}` is replaced by the parameter `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65536))]
    pub body: Option<String>,
    /// Share in the mix, relative to the others.
    #[serde(default = "default_weight")]
    #[schemars(range(min = 1, max = 1000))]
    pub weight: i32,
    /// Parameters drawn anew for each request, from the block's seed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16))]
    pub parameters: BTreeMap<String, Parameter>,
    /// What a correct answer is: a fast wrong answer is an error.
    #[serde(default)]
    pub expect: Expect,
}

/// HTTP methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// `GET`.
    #[default]
    Get,
    /// `HEAD`.
    Head,
    /// `POST`.
    Post,
    /// `PUT`.
    Put,
    /// `PATCH`.
    Patch,
    /// `DELETE`.
    Delete,
}

impl Method {
    /// As on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// One header.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Name.
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[-!#$%&'*+.^_`|~0-9A-Za-z]+$"))]
    pub name: String,
    /// Value.
    #[schemars(length(max = 4096), regex(pattern = r"^[^\r\n]*$"))]
    pub value: String,
}

/// Where a parameter's value comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = ("has(self.range) != has(self.oneOf)", "set exactly one of range and oneOf"))]
pub struct Parameter {
    /// A whole number, each equally likely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// One of these, each equally likely.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(max = 1024)))]
    pub one_of: Vec<String>,
}

/// A range of whole numbers, both ends included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = ("self.from <= self.to", "`from` must not be above `to`"))]
pub struct Range {
    /// Smallest.
    pub from: i64,
    /// Largest.
    pub to: i64,
}

/// What a correct answer is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Expect {
    /// Accepted status codes; none means any from 200 to 299.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(range(min = 100, max = 599)))]
    pub statuses: Vec<i32>,
    /// Exact length of the body in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_073_741_824))]
    pub length: Option<i64>,
    /// SHA-256 of the body in lower-case hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), regex(pattern = r"^[0-9a-f]{64}$"))]
    pub sha256: Option<String>,
    /// Text that the body must contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub contains: Option<String>,
}

fn default_warm_up() -> GoDuration {
    "5s".into()
}

fn default_measure() -> GoDuration {
    "30s".into()
}

fn default_time_out() -> GoDuration {
    "10s".into()
}

fn default_connections() -> i32 {
    32
}

fn default_weight() -> i32 {
    1
}
