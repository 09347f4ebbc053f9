//! The endpoints of the service: how a request finds one, and how knobs and counters name it.

use std::str::FromStr;

use serde::Serialize;

use crate::quantity::{Nanoseconds, QuantityError};

/// What a request asks for. The discriminant indexes the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    /// `GET /plaintext`.
    Plaintext,
    /// `GET /json`: JSON out.
    JsonOut,
    /// `POST /json`: JSON in, a derived answer out.
    JsonIn,
    /// `GET /row?id=N`, `GET /rows/N`: one row by primary key.
    RowRead,
    /// `POST /rows/N`, `POST /row?id=N`: an update.
    RowUpdate,
    /// `GET /health`.
    Health,
    /// `GET /truth`.
    Truth,
    /// Anything else.
    Other,
}

/// How many endpoints there are.
pub const ENDPOINTS: usize = 8;

impl Endpoint {
    /// All of them, in the order of their discriminants.
    pub const ALL: [Self; ENDPOINTS] = [
        Self::Plaintext,
        Self::JsonOut,
        Self::JsonIn,
        Self::RowRead,
        Self::RowUpdate,
        Self::Health,
        Self::Truth,
        Self::Other,
    ];

    /// The name under which `/truth` counts it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plaintext => "plaintext",
            Self::JsonOut => "json_out",
            Self::JsonIn => "json_in",
            Self::RowRead => "row_read",
            Self::RowUpdate => "row_update",
            Self::Health => "health",
            Self::Truth => "truth",
            Self::Other => "other",
        }
    }

    /// Whether the knobs apply: they do to what is measured, not to the probes around it.
    pub fn is_measured(self) -> bool {
        match self {
            Self::Plaintext | Self::JsonOut | Self::JsonIn | Self::RowRead | Self::RowUpdate => true,
            Self::Health | Self::Truth | Self::Other => false,
        }
    }
}

/// Where a request leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route<'a> {
    /// To an endpoint that needs nothing of the path.
    To(Endpoint),
    /// To a row, named by this text.
    Row(Endpoint, &'a str),
    /// The path exists, under the methods named.
    MethodNotAllowed(&'static str),
    /// No such path.
    NotFound,
}

/// Finds the route of a request. `HEAD` goes where `GET` goes.
pub fn route<'a>(method: &str, target: &'a str) -> Route<'a> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let get = matches!(method, "GET" | "HEAD");
    let only_get = |endpoint| {
        if get { Route::To(endpoint) } else { Route::MethodNotAllowed("GET, HEAD") }
    };
    let row = |id| match method {
        "GET" | "HEAD" => Route::Row(Endpoint::RowRead, id),
        "POST" => Route::Row(Endpoint::RowUpdate, id),
        _ => Route::MethodNotAllowed("GET, HEAD, POST"),
    };
    match path {
        "/plaintext" => only_get(Endpoint::Plaintext),
        "/health" => only_get(Endpoint::Health),
        "/truth" => only_get(Endpoint::Truth),
        "/json" if method == "POST" => Route::To(Endpoint::JsonIn),
        "/json" if get => Route::To(Endpoint::JsonOut),
        "/json" => Route::MethodNotAllowed("GET, HEAD, POST"),
        "/row" => row(query.split('&').find_map(|pair| pair.strip_prefix("id=")).unwrap_or("")),
        _ => path.strip_prefix("/rows/").map_or(Route::NotFound, row),
    }
}

/// CPU time for the requests of some endpoints, written `/json=200us` or `POST /json=200us`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndpointCpu {
    /// Whom it concerns.
    pub endpoints: Vec<Endpoint>,
    /// CPU time to burn for each request.
    pub cpu_per_request_ns: Nanoseconds,
}

/// Why an endpoint's CPU time could not be read.
#[derive(Debug, thiserror::Error)]
pub enum EndpointCpuError {
    /// There is no equals sign.
    #[error("failed to read {0:?}: expected ENDPOINT=DURATION, such as /json=200us")]
    Form(String),
    /// No measured endpoint has that name.
    #[error("failed to find endpoint {0:?}: expected /plaintext, /json, /rows, or one of them after GET or POST")]
    Endpoint(String),
    /// The duration is wrong.
    #[error(transparent)]
    Duration(#[from] QuantityError),
}

impl FromStr for EndpointCpu {
    type Err = EndpointCpuError;

    fn from_str(text: &str) -> Result<Self, EndpointCpuError> {
        let (name, duration) = text.split_once('=').ok_or_else(|| EndpointCpuError::Form(text.to_owned()))?;
        let endpoints = match name.trim() {
            "/plaintext" | "GET /plaintext" => vec![Endpoint::Plaintext],
            "/json" => vec![Endpoint::JsonOut, Endpoint::JsonIn],
            "GET /json" => vec![Endpoint::JsonOut],
            "POST /json" => vec![Endpoint::JsonIn],
            "/row" | "/rows" => vec![Endpoint::RowRead, Endpoint::RowUpdate],
            "GET /row" | "GET /rows" => vec![Endpoint::RowRead],
            "POST /row" | "POST /rows" => vec![Endpoint::RowUpdate],
            other => return Err(EndpointCpuError::Endpoint(other.to_owned())),
        };
        Ok(Self { endpoints, cpu_per_request_ns: duration.trim().parse()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stand_in_the_order_of_the_discriminants() {
        for (index, endpoint) in Endpoint::ALL.into_iter().enumerate() {
            assert_eq!(endpoint as usize, index);
        }
    }

    #[test]
    fn requests_find_their_endpoint() {
        assert_eq!(route("GET", "/plaintext"), Route::To(Endpoint::Plaintext));
        assert_eq!(route("HEAD", "/plaintext?x=1"), Route::To(Endpoint::Plaintext));
        assert_eq!(route("POST", "/json"), Route::To(Endpoint::JsonIn));
        assert_eq!(route("GET", "/row?a=b&id=7"), Route::Row(Endpoint::RowRead, "7"));
        assert_eq!(route("POST", "/rows/7"), Route::Row(Endpoint::RowUpdate, "7"));
        assert_eq!(route("DELETE", "/rows/7"), Route::MethodNotAllowed("GET, HEAD, POST"));
        assert_eq!(route("POST", "/plaintext"), Route::MethodNotAllowed("GET, HEAD"));
        assert_eq!(route("GET", "/plaintextual"), Route::NotFound);
    }

    #[test]
    fn a_path_without_a_method_names_both() {
        let cpu: EndpointCpu = "/json=200us".parse().unwrap();
        assert_eq!(cpu.endpoints, [Endpoint::JsonOut, Endpoint::JsonIn]);
        assert_eq!(cpu.cpu_per_request_ns, Nanoseconds(200_000));
        assert!("/health=1us".parse::<EndpointCpu>().is_err());
        assert!("/json".parse::<EndpointCpu>().is_err());
    }
}
