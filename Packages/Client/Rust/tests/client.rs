//! Tests of the Rust client in its own process. The drivers of Tests/Clients see a program from outside only.

use headgate::{data, Client, Error, Event, Options, State, Value};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::io::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(50);

/// A daemon whose messages the test writes.
struct FakeDaemon {
    folder: PathBuf,
}

impl FakeDaemon {
    fn new() -> FakeDaemon {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("headgate-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        FakeDaemon { folder }
    }

    fn listen(&self) -> UnixListener {
        UnixListener::bind(self.folder.join("d.sock")).unwrap()
    }

    fn options(&self) -> Options {
        Options {
            socket_path: Some(self.folder.join("d.sock")),
            backoff_base: Duration::from_millis(10),
            backoff_cap: Duration::from_millis(100),
            log: Some(Box::new(|_| {})),
            ..Options::default()
        }
    }

    fn client(&self) -> Client {
        Client::with("test", "1", self.options())
    }
}

impl Drop for FakeDaemon {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A client's connection to the fake daemon, read and written in messages.
struct Peer {
    stream: UnixStream,
    reader: BufReader<UnixStream>,
}

impl Peer {
    fn greet(listener: &UnixListener) -> Peer {
        let stream = listener.accept().unwrap().0;
        let mut peer = Peer { reader: BufReader::new(stream.try_clone().unwrap()), stream };
        let hello = peer.request("hello");
        peer.answer(&hello, data! { "server": data! { "name": "fake" } });
        peer
    }

    fn request(&mut self, method: &str) -> Value {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        let message = Value::parse(&line).unwrap();
        assert_eq!(message.get("method").and_then(Value::as_str), Some(method));
        message
    }

    fn answer(&mut self, request: &Value, result: Value) {
        let id = request.get("id").unwrap().clone();
        writeln!(self.stream, "{}", data! { "jsonrpc": "2.0", "id": id, "result": result }).unwrap();
    }

    /// Takes an event, acknowledges it, and returns its params.
    fn event(&mut self) -> Value {
        let request = self.request("track");
        let params = request.get("params").unwrap().clone();
        self.answer(&request, data! { "id": params.get("id").unwrap().clone(), "seq": 1 });
        params
    }
}

fn reason<T>(result: Result<T, Error>) -> Option<String> {
    result.err().and_then(|error| error.reason)
}

#[test]
fn cancelled_calls_are_not_written() {
    let daemon = FakeDaemon::new();
    let client = daemon.client();
    let reason = reason(client.within(SHORT).track(Event::new("late"))); // the timeout may pass before the first attempt
    assert!(["cannot_connect", "timed_out"].contains(&reason.unwrap().as_str()));
    assert_eq!(client.unanswered(), 0);
    let listener = daemon.listen();
    let next = client.try_track(Event::new("next")).unwrap();
    let mut peer = Peer::greet(&listener);
    assert_eq!(peer.event().get("event").unwrap().as_str(), Some("next"));
    assert_eq!(next.receipt().unwrap().seq, Some(1));
}

#[test]
fn memory_is_bounded_while_the_daemon_is_away() {
    let daemon = FakeDaemon::new();
    let client = Client::with("test", "1", Options { max_unanswered: 100, close_timeout: Duration::ZERO, ..daemon.options() });
    let refused = (0..1_000).filter(|_| reason(client.try_track(Event::new("x"))).as_deref() == Some("buffer_full")).count();
    assert_eq!((refused, client.unanswered()), (900, 100));
}

#[test]
fn close_says_how_many_events_are_left() {
    let daemon = FakeDaemon::new();
    let listener = daemon.listen();
    let said = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&said);
    let options = Options { log: Some(Box::new(move |text| log.lock().unwrap().push(text.to_string()))), ..daemon.options() };
    let client = Client::with("test", "1", options);
    let pending: Vec<_> = (0..3).map(|_| client.try_track(Event::new("x")).unwrap()).collect();
    let _peer = Peer::greet(&listener);
    assert_eq!(client.close(Some(SHORT)), 3);
    assert_eq!(*said.lock().unwrap(), ["headgate: 3 events were not acknowledged when the client was closed"]);
    assert_eq!(reason(pending[0].receipt()).as_deref(), Some("closed"));
    assert_eq!(reason(client.track(Event::new("x"))).as_deref(), Some("closed"));
}

#[test]
fn a_dropped_client_waits_for_its_events() {
    let daemon = FakeDaemon::new();
    let listener = daemon.listen();
    let client = daemon.client();
    let pending = client.try_track(Event::new("x")).unwrap();
    let dropped = std::thread::spawn(move || drop(client));
    Peer::greet(&listener).event();
    dropped.join().unwrap();
    assert_eq!(pending.receipt().unwrap().seq, Some(1));
}

#[test]
fn a_hook_may_call_the_client() {
    let daemon = FakeDaemon::new();
    let listener = daemon.listen();
    let holder: Arc<Mutex<Option<Arc<Client>>>> = Arc::default();
    let (sender, receiver) = mpsc::channel();
    let (held, sender) = (Arc::clone(&holder), Mutex::new(sender));
    let on_state = move |state, _: Option<&Error>| {
        let client = held.lock().unwrap().clone();
        if let (State::Connected, Some(client)) = (state, client) {
            let status = client.status().unwrap();
            sender.lock().unwrap().send(status.get("ready").unwrap().clone()).unwrap();
        }
    };
    let client = Arc::new(Client::with("test", "1", Options { on_state: Some(Box::new(on_state)), ..daemon.options() }));
    *holder.lock().unwrap() = Some(Arc::clone(&client));
    client.try_track(Event::new("x")).unwrap();
    let mut peer = Peer::greet(&listener);
    peer.event();
    let status = peer.request("status");
    peer.answer(&status, data! { "ready": true });
    assert_eq!(receiver.recv().unwrap(), Value::Bool(true));
    holder.lock().unwrap().take();
}

#[test]
fn an_outcome_is_given_to_the_function() {
    let daemon = FakeDaemon::new();
    let listener = daemon.listen();
    let client = daemon.client();
    let (sender, receiver) = mpsc::channel();
    client.try_track_then(Event::new("x"), move |outcome| sender.send(outcome.is_ok()).unwrap()).unwrap();
    Peer::greet(&listener).event();
    assert!(receiver.recv().unwrap());
}

#[test]
fn a_function_that_panics_ends_nothing() {
    let daemon = FakeDaemon::new();
    let listener = daemon.listen();
    let client = daemon.client();
    client.try_track_then(Event::new("x"), |_| panic!("as was asked")).unwrap();
    let mut peer = Peer::greet(&listener);
    peer.event();
    let next = client.try_track(Event::new("next")).unwrap();
    peer.event();
    assert_eq!(next.receipt().unwrap().seq, Some(1));
}

#[test]
fn waits_of_any_length_end_nothing() {
    let daemon = FakeDaemon::new();
    let long = Some(Duration::MAX);
    let options = Options {
        connect_timeout: Some(SHORT),
        reconnect_timeout: long,
        greeting_timeout: Duration::MAX,
        backoff_base: Duration::MAX,
        backoff_cap: Duration::MAX,
        ..daemon.options()
    };
    let client = Client::with("test", "1", options);
    assert_eq!(reason(client.within(Duration::MAX).track(Event::new("x"))).as_deref(), Some("cannot_connect"));
    let listener = daemon.listen();
    let next = client.try_track(Event::new("next")).unwrap();
    Peer::greet(&listener).event();
    assert_eq!(next.receipt().unwrap().seq, Some(1));
    client.close(long);
}

#[test]
fn a_full_backlog_does_not_hold_up_a_call() {
    extern "C" {
        fn listen(descriptor: i32, backlog: i32) -> i32;
    }
    let daemon = FakeDaemon::new();
    let listener = daemon.listen();
    assert_eq!(unsafe { listen(listener.as_raw_fd(), 0) }, 0);
    let waiting = UnixStream::connect(daemon.folder.join("d.sock")).unwrap();
    let client = Client::with("test", "1", Options { connect_timeout: Some(SHORT), ..daemon.options() });
    let error = client.within(Duration::from_secs(5)).track(Event::new("x")).unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("cannot_connect"));
    assert!(error.message.ends_with("the daemon is too busy to accept the connection"), "{}", error.message);
    listener.accept().unwrap();
    drop(waiting);
    let next = client.try_track(Event::new("next")).unwrap();
    Peer::greet(&listener).event();
    assert_eq!(next.receipt().unwrap().seq, Some(1));
}

/// Set for a process whose standard error is a pipe without a reader.
const IS_UNREAD: &str = "HEADGATE_TEST_STANDARD_ERROR_IS_UNREAD";

#[test]
fn a_warning_without_a_reader_ends_nothing() {
    if std::env::var_os(IS_UNREAD).is_none() {
        let tests = ["a_warning_without_a_reader_ends_nothing", "a_function_that_panics_ends_nothing"];
        let unread = OwnedFd::from(UnixStream::pair().unwrap().0);
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args(tests).args(["--exact", "--nocapture"]).env(IS_UNREAD, "").stderr(unread);
        let output = program.output().unwrap();
        return assert!(output.status.success(), "{output:?}");
    }
    let daemon = FakeDaemon::new();
    let (sender, receiver) = mpsc::channel();
    let sender = Mutex::new(sender);
    let on_state = move |state, _: Option<&Error>| {
        sender.lock().unwrap().send(state).unwrap();
        panic!("as was asked");
    };
    let options = Options { log: None, on_state: Some(Box::new(on_state)), close_timeout: SHORT, ..daemon.options() };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let client = Client::with("test", "1", options);
        client.try_track(Event::new("x")).unwrap();
        assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(State::Disconnected));
        panic!("as was asked");
    }));
    assert!(outcome.is_err());
    assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(State::Closed));
}

#[test]
fn values_are_json() {
    let value = data! {
        "text": "\"\\\u{1}😀", "list": vec![1, 2], "none": None::<i32>, "odd": f64::NAN, "real": 2.0, "big": u128::MAX,
    };
    let text = format!("{{\"text\":\"\\\"\\\\\\u0001😀\",\"list\":[1,2],\"none\":null,\"odd\":null,\"real\":2.0,\"big\":{}}}", u128::MAX);
    assert_eq!(value.to_string(), text);
    assert_eq!(Value::parse(&text).unwrap().to_string(), text);
    let halves = Value::parse(r#"["\ud83d\ude00","\ud800","\ud800\u0041","\udc00x"]"#).unwrap();
    assert_eq!(halves, Value::from(vec!["😀", "\u{fffd}", "\u{fffd}A", "\u{fffd}x"]));
    for text in ["01", "1.", "-", "{\"a\"}", "[1,]", "\"\t\"", "nul", "\"\\x\"", "\"\\u12g4\"", "", "1 2", &"[".repeat(20_000)] {
        assert_eq!(Value::parse(text), None, "{text}");
    }
}
