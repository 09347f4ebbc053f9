//! The endpoints that need Postgres.

use serde_json::json;

use crate::postgres::{PASSWORD, Postgres};
use crate::target::{Starting, target};

fn target_of(postgres: &Postgres) -> Starting {
    let port = postgres.port.to_string();
    target().variables(&[
        ("PGHOST", "localhost"),
        ("PGPORT", &port),
        ("PGUSER", "bench"),
        ("PGPASSWORD", PASSWORD),
        ("PGDATABASE", "postgres"),
    ])
}

#[test]
fn without_a_database_rows_are_unavailable_and_the_rest_is_ready() {
    let target = target().start();
    let mut client = target.client();
    assert_eq!(client.get("/health").status, 200);
    assert_eq!(client.get("/rows/1").status, 503);
    assert_eq!(client.post("/rows/1", "").status, 503);
    assert_eq!(client.get("/plaintext").status, 200);
}

#[test]
fn an_unreachable_database_keeps_it_from_being_ready() {
    let target = target().variables(&[("DATABASE_URL", "postgres://u@127.0.0.1:1/d")]).start();
    let mut client = target.client();
    assert_eq!(client.get("/health").status, 503);
    assert_eq!(client.get("/plaintext").status, 200);
    assert_eq!(target.truth()["ready"], json!(null));
}

#[test]
fn rows_are_read_and_written() {
    let Some(mut postgres) = Postgres::start() else {
        return;
    };
    let target = target_of(&postgres).flags(&["--workers", "2", "--postgres-connections", "3"]).start();
    target.wait_until_ready();
    let mut client = target.client();

    let row = client.get("/rows/7");
    assert_eq!(row.status, 200);
    assert_eq!(row.json(), json!({ "id": 7, "title": "Title 7", "body": "b".repeat(100) }));
    assert_eq!(client.get("/row?id=7"), row);
    for (path, status) in [("/rows/101", 404), ("/rows/x", 400), ("/rows/", 400), ("/row", 400), ("/rows/1e3", 400)] {
        assert_eq!(client.get(path).status, status, "{path}");
    }

    let title = "It's \"new\" – \u{1F980}";
    let updated = client.post("/rows/7", &json!({ "title": title }).to_string());
    assert_eq!(updated.json(), json!({ "id": 7, "title": title, "body": "b".repeat(100) }));
    assert_eq!(client.get("/rows/7").json()["title"], title);
    assert_eq!(client.post("/rows/8", "").json()["title"], "Title 8");
    assert_eq!(client.post("/rows/101", "").status, 404);
    assert_eq!(client.post("/rows/7", "[").status, 400);

    // Pipelined and from many connections at once, more than there are sessions.
    let mut clients: Vec<_> = (0..20).map(|_| target.client()).collect();
    for client in &mut clients {
        client.send("GET /rows/1 HTTP/1.1\r\n\r\nGET /plaintext HTTP/1.1\r\n\r\nGET /rows/2 HTTP/1.1\r\n\r\n");
    }
    for client in &mut clients {
        assert_eq!(client.receive().json()["id"], 1);
        assert_eq!(client.receive().text(), "Hello, World!");
        assert_eq!(client.receive().json()["id"], 2);
    }

    // A large row crosses many packets both ways.
    let large = json!({ "body": "x".repeat(900_000) }).to_string();
    assert_eq!(client.post("/rows/9", &large).json()["body"].as_str().unwrap().len(), 900_000);

    // What the database refuses is an error of its own, and the session lives on.
    let zero = client.post("/rows/7", r#"{"title": "a\u0000b"}"#);
    assert_eq!(zero.status, 500, "{}", zero.text());
    assert_eq!(client.get("/rows/7").status, 200);

    // It survives a restart of the database.
    postgres.stop();
    assert!([500, 503].contains(&client.get("/rows/1").status));
    postgres.resume();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while client.get("/rows/1").status != 200 {
        assert!(std::time::Instant::now() < deadline, "no row 20 s after the restart");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_url_and_a_socket_lead_to_the_database_too() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let port = postgres.port.to_string();
    let url = format!("postgres://bench:p%40ss%3Aword%2F1@127.0.0.1:{port}/postgres");
    let by_url = target().variables(&[("DATABASE_URL", &url)]).start();
    let directory = postgres.socket_directory().to_str().unwrap().to_owned();
    let by_socket = target_of(&postgres).variables(&[("PGHOST", &directory)]).start();
    for target in [by_url, by_socket] {
        target.wait_until_ready();
        assert_eq!(target.client().get("/rows/3").json()["title"], "Title 3");
        let each_ready = target.truth();
        let at = |name: &str| each_ready[name]["monotonic_ns"].as_u64();
        assert!(at("ready") > at("listening"));
    }
}

#[test]
fn the_last_answer_may_be_a_row() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let mut target = target_of(&postgres).flags(&["--exit-after", "2", "--error-share", "0%"]).start();
    target.wait_until_ready();
    let mut client = target.client();
    assert_eq!(client.get("/rows/1").status, 200);
    assert_eq!(client.get("/rows/2").status, 200);
    assert!(client.is_closed());
    assert_eq!(target.wait().code(), Some(3));
}
