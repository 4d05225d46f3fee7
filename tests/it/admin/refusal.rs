//! Whom the endpoint refuses, and what it refuses to read.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Operator, doubt, message, resolving};
use crate::harness::connector::Connector;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

const PATHS: [(&str, bool); 4] = [
    ("/admin/keys", false),
    ("/admin/key?principal=anonymous&key=k", false),
    ("/admin/key/resolve", true),
    ("/admin/key/forget", true),
];

/// The status of each route for a request that is right but for who sends it.
async fn statuses(operator: &Operator) -> Vec<u16> {
    let mut statuses = Vec::new();
    for (path, changes) in PATHS {
        let (status, body) = match changes {
            true => operator.post(path, json!({})).await,
            false => operator.get(path).await,
        };
        if matches!(status, 401 | 403) {
            assert_eq!((&body["jsonrpc"], &body["error"]["code"]), (&json!("2.0"), &json!(-32600)), "{body}");
        }
        statuses.push(status);
    }
    statuses
}

/// What those are who are let in.
const OPEN: [u16; 4] = [200, 404, 400, 400];

#[tokio::test(flavor = "multi_thread")]
async fn this_machine_is_let_in_and_a_web_page_a_proxy_and_another_host_are_not() {
    for admin in [false, true] {
        let connector = Connector::with(|config| {
            config.admin.listen = admin.then(|| ([127, 0, 0, 1], 0).into());
        })
        .await;
        let operator = || Operator::of(&connector);
        assert_eq!(statuses(&operator()).await, OPEN);
        // On `server.listen` this origin may send calls, and still has no business with keys.
        for (name, value) in [
            ("origin", "http://localhost:3000"),
            ("origin", "null"),
            ("x-forwarded-for", "10.0.0.7"),
            ("host", "keys.example"),
        ] {
            assert_eq!(statuses(&operator().with(name, value)).await, [403; 4], "{name}: {value}");
        }
        // Without a token of its own, whatever is shown opens and closes nothing.
        assert_eq!(statuses(&operator().with("authorization", "Bearer any")).await, OPEN);
        connector.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_token_exactly_those_who_show_it_are_let_in() {
    let directory = tempfile::tempdir().expect("room");
    let file = directory.path().join("admin.token");
    std::fs::write(&file, format!("{TOKEN}\n")).expect("the directory is ours");
    let connector = Connector::with(|config| {
        config.admin.listen = Some(([127, 0, 0, 1], 0).into());
        config.admin.token_file = file.to_str().expect("plain").into();
    })
    .await;
    let operator = || Operator::of(&connector);
    let bearing = |token: &str| operator().with("authorization", &format!("Bearer {token}"));
    assert_eq!(statuses(&bearing(TOKEN)).await, OPEN);
    assert_eq!(statuses(&bearing(TOKEN).with("host", "keys.example")).await, OPEN, "a token is enough");
    assert_eq!(statuses(&operator()).await, [401; 4], "this machine alone is not");
    assert_eq!(statuses(&bearing("0123456789abcdef0123456789abcdee")).await, [401; 4]);
    assert_eq!(statuses(&operator().with("authorization", "Basic YTpi")).await, [401; 4]);
    let (_, headers, refused) = operator().send(Method::GET, "/admin/keys", None).await;
    assert_eq!(headers["www-authenticate"], "Bearer");
    assert!(message(&refused).contains("a token is needed"), "{refused}");
    // The others need none.
    assert_eq!(operator().get("/healthz").await.0, 200);
    // A changed file holds from the next request on.
    std::fs::write(&file, format!("{TOKEN}-new")).expect("the directory is ours");
    assert_eq!(statuses(&bearing(TOKEN)).await, [401; 4]);
    assert_eq!(statuses(&bearing(&format!("{TOKEN}-new"))).await, OPEN);
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_of_their_own_takes_keys_away_from_agents() {
    let connector = Connector::with(|config| config.admin.listen = Some(([127, 0, 0, 1], 0).into())).await;
    for (path, _) in PATHS {
        assert_eq!(connector.agent().get(path).await.0, 404, "{path}");
    }
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_no_right_one_changes_nothing_and_says_what_would_be() {
    let connector = Connector::start().await;
    let operator = Operator::of(&connector);
    doubt(&connector, "k").await;
    let right = resolving("k", "executed");
    let (status, _, refused) =
        operator.send(Method::POST, "/admin/key/resolve", Some(right.to_string())).await;
    assert_eq!((status, message(&refused)), (415, "the Content-Type must be application/json"));
    for (method, path, allowed) in [
        (Method::POST, "/admin/keys", "GET"),
        (Method::DELETE, "/admin/key", "GET"),
        (Method::GET, "/admin/key/resolve", "POST"),
        (Method::PUT, "/admin/key/forget", "POST"),
    ] {
        let (status, headers, refused) = operator.send(method, path, None).await;
        assert_eq!((status, &headers["allow"]), (405, &allowed.parse().expect("plain")), "{path}: {refused}");
    }
    let changed = |name: &str, value: Value| {
        let mut body = right.clone();
        body[name] = value;
        body
    };
    for (body, part) in [
        (changed("outcom", json!("executed")), "unknown member `outcom`, the nearest is `outcome`"),
        (changed("outcome", json!("done")), "unknown outcome `done`"),
        (changed("by", json!("")), "`by` must not be empty"),
        (changed("by", json!("x".repeat(129))), "`by` must be at most 128 characters long"),
        (changed("why", Value::Null), "the member `why` is missing"),
        (changed("why", json!("x".repeat(513))), "`why` must be at most 512 characters long"),
        (changed("why", json!("a\nb")), "`why` must be on one line"),
        (changed("key", json!(7)), "`key` must be a string"),
        (json!([]), "the body must be one JSON object"),
    ] {
        let (status, refused) = operator.post("/admin/key/resolve", body).await;
        assert!(status == 400 && message(&refused).contains(part), "{part}: {refused}");
    }
    let (status, refused) =
        operator.post("/admin/key/resolve", changed("why", json!("x".repeat(20_000)))).await;
    assert!(status == 413 && message(&refused).contains("larger than 16384 bytes"), "{refused}");
    let (_, shown) = operator.get("/admin/key?principal=anonymous&key=k").await;
    assert_eq!(shown["state"], "in_doubt");
    let (status, _) = operator.post("/admin/key/resolve", right).await;
    assert_eq!(status, 200);
    connector.stop().await;
}
