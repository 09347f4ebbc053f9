//! One named request of the mix, ready to be written to a socket.

use gaugeblock_measurement::plan::{Parameter, RequestPlan};

use crate::{
    check::{Expectation, ExpectationError},
    random::Random,
    template::{Place, Source, Template, TemplateError, push_integer},
};

/// A request as it is sent again and again.
#[derive(Clone, Debug)]
pub struct Request {
    /// Name for the results.
    pub name: String,
    /// Share in the mix, relative to the others.
    pub weight: u32,
    /// What a correct answer is.
    pub expectation: Expectation,
    /// Its answer has no body, whatever its head says.
    pub is_head: bool,
    /// It asks for the connection to be closed after the answer.
    pub closes: bool,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    /// Always the same bytes.
    Constant(Vec<u8>),
    /// Bytes that depend on parameters.
    Templated(Box<Templated>),
}

#[derive(Clone, Debug)]
struct Templated {
    sources: Vec<Source>,
    method: Vec<u8>,
    path: Template,
    /// From behind the path to the value of `Content-Length`, which comes last.
    headers: Vec<u8>,
    body: Option<Template>,
}

/// A request that cannot be sent as it is written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Not a token (RFC 9110, §5.6.2).
    #[error("the method {0:?} is not an HTTP method")]
    Method(String),
    /// Not an absolute path.
    #[error("the path {0:?} does not begin with \"/\"")]
    Path(String),
    /// Could split the request in two.
    #[error("the header {0:?} holds a line break or has no name")]
    Header(String),
    /// Computed from the body.
    #[error("the header {0:?} is set by the load generator")]
    OwnHeader(String),
    /// Never chosen.
    #[error("its weight is 0")]
    Weight,
    /// No value.
    #[error("the parameter {0:?} has no values")]
    NoValues(String),
    /// In the path.
    #[error("failed to read the path")]
    PathTemplate(#[source] TemplateError),
    /// In the body.
    #[error("failed to read the body")]
    BodyTemplate(#[source] TemplateError),
    /// No answer could be right.
    #[error("failed to read the expectation")]
    Expectation(#[from] ExpectationError),
}

impl Request {
    /// Prepares a request; `host` is the value of the `Host` header unless the plan has its own.
    pub fn new(plan: &RequestPlan, host: &str) -> Result<Self, RequestError> {
        if plan.weight == 0 {
            return Err(RequestError::Weight);
        }
        let method = method(&plan.method)?;
        if !plan.path.starts_with('/') {
            return Err(RequestError::Path(plan.path.clone()));
        }
        for (name, parameter) in &plan.parameters {
            let empty = match parameter {
                Parameter::Range { from, to } => from > to,
                Parameter::OneOf(values) => values.is_empty(),
            };
            if empty {
                return Err(RequestError::NoValues(name.clone()));
            }
        }
        let names: Vec<&str> = plan.parameters.keys().map(String::as_str).collect();
        let path = Template::new(&plan.path, Place::Path, &names).map_err(RequestError::PathTemplate)?;
        let body = plan
            .body
            .as_ref()
            .map(|body| Template::new(body, Place::Body, &names))
            .transpose()
            .map_err(RequestError::BodyTemplate)?;
        let (headers, closes) = headers(plan, host, method, body.is_some())?;
        let is_constant = path.is_constant() && body.as_ref().is_none_or(Template::is_constant);
        let templated = Templated {
            sources: Source::all(&plan.parameters),
            method: method.as_bytes().to_vec(),
            path,
            headers,
            body,
        };
        Ok(Self {
            name: plan.name.clone(),
            weight: plan.weight,
            expectation: Expectation::new(&plan.expect)?,
            is_head: method == "HEAD",
            closes,
            content: if is_constant {
                let mut bytes = Vec::new();
                templated.render(&vec![0; templated.sources.len()], &mut Vec::new(), &mut bytes);
                Content::Constant(bytes)
            } else {
                Content::Templated(Box::new(templated))
            },
        })
    }

    /// The bytes to send. Parameters are drawn from `random`, all of them, in the order of their
    /// names, whether they are used or not.
    pub fn bytes<'a>(&'a self, random: &mut Random, scratch: &'a mut Scratch) -> &'a [u8] {
        match &self.content {
            Content::Constant(bytes) => bytes,
            Content::Templated(templated) => {
                scratch.values.clear();
                scratch.values.extend(templated.sources.iter().map(|source| source.draw(random)));
                scratch.out.clear();
                templated.render(&scratch.values, &mut scratch.body, &mut scratch.out);
                &scratch.out
            }
        }
    }
}

/// Room to render requests in, kept from one to the next.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    values: Vec<u64>,
    body: Vec<u8>,
    out: Vec<u8>,
}

impl Templated {
    fn render(&self, values: &[u64], body: &mut Vec<u8>, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.method);
        out.push(b' ');
        self.path.render(Place::Path, &self.sources, values, out);
        out.extend_from_slice(&self.headers);
        if let Some(template) = &self.body {
            body.clear();
            template.render(Place::Body, &self.sources, values, body);
            push_integer(out, body.len() as i64);
            out.extend_from_slice(b"\r\n\r\n");
            out.extend_from_slice(body);
        }
    }
}

fn method(text: &str) -> Result<&str, RequestError> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    match text {
        "" => Ok("GET"),
        _ if text.bytes().all(is_token) => Ok(text),
        _ => Err(RequestError::Method(text.to_owned())),
    }
}

/// From behind the path to the end of the head, or to the value of `Content-Length`; and whether
/// the request asks for the connection to be closed.
fn headers(plan: &RequestPlan, host: &str, method: &str, has_body: bool) -> Result<(Vec<u8>, bool), RequestError> {
    let mut text = String::from(" HTTP/1.1\r\n");
    let mut closes = false;
    let has_host = plan.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host"));
    let own_host = ("Host".to_owned(), host.to_owned());
    let own = (!has_host).then_some(&own_host);
    for (name, value) in own.into_iter().chain(&plan.headers) {
        let breaks = |text: &str| text.contains(['\r', '\n', '\0']);
        if name.trim().is_empty() || name.contains(':') || breaks(name) || breaks(value) {
            return Err(RequestError::Header(name.clone()));
        }
        if ["content-length", "transfer-encoding"].iter().any(|known| name.eq_ignore_ascii_case(known)) {
            return Err(RequestError::OwnHeader(name.clone()));
        }
        if name.eq_ignore_ascii_case("connection") {
            closes |= value.split(',').any(|option| option.trim().eq_ignore_ascii_case("close"));
        }
        text.push_str(name);
        text.push_str(": ");
        text.push_str(value);
        text.push_str("\r\n");
    }
    if has_body {
        text.push_str("Content-Length: ");
    } else if matches!(method, "POST" | "PUT" | "PATCH") {
        // RFC 9110, §8.6: such a method has a length even without a body.
        text.push_str("Content-Length: 0\r\n\r\n");
    } else {
        text.push_str("\r\n");
    }
    Ok((text.into_bytes(), closes))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::Stream;

    fn get(path: &str) -> RequestPlan {
        RequestPlan { name: "a".into(), weight: 1, method: "GET".into(), path: path.into(), ..RequestPlan::default() }
    }

    fn written(plan: &RequestPlan) -> String {
        let request = Request::new(plan, "shop.test:80").unwrap();
        let mut random = Random::new(1, 0, 0, Stream::Mix);
        let mut scratch = Scratch::default();
        String::from_utf8(request.bytes(&mut random, &mut scratch).to_vec()).unwrap()
    }

    #[test]
    fn a_plain_request_is_short() {
        assert_eq!(written(&get("/a?b=c")), "GET /a?b=c HTTP/1.1\r\nHost: shop.test:80\r\n\r\n");
    }

    #[test]
    fn headers_and_body_are_sent_as_given_with_the_right_length() {
        let plan = RequestPlan {
            method: "POST".into(),
            headers: vec![("host".into(), "own".into()), ("X-A".into(), "b: c".into())],
            body: Some("{\"id\": {{id}}}".into()),
            parameters: BTreeMap::from([("id".into(), Parameter::Range { from: 12345, to: 12345 })]),
            ..get("/{{id}}")
        };
        assert_eq!(
            written(&plan),
            "POST /12345 HTTP/1.1\r\nhost: own\r\nX-A: b: c\r\nContent-Length: 13\r\n\r\n{\"id\": 12345}"
        );
        let empty = RequestPlan { method: "PUT".into(), ..get("/") };
        assert_eq!(written(&empty), "PUT / HTTP/1.1\r\nHost: shop.test:80\r\nContent-Length: 0\r\n\r\n");
    }

    #[test]
    fn what_could_not_be_sent_is_refused() {
        let refused = |plan: RequestPlan| Request::new(&plan, "h").unwrap_err();
        assert_eq!(refused(get("a")), RequestError::Path("a".into()));
        assert_eq!(refused(RequestPlan { method: "G ET".into(), ..get("/") }), RequestError::Method("G ET".into()));
        assert_eq!(
            refused(RequestPlan { headers: vec![("A".into(), "b\r\nC: d".into())], ..get("/") }),
            RequestError::Header("A".into())
        );
        assert_eq!(
            refused(RequestPlan { headers: vec![("Content-Length".into(), "3".into())], ..get("/") }),
            RequestError::OwnHeader("Content-Length".into())
        );
        assert_eq!(refused(RequestPlan { weight: 0, ..get("/") }), RequestError::Weight);
        assert_eq!(refused(get("/{{x}}")), RequestError::PathTemplate(TemplateError::Unknown("x".into())));
        let empty = BTreeMap::from([("x".into(), Parameter::OneOf(vec![]))]);
        assert_eq!(refused(RequestPlan { parameters: empty, ..get("/") }), RequestError::NoValues("x".into()));
    }
}
