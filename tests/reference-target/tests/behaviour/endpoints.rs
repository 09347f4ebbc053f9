//! Endpoints and HTTP.

use serde_json::json;

use crate::target::target;

#[test]
fn plaintext_and_json_answer() {
    let target = target().start();
    let mut client = target.client();
    let plain = client.get("/plaintext");
    assert_eq!((plain.status, plain.text()), (200, "Hello, World!"));
    assert!(plain.head.contains("Content-Type: text/plain"), "{}", plain.head);
    let document = client.get("/json");
    assert_eq!((document.status, &document.json()["message"]), (200, &json!("Hello, World!")));
    assert!(document.head.contains("Content-Type: application/json"), "{}", document.head);
}

#[test]
fn json_in_is_parsed_and_answered_however_it_is_framed() {
    let target = target().start();
    let mut client = target.client();
    let by_length = client.post("/json", r#"{"a": [1, 2], "b": "abc"}"#);
    assert_eq!(by_length.status, 200);
    assert_eq!(by_length.json()["summary"], json!({ "scalars": 3, "sum": 3, "characters": 3 }));
    client.send("POST /json HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send("a\r\n{\"a\": [1, \r\n");
    client.send("f\r\n2], \"b\": \"abc\"}\r\n0\r\n\r\n");
    assert_eq!(client.receive(), by_length);
    assert_eq!(client.post("/json", "{").status, 400);
    let large = format!("[{}1]", "1,".repeat(200_000));
    assert_eq!(client.post("/json", &large).json()["summary"]["sum"], 200_001);
}

#[test]
fn what_does_not_exist_is_404_and_a_wrong_method_405() {
    let target = target().start();
    let mut client = target.client();
    assert_eq!(client.get("/nothing").status, 404);
    let refused = client.post("/plaintext", "");
    assert_eq!(refused.status, 405);
    assert!(refused.head.contains("\r\nAllow: GET, HEAD"), "{}", refused.head);
    assert_eq!(client.get("/plaintext").status, 200, "the connection stays");
}

#[test]
fn head_gives_the_head_of_get() {
    let target = target().start();
    let mut client = target.client();
    let whole = client.get("/json");
    client.send("HEAD /json HTTP/1.1\r\n\r\n");
    assert_eq!(client.receive_head().head, whole.head);
    assert_eq!(client.get("/json"), whole);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let target = target().start();
    let mut client = target.client();
    client.send(
        "GET /plaintext HTTP/1.1\r\n\r\nPOST /json HTTP/1.1\r\nContent-Length: 1\r\n\r\n7GET /row?id=1 HTTP/1.1\r\n\r\n\
         GET /nothing HTTP/1.1\r\n\r\nGET /plaintext HTTP/1.1\r\nConnection: close\r\n\r\n",
    );
    let statuses: Vec<_> = (0..5).map(|_| client.receive().status).collect();
    assert_eq!(statuses, [200, 200, 503, 404, 200]);
    assert!(client.is_closed());
}

#[test]
fn connections_close_when_asked() {
    let target = target().start();
    for request in ["GET /plaintext HTTP/1.1\r\nConnection: close\r\n\r\n", "GET /plaintext HTTP/1.0\r\n\r\n"] {
        let mut client = target.client();
        client.send(request);
        assert!(client.receive().head.ends_with("Connection: close"));
        assert!(client.is_closed());
    }
    let mut old = target.client();
    old.send("GET /plaintext HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert!(old.receive().head.ends_with("Connection: keep-alive"));
    assert_eq!(old.get("/plaintext").status, 200);
}

#[test]
fn what_is_no_request_is_refused_and_hung_up_on() {
    let target = target().start();
    let mut client = target.client();
    client.send("\x16\x03\x01 hello\r\n\r\n");
    assert_eq!(client.receive().status, 400);
    assert!(client.is_closed());
    assert_eq!(target.truth_of("/malformed"), 1);
}

#[test]
fn a_body_that_waits_for_100_continue_gets_it() {
    let target = target().start();
    let mut client = target.client();
    client.send("POST /json HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
    assert_eq!(client.receive_head().status, 100);
    client.send("7");
    assert_eq!(client.receive().json()["summary"]["sum"], 7);
}

#[test]
fn every_process_gives_the_same_bytes() {
    let (one, two) = (target().start(), target().flags(&["--workers", "2"]).start());
    let (mut one, mut two) = (one.client(), two.client());
    for path in ["/plaintext", "/json", "/health", "/nothing", "/row?id=x"] {
        assert_eq!(one.get(path), two.get(path), "{path}");
    }
    assert_eq!(one.post("/json", "[1, {}]"), two.post("/json", "[1, {}]"));
}

#[test]
fn truth_counts_each_endpoint() {
    let target = target().start();
    let mut client = target.client();
    client.get_many("/plaintext", 5);
    client.get_many("/json", 3);
    client.post("/json", "1");
    client.get("/rows/7");
    client.get("/health");
    client.get("/nothing");
    let truth = target.truth();
    let expected = json!({
        "plaintext": 5, "json_out": 3, "json_in": 1, "row_read": 1, "row_update": 0, "health": 1, "truth": 1, "other": 1,
    });
    assert_eq!(truth["requests"], expected);
    assert_eq!(truth["measured_requests"], 10);
    assert_eq!(truth["connections"], 2);
    assert_eq!(truth["process_id"], target.process_id());
}

#[test]
fn several_workers_share_the_connections() {
    let target = target().flags(&["--workers", "3"]).start();
    let mut clients: Vec<_> = (0..9).map(|_| target.client()).collect();
    for client in &mut clients {
        assert_eq!(client.get_many("/plaintext", 100).len(), 100);
    }
    assert_eq!(target.truth_of("/requests/plaintext"), 900);
}

#[test]
fn a_core_serves_more_than_fifty_thousand_requests_a_second() {
    let target = target().start();
    let mut clients: Vec<_> = (0..20).map(|_| target.client()).collect();
    // The least of ten rounds, as what neighbours on the machine add is never negative.
    let each = (0..10).map(|_| {
        let before = target.truth_of("/process_cpu_ns");
        for _ in 0..50 {
            for client in &mut clients {
                client.send("GET /plaintext HTTP/1.1\r\n\r\n");
            }
            for client in &mut clients {
                assert_eq!(client.receive().status, 200);
            }
        }
        (target.truth_of("/process_cpu_ns") - before) / (50 * 20)
    });
    let least = each.min().unwrap();
    println!("{least} ns of CPU time for a request");
    assert!(least < 20_000, "{least} ns of CPU time for a request");
}
