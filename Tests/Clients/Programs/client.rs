//! The Rust client as a program with the verbs of Docs/Clients.md.

use headgate::{data, Client, Error, Event, ManyReceipt, Options, Receipt, State, Value};
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::time::Duration;

fn put(value: &Value) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{value}").and_then(|()| output.flush()).expect("the output is open");
}

fn refusal(error: &Error) -> Value {
    data! {
        "code": error.code, "reason": error.reason.clone(), "message": error.message.as_str(), "path": error.path.clone(),
    }
}

fn outcome(result: Result<Value, Error>) -> Value {
    match result {
        Ok(result) => data! { "result": result },
        Err(error) => data! { "error": refusal(&error) },
    }
}

fn plain(said: Receipt) -> Value {
    data! { "id": said.id, "seq": said.seq, "duplicate": said.duplicate, "unrouted": said.unrouted }
}

fn plain_many(said: ManyReceipt) -> Value {
    data! {
        "ids": said.ids, "first_seq": said.first_seq, "last_seq": said.last_seq, "duplicates": said.duplicates,
        "unrouted": said.unrouted,
    }
}

fn event(given: &Value) -> Event {
    let mut event = Event::new(given.get("event").and_then(Value::as_str).expect("an event has a name"));
    if let Value::Object(members) = given {
        for (name, value) in members.iter().filter(|(name, _)| name != "event") {
            event = event.set(name, value.clone());
        }
    }
    event
}

fn call(client: &Client, method: &str, values: Value, timeout: Option<Duration>) -> Result<Value, Error> {
    let forever = Duration::from_secs(u64::MAX);
    let calls = client.within(timeout.unwrap_or(forever));
    match method {
        "track" => calls.track(event(&values)).map(plain),
        "track_many" => {
            let events = values.get("events").and_then(Value::as_array).expect("there are events");
            calls.track_many(events.iter().map(event).collect()).map(plain_many)
        }
        "flush" => calls.flush(values),
        "status" => calls.status(),
        _ => calls.call(method, values),
    }
}

fn calls(client: &Client, timeout: Option<Duration>) {
    for line in std::io::stdin().lock().lines() {
        let asked = Value::parse(&line.expect("the input is text")).expect("the input is JSON");
        let method = asked.get("method").and_then(Value::as_str).expect("there is a method");
        let values = asked.get("arguments").cloned().unwrap_or_else(|| data! {});
        put(&outcome(call(client, method, values, timeout)));
    }
}

fn events(count: &str, name: &str, size: usize) -> Vec<Event> {
    let count: usize = count.parse().expect("a number of events");
    (0..count)
        .map(|n| Event::with(name, if size > 0 { data! { "n": n, "text": "x".repeat(size) } } else { data! { "n": n } }))
        .collect()
}

fn put_outcome(n: usize, result: Result<Value, Error>) {
    let mut line = vec![("n".to_string(), Value::from(n))];
    if let Value::Object(members) = outcome(result) {
        line.extend(members);
    }
    put(&Value::Object(line));
}

/// Tracks events with calls that never wait. Writes refusals at once, and the other outcomes later.
fn try_all(client: &Client, count: &str, name: &str, size: usize) {
    let mut taken = Vec::new();
    for (n, event) in events(count, name, size).into_iter().enumerate() {
        match client.try_track(event) {
            Ok(pending) => taken.push((n, pending)),
            Err(error) => put_outcome(n, Err(error)),
        }
    }
    put(&"tried".into());
    for (n, pending) in taken {
        put_outcome(n, pending.receipt().map(plain));
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let mut given = HashMap::new();
    while arguments.peek().map_or(false, |argument| argument.starts_with("--")) {
        let name = arguments.next().unwrap_or_default();
        given.insert(name[2..].to_string(), arguments.next().unwrap_or_default());
    }
    let rest: Vec<String> = arguments.collect();
    let milliseconds = |name: &str| given.get(name).map(|text| Duration::from_millis(text.parse().expect("a number")));
    let mut options = Options {
        socket_path: given.get("socket").map(Into::into),
        namespace: given.get("namespace").cloned(),
        reconnect_timeout: milliseconds("reconnect-timeout-ms"),
        backoff_base: Duration::from_millis(10),
        backoff_cap: Duration::from_millis(200),
        ..Options::default()
    };
    options.connect_timeout = milliseconds("connect-timeout-ms").or(options.connect_timeout);
    options.greeting_timeout = milliseconds("greeting-timeout-ms").unwrap_or(options.greeting_timeout);
    options.max_unanswered = given.get("max-unanswered").map_or(options.max_unanswered, |text| text.parse().expect("a number"));
    if given.contains_key("tell") {
        options.on_state = Some(Box::new(|state, _| {
            put(&data! { "state": match state {
                State::Connected => "connected",
                State::Disconnected => "disconnected",
                State::Closed => "closed",
            } })
        }));
        options.log = Some(Box::new(|text| put(&data! { "warning": text })));
    }
    let deadline = milliseconds("deadline-ms");
    let client = Client::with("certified", "1.0", options);
    let of = |place: usize| rest.get(place).map_or("", String::as_str);
    match of(0) {
        "calls" => calls(&client, deadline),
        "track" => {
            for (n, result) in client.track_each(events(of(1), of(2), 0)).into_iter().enumerate() {
                put_outcome(n, result.map(plain));
            }
        }
        "try" => try_all(&client, of(1), of(2), of(3).parse().unwrap_or(0)),
        "room" => {
            let first = client.track_soon(Event::new(of(1))).expect("there is room");
            let second = client.within(deadline.expect("a deadline")).track(Event::new(of(1)));
            put(&outcome(second.map(plain)));
            put(&outcome(first.receipt().map(plain)));
        }
        "end" => {
            for event in events(of(2), of(3), 0) {
                client.track_soon(event).expect("the client is open");
            }
        }
        verb => panic!("there is no verb {verb}"),
    }
}
