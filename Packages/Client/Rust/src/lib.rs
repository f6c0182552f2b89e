//! A client of Headgate, the local event-delivery daemon. It needs the standard library alone.
//!
//! ```no_run
//! use headgate::{data, Client, Event};
//!
//! let headgate = Client::new("shop", "2.1");
//! let receipt = headgate.track(Event::with("order_placed", data! { "order": 17 }).key("user-7"))?; // returns when it is stored
//! headgate.try_track(Event::new("page_viewed"))?; // never waits
//! # Ok::<(), headgate::Error>(())
//! ```
//!
//! A client connects at its first call, and again whenever the connection is lost. Every event gets an id before it is sent, and is sent
//! under this id until it is acknowledged: a restart of the daemon loses no event and stores none twice (Behaviour Q7).

mod connection;
mod error;
mod event;
mod hooks;
mod json;
mod options;

pub use error::Error;
pub use event::{new_id, text_of, Event, ManyReceipt, Receipt};
pub use json::Value;
#[doc(hidden)]
pub use options::print_warning;
pub use options::{default_socket, Log, OnState, Options, State};

use connection::{after, Call, Connection, Moment, Slot};
use std::sync::Arc;
use std::time::Duration;

/// The client's version, the same as the daemon's.
pub const VERSION: &str = "0.2.0";

// written by Tools/protocol: repeatable
const REPEATABLE: &[&str] = &[
    "ping", "rights", "rpc.discover", "flush.list", "status", "barrier.list", "dispatcher.list", "queue.peek",
    "dead_letters.list", "config.get", "metrics", "event.trace", "client.list",
];
// end of what Tools/protocol has written

/// A client of the daemon, for any number of threads. When it is dropped it waits for the acknowledgements, no longer than
/// `Options::close_timeout`. A program that ends without that (`std::process::exit`) loses what is unanswered.
pub struct Client {
    connection: Arc<Connection>,
}

/// The calls of a client with a timeout; see [`Client::within`].
pub struct Within<'a> {
    client: &'a Client,
    timeout: Option<Duration>,
}

/// An event that was tracked without waiting for its acknowledgement.
pub struct Pending {
    connection: Arc<Connection>,
    number: u64,
    slot: Arc<Slot>,
}

impl Pending {
    /// Waits until the event has an outcome, or until its client is closed.
    pub fn receipt(&self) -> Result<Receipt, Error> {
        Receipt::read(&self.connection.wait(self.number, &self.slot, None, true)?)
    }

    /// Waits for the outcome, but no longer than the timeout.
    pub fn receipt_within(&self, timeout: Duration) -> Result<Receipt, Error> {
        Receipt::read(&self.connection.wait(self.number, &self.slot, after(Some(timeout)), true)?)
    }

    /// Returns true if the event has an outcome.
    pub fn is_done(&self) -> bool {
        self.slot.take().is_some()
    }
}

impl Client {
    /// Makes a client with default options. The program's name and version together are the events' `context.client`.
    pub fn new(name: &str, version: &str) -> Client {
        Client::with(name, version, Options::default())
    }

    /// Makes a client.
    pub fn with(name: &str, version: &str, options: Options) -> Client {
        let mut client = vec![("name".to_string(), Value::from(name))];
        if !version.is_empty() {
            client.push(("version".to_string(), version.into()));
        }
        let mut params = vec![("client".to_string(), Value::Object(client)), ("protocol".to_string(), 1.into())];
        if let Some(namespace) = &options.namespace {
            params.push(("namespace".to_string(), namespace.as_str().into()));
        }
        let hello = data! { "jsonrpc": "2.0", "id": 0, "method": "hello", "params": Value::Object(params) };
        Client { connection: Connection::new(&hello, options) }
    }

    /// Returns this client's methods with a timeout for each call.
    pub fn within(&self, timeout: Duration) -> Within<'_> {
        Within { client: self, timeout: Some(timeout) }
    }

    fn patient(&self) -> Within<'_> {
        Within { client: self, timeout: None }
    }

    /// Tracks an event, and returns its receipt when the daemon has stored it.
    pub fn track(&self, event: Event) -> Result<Receipt, Error> {
        self.patient().track(event)
    }

    /// Tracks an event without waiting for its acknowledgement; waits for room only. The events of one thread keep the order of these
    /// calls.
    pub fn track_soon(&self, event: Event) -> Result<Pending, Error> {
        self.patient().track_soon(event)
    }

    /// Tracks an event without any wait: fails with `buffer_full` if there is no room.
    pub fn try_track(&self, event: Event) -> Result<Pending, Error> {
        self.within(Duration::ZERO).track_soon(event)
    }

    /// Tracks an event without ever waiting. The client calls the function once there is an outcome; it must not wait and must not call
    /// the client.
    pub fn try_track_then(
        &self, event: Event, when_done: impl FnOnce(Result<&Value, &Error>) + Send + 'static,
    ) -> Result<Pending, Error> {
        let call = Call::new("track", event.params(), true, true, Some(Box::new(when_done)));
        self.begin(call, after(Some(Duration::ZERO)))
    }

    /// Tracks events each on its own, in their order, without waiting in between. Returns the outcome of each, in the same order; one that
    /// is refused does not hinder the others.
    pub fn track_each(&self, events: impl IntoIterator<Item = Event>) -> Vec<Result<Receipt, Error>> {
        let begun: Vec<_> = events.into_iter().map(|event| self.track_soon(event)).collect();
        begun.into_iter().map(|pending| pending?.receipt()).collect()
    }

    /// Tracks events atomically: all are stored, or none. They are sent in one line, whose length the daemon limits.
    pub fn track_many(&self, events: Vec<Event>) -> Result<ManyReceipt, Error> {
        self.patient().track_many(events)
    }

    /// Makes dispatchers send their pending events (Behaviour F1). It does not wait for this client's events: [`Client::drain`] does.
    /// The params are `dispatchers`, `wait`, `timeout_ms` and `flush`. The result's `ended` is `settled`, `timeout` or `cancelled`.
    pub fn flush(&self, params: Value) -> Result<Value, Error> {
        self.patient().flush(params)
    }

    /// Returns the daemon's status.
    pub fn status(&self) -> Result<Value, Error> {
        self.patient().status()
    }

    /// Calls any method of the protocol (Docs/Protocol.md), and returns its result. When the connection breaks, methods that change
    /// nothing are called again on the next one; others fail with `disconnected` if they had been written.
    pub fn call(&self, method: &str, params: Value) -> Result<Value, Error> {
        self.patient().call(method, params)
    }

    /// Waits until the daemon has all events of this client. Returns false if that takes longer.
    pub fn drain(&self, timeout: Option<Duration>) -> bool {
        self.connection.is_drained(after(timeout))
    }

    /// Returns the number of unanswered calls.
    pub fn unanswered(&self) -> usize {
        self.connection.unanswered()
    }

    /// Returns true if [`Client::try_track`] would find room.
    pub fn has_room(&self) -> bool {
        self.connection.has_room()
    }

    /// Takes no more calls, waits until all are answered, but no longer than the timeout, then closes the connection. Returns the number of
    /// unacknowledged events, and logs it. Further calls do nothing.
    pub fn close(&self, timeout: Option<Duration>) -> usize {
        let left = self.connection.close(after(timeout));
        if left > 0 {
            self.connection.options.warn(&format!("{left} events were not acknowledged when the client was closed"));
        }
        left
    }

    fn begin(&self, call: Call, moment: Moment) -> Result<Pending, Error> {
        let (number, slot) = self.connection.begin(call, moment)?;
        Ok(Pending { connection: Arc::clone(&self.connection), number, slot })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.close(Some(self.connection.options.close_timeout));
    }
}

impl Within<'_> {
    fn run(&self, call: Call) -> Result<Value, Error> {
        let moment = after(self.timeout);
        let (number, slot) = self.client.connection.begin(call, moment)?;
        self.client.connection.wait(number, &slot, moment, false)
    }

    /// See [`Client::track`].
    pub fn track(&self, event: Event) -> Result<Receipt, Error> {
        Receipt::read(&self.run(Call::new("track", event.params(), true, false, None))?)
    }

    /// See [`Client::track_soon`]; the timeout is the wait for room.
    pub fn track_soon(&self, event: Event) -> Result<Pending, Error> {
        self.client.begin(Call::new("track", event.params(), true, true, None), after(self.timeout))
    }

    /// See [`Client::track_many`].
    pub fn track_many(&self, events: Vec<Event>) -> Result<ManyReceipt, Error> {
        let events: Vec<Value> = events.into_iter().map(Event::params).collect();
        ManyReceipt::read(&self.run(Call::new("track_many", data! { "events": events }, true, false, None))?)
    }

    /// See [`Client::flush`].
    pub fn flush(&self, params: Value) -> Result<Value, Error> {
        let waits = params.get("wait").and_then(Value::as_bool) == Some(true);
        let result = self.call("flush", params)?;
        let is_known = matches!(result.get("ended").and_then(Value::as_str), Some("settled" | "timeout" | "cancelled"));
        if waits && !is_known {
            return Err(Error::local("bad_answer", "the result of flush has an unknown end"));
        }
        Ok(result)
    }

    /// See [`Client::status`].
    pub fn status(&self) -> Result<Value, Error> {
        self.call("status", data! {})
    }

    /// See [`Client::call`].
    pub fn call(&self, method: &str, params: Value) -> Result<Value, Error> {
        self.run(Call::new(method, params, REPEATABLE.contains(&method), false, None))
    }
}
