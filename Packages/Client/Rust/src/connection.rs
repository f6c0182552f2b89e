//! Decides when to connect, what to write, what to write again, and which outcome each call has.
//!
//! A repeatable call is not lost with a connection: it is written again on the next one, in the same order and under the same id. One
//! thread connects and reads, and one for each link writes; one lock guards all state.

use crate::event::chance;
use crate::hooks::Hooks;
use crate::{data, default_socket, print_warning, Error, Options, State, Value};
use std::collections::{BTreeMap, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::io::FromRawFd;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const LONGEST_ANSWER: usize = 256 << 20;
/// The time that an ending link waits for a daemon that does not read.
const LAST_WRITE: Duration = Duration::from_secs(1);
const MOMENT: Duration = Duration::from_millis(20);
/// The errors that waiting does not cure: EPERM, EACCES, ENOTDIR, EINVAL, ENAMETOOLONG, ELOOP, ENOTSOCK, EPROTOTYPE, EAFNOSUPPORT
const PERMANENT: [i32; 9] = [1, 13, 20, 22, 36, 40, 88, 91, 97];

/// A moment of the monotonic clock; None is never.
pub(crate) type Moment = Option<Instant>;

/// Returns the moment after a timeout from now; None if the timeout is None, or longer than the clock counts.
pub(crate) fn after(timeout: Option<Duration>) -> Moment {
    timeout.and_then(|timeout| Instant::now().checked_add(timeout))
}

fn is_over(moment: Moment) -> bool {
    moment.map_or(false, |moment| Instant::now() >= moment)
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    /// Not connected, and nothing to send.
    Idle,
    /// Connecting, greeting, or waiting for the next attempt.
    Seeking,
    Open,
    /// The link is about to end: written calls are still answered, and no call is written.
    Draining,
    Closed,
}

/// Called with the outcome of an event. It must not wait and must not call the client.
pub(crate) type WhenDone = Box<dyn FnOnce(Result<&Value, &Error>) + Send>;

/// A request that has no outcome yet.
pub(crate) struct Call {
    method: String,
    /// The message after its number.
    body: String,
    depth: usize,
    is_repeatable: bool,
    is_soon: bool,
    line: Vec<u8>,
    is_written: bool,
    slot: Arc<Slot>,
    when_done: Option<WhenDone>,
}

/// The outcome of a call.
#[derive(Default)]
pub(crate) struct Slot {
    outcome: Mutex<Option<Result<Value, Error>>>,
    changed: Condvar,
}

impl Slot {
    pub fn take(&self) -> Option<Result<Value, Error>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Call {
    pub fn new(method: &str, params: Value, is_repeatable: bool, is_soon: bool, when_done: Option<WhenDone>) -> Call {
        let message = data! { "method": method, "params": params };
        Call {
            method: method.to_string(),
            body: message.to_string()[1..].to_string(),
            depth: message.depth(),
            is_repeatable,
            is_soon,
            line: Vec::new(),
            is_written: false,
            slot: Arc::default(),
            when_done,
        }
    }
}

/// One connection to the daemon.
struct Link {
    stream: UnixStream,
    output: Mutex<Output>,
    wake: Condvar,
}

#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    /// Set when the link is to end once the bytes are written, or at the moment.
    end: Option<Instant>,
    has_ended: bool,
}

impl Link {
    fn locked(&self) -> MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, line: &[u8]) {
        self.locked().bytes.extend_from_slice(line);
        self.wake.notify_all();
    }

    fn end(&self, longest: Duration) {
        self.locked().end.get_or_insert_with(|| Instant::now() + longest);
        self.wake.notify_all();
    }

    /// Waits until the link has written its output, at most until the moment at which it ends.
    fn wait(&self, longest: Duration) {
        let end = Instant::now() + longest;
        let mut output = self.locked();
        while !output.has_ended && Instant::now() < end {
            let left = end.saturating_duration_since(Instant::now());
            output = self.wake.wait_timeout(output, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Writes until the link ends. Reading notices a failed write, after the daemon's last messages.
    fn write_out(&self) {
        loop {
            let mut output = self.locked();
            while output.bytes.is_empty() && output.end.is_none() {
                output = self.wake.wait(output).unwrap_or_else(PoisonError::into_inner);
            }
            if output.bytes.is_empty() {
                break;
            }
            let bytes = std::mem::take(&mut output.bytes);
            drop(output);
            if !self.write_all(&bytes) {
                break;
            }
        }
        let mut output = self.locked();
        while output.end.is_none() {
            output = self.wake.wait(output).unwrap_or_else(PoisonError::into_inner);
        }
        output.has_ended = true;
        drop(output);
        self.wake.notify_all();
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    fn write_all(&self, bytes: &[u8]) -> bool {
        let mut written = 0;
        while written < bytes.len() {
            match (&self.stream).write(&bytes[written..]) {
                Ok(count) => written += count,
                Err(error) if is_timeout(error.kind()) => {
                    if is_over(self.locked().end) {
                        return false;
                    }
                }
                Err(_) => return false,
            }
        }
        true
    }
}

fn is_timeout(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

struct Core {
    phase: Phase,
    calls: BTreeMap<u64, Call>,
    queue: VecDeque<u64>,
    held_bytes: usize,
    unanswered: usize,
    last_number: u64,
    longest_line: usize,
    deepest: usize,
    failures: u32,
    /// The moment after which there is no attempt to connect; None if nothing waits.
    patience: Option<Moment>,
    link: Option<Arc<Link>>,
    /// The stream that waits for the greeting.
    greeting: Option<UnixStream>,
    state: Option<State>,
    last_failure: Option<Error>,
    was_connected: bool,
    has_warned: bool,
    /// The number of events that were tracked without waiting, and dropped.
    given_up: usize,
    is_leaving: bool,
    is_relearning: bool,
    has_relearned: bool,
}

pub(crate) struct Connection {
    path: PathBuf,
    hello: Vec<u8>,
    pub options: Arc<Options>,
    core: Mutex<Core>,
    /// Notified when a call has ended, and when the connection is closed.
    changed: Condvar,
    hooks: Hooks,
}

type Held<'a> = MutexGuard<'a, Core>;

impl Connection {
    pub fn new(hello: &Value, options: Options) -> Arc<Connection> {
        let core = Core {
            phase: Phase::Idle,
            calls: BTreeMap::new(),
            queue: VecDeque::new(),
            held_bytes: 0,
            unanswered: 0,
            last_number: 0,
            longest_line: 1_048_576,
            deepest: 64,
            failures: 0,
            patience: None,
            link: None,
            greeting: None,
            state: None,
            last_failure: None,
            was_connected: false,
            has_warned: false,
            given_up: 0,
            is_leaving: false,
            is_relearning: false,
            has_relearned: false,
        };
        Arc::new(Connection {
            path: options.socket_path.clone().unwrap_or_else(default_socket),
            hello: format!("{hello}\n").into_bytes(),
            options: Arc::new(options),
            core: Mutex::new(core),
            changed: Condvar::new(),
            hooks: Hooks::default(),
        })
    }

    // MARK: From any thread

    fn locked(&self) -> Held<'_> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for<'a>(&self, condvar: &Condvar, core: Held<'a>, moment: Moment) -> Held<'a> {
        match moment {
            None => condvar.wait(core).unwrap_or_else(PoisonError::into_inner),
            Some(moment) => {
                let left = moment.saturating_duration_since(Instant::now());
                condvar.wait_timeout(core, left).unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }

    fn has_room_in(&self, core: &Core) -> bool {
        core.calls.len() < self.options.max_unanswered && core.held_bytes < self.options.max_unanswered_bytes
    }

    pub fn has_room(&self) -> bool {
        let core = self.locked();
        self.has_room_in(&core) && !core.is_over()
    }

    pub fn unanswered(&self) -> usize {
        self.locked().calls.len()
    }

    /// Adds a call as soon as there is room. Fails with `buffer_full` if there is none until the moment.
    pub fn begin(self: &Arc<Self>, call: Call, moment: Moment) -> Result<(u64, Arc<Slot>), Error> {
        let mut core = self.locked();
        while !self.has_room_in(&core) && !core.is_over() {
            if is_over(moment) {
                return Err(Error::local("buffer_full", core.because("there was no room for another event in time")));
            }
            core = self.wait_for(&self.changed, core, moment);
        }
        self.insert(&mut core, call)
    }

    fn insert(self: &Arc<Self>, core: &mut Core, mut call: Call) -> Result<(u64, Arc<Slot>), Error> {
        if core.is_over() {
            return Err(Error::local("closed", "the client is closed"));
        }
        if core.phase == Phase::Idle {
            let connection = Arc::clone(self);
            let thread = std::thread::Builder::new().name("headgate".into()).spawn(move || connection.run());
            thread.map_err(|error| self.cannot_connect(&error.to_string()))?;
            core.phase = Phase::Seeking;
        }
        core.last_number += 1;
        let number = core.last_number;
        call.line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{number},{}\n", call.body).into_bytes();
        call.body = String::new();
        core.held_bytes += call.line.len();
        let slot = Arc::clone(&call.slot);
        core.calls.insert(number, call);
        core.queue.push_back(number);
        self.proceed(core);
        Ok((number, slot))
    }

    /// Waits until a call is answered. With `is_kept` the call goes on after the moment; else it is cancelled.
    pub fn wait(&self, number: u64, slot: &Slot, moment: Moment, is_kept: bool) -> Result<Value, Error> {
        let mut core = self.locked();
        loop {
            if let Some(outcome) = slot.take() {
                return outcome;
            }
            if is_over(moment) {
                break;
            }
            core = self.wait_for(&slot.changed, core, moment);
        }
        if !is_kept {
            self.remove(&mut core, number);
            self.proceed(&mut core);
        }
        let away = core.last_failure.clone().filter(|_| !core.is_connected());
        Err(away.unwrap_or_else(|| Error::local("timed_out", "no answer came in time")))
    }

    /// Returns true if all calls are answered before the moment.
    pub fn is_drained(&self, moment: Moment) -> bool {
        let mut core = self.locked();
        while !core.calls.is_empty() && !is_over(moment) {
            core = self.wait_for(&self.changed, core, moment);
        }
        core.calls.is_empty()
    }

    /// Ends all calls and the connection, at the moment at the latest. Returns the number of events that were not acknowledged.
    pub fn close(&self, moment: Moment) -> usize {
        self.locked().is_leaving = true;
        self.is_drained(moment);
        let last = if is_over(moment) { MOMENT } else { LAST_WRITE };
        let mut core = self.locked();
        let left = core.given_up + core.unacknowledged();
        core.given_up = 0;
        let link = core.link.take();
        if core.phase != Phase::Closed {
            core.phase = Phase::Closed;
            self.set_state(&mut core, State::Closed, None);
            self.fail_all(&mut core, &Error::local("closed", "the client is closed"));
            if let Some(stream) = core.greeting.take() {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        self.changed.notify_all();
        drop(core);
        if let Some(link) = link {
            link.end(last);
            link.wait(last);
            let _ = link.stream.shutdown(Shutdown::Both);
        }
        self.hooks.wait(last);
        left
    }

    fn cannot_connect(&self, cause: &str) -> Error {
        Error::local("cannot_connect", format!("cannot connect to {}: {cause}", self.path.display()))
    }

    // MARK: Reports to the program; with the lock

    fn set_state(&self, core: &mut Core, state: State, error: Option<&Error>) {
        if core.state == Some(state) {
            return;
        }
        core.state = Some(state);
        if self.options.on_state.is_some() {
            let (options, error) = (Arc::clone(&self.options), error.cloned());
            self.hooks.add(Box::new(move || {
                if let Some(hook) = &options.on_state {
                    hook(state, error.as_ref());
                }
            }));
        }
    }

    /// Reports that a connection is wanted and cannot be made. It is logged once until a call is answered again.
    fn missing(&self, core: &mut Core, error: &Error) {
        core.last_failure = Some(error.clone());
        self.set_state(core, State::Disconnected, Some(error));
        if !core.has_warned {
            core.has_warned = true;
            let (options, text) = (Arc::clone(&self.options), error.message.clone());
            self.hooks.add(Box::new(move || options.warn(&text)));
        }
    }

    // MARK: The threads

    /// Runs the connection's thread. Fails all calls if it panics, so that no caller waits without an end.
    fn run(self: Arc<Connection>) {
        if catch_unwind(AssertUnwindSafe(|| Arc::clone(&self).keep())).is_ok() {
            return;
        }
        let mut core = self.locked();
        if let Some(link) = core.link.take() {
            link.end(Duration::ZERO);
            let _ = link.stream.shutdown(Shutdown::Both);
        }
        if core.phase != Phase::Closed {
            core.rest();
        }
        self.fail_all(&mut core, &Error::local("bad_answer", "the client failed: its thread panicked"));
    }

    /// Connects, reads, and reconnects as long as there are calls.
    fn keep(self: Arc<Connection>) {
        let patience = if self.locked().was_connected { self.options.reconnect_timeout } else { self.options.connect_timeout };
        self.locked().begin_patience(patience);
        loop {
            let mut core = self.locked();
            if core.phase == Phase::Closed {
                return;
            }
            if core.calls.is_empty() {
                return core.rest();
            }
            drop(core);
            let error = match self.connect() {
                Ok((link, input)) => self.serve(&link, input),
                Err((error, is_final)) => {
                    let mut core = self.locked();
                    self.missing(&mut core, &error);
                    if is_final && core.phase != Phase::Closed {
                        return self.give_up(&mut core, &error);
                    }
                    error
                }
            };
            if !self.wait_to_retry(&error) {
                return;
            }
        }
    }

    /// Waits for the next attempt. Returns false if there is none.
    fn wait_to_retry(&self, error: &Error) -> bool {
        let mut core = self.locked();
        if core.phase == Phase::Closed {
            return false;
        }
        core.phase = Phase::Seeking;
        core.failures += 1;
        if core.calls.is_empty() {
            core.rest();
            return false;
        }
        core.begin_patience(self.options.reconnect_timeout);
        if core.patience.map_or(false, is_over) {
            self.give_up(&mut core, error);
            return false;
        }
        let doubled = self.options.backoff_base.saturating_mul(1 << (core.failures - 1).min(30));
        // A random time between half and all of the wait: clients that lost the daemon together do not reconnect together.
        let wait = doubled.min(self.options.backoff_cap).mul_f64(0.5 + chance() / 2.0);
        let mut next = after(Some(wait));
        if let Some(Some(end)) = core.patience {
            next = Some(next.map_or(end, |next| next.min(end)));
        }
        while core.phase != Phase::Closed && !is_over(next) {
            core = self.wait_for(&self.changed, core, next);
        }
        core.phase != Phase::Closed
    }

    /// Returns a link on which the daemon has answered the greeting; or the error, and true if waiting does not cure it.
    fn connect(&self) -> Result<(Arc<Link>, Input), (Error, bool)> {
        let stream = open(&self.path).map_err(|error| {
            let is_fault = error.kind() == ErrorKind::InvalidInput || error.raw_os_error().map_or(false, |code| PERMANENT.contains(&code));
            // A client that was connected once waits: while a daemon restarts, its folder may be inaccessible for a moment.
            (self.cannot_connect(&saying(&error)), is_fault && !self.locked().was_connected)
        })?;
        let closed = || (self.cannot_connect("the daemon closed the connection"), false);
        let copy = stream.try_clone().map_err(|error| (self.cannot_connect(&error.to_string()), false))?;
        let mut core = self.locked();
        if core.phase == Phase::Closed {
            return Err((Error::local("closed", "the client is closed"), false));
        }
        core.greeting = Some(copy);
        drop(core);
        (&stream).write_all(&self.hello).map_err(|_| closed())?;
        let mut input = Input::default();
        let greeted = self.greet(&stream, &mut input);
        let mut core = self.locked();
        core.greeting = None;
        let limits = greeted?;
        let _ = stream.set_read_timeout(None);
        let _ = stream.set_write_timeout(Some(Duration::from_millis(200)));
        let whole = |name| limits.as_ref().and_then(|limits| limits.get(name)).and_then(Value::as_i64);
        core.longest_line = whole("max_line_bytes").map_or(1_048_576, |bytes| bytes.max(0) as usize);
        core.deepest = whole("max_depth").map_or(64, |depth| depth.max(0) as usize);
        // The connect timeout counts for the first connection only.
        if !core.was_connected {
            core.patience = None;
        }
        core.was_connected = true;
        core.last_failure = None;
        if core.phase == Phase::Closed {
            return Err((Error::local("closed", "the client is closed"), false));
        }
        core.phase = Phase::Open;
        core.is_relearning = false;
        let link = Arc::new(Link { stream, output: Mutex::default(), wake: Condvar::new() });
        core.link = Some(Arc::clone(&link));
        self.set_state(&mut core, State::Connected, None);
        Ok((link, input))
    }

    /// Reads until the daemon has answered the greeting. Returns its limits.
    fn greet(&self, stream: &UnixStream, input: &mut Input) -> Result<Option<Value>, (Error, bool)> {
        let end = after(Some(self.options.greeting_timeout));
        loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)));
            let _ = stream.set_read_timeout(left);
            let line = match input.line(stream) {
                Ok(Some(line)) => line,
                Err(error) if is_timeout(error.kind()) && !is_over(end) => continue,
                Err(error) if is_timeout(error.kind()) => {
                    return Err((self.cannot_connect("connected, but the daemon does not answer"), false));
                }
                _ => return Err((self.cannot_connect("the daemon closed the connection"), false)),
            };
            for message in read_messages(&line).map_err(|error| (error, false))? {
                match message {
                    Message::Call { id: None, method, .. } if method == "closing" => {
                        return Err(self.found_stopping("the daemon is stopping"));
                    }
                    Message::Failure(error) | Message::Answer(0, Err(error)) => return Err(self.greeting_refused(error)),
                    Message::Answer(0, Ok(result)) => return Ok(result.get("limits").cloned()),
                    _ => {}
                }
            }
        }
    }

    fn greeting_refused(&self, error: Error) -> (Error, bool) {
        if error.is("shutting_down") {
            self.found_stopping(&error.message)
        } else if error.is("limit") {
            (self.cannot_connect(&error.message), false)
        } else {
            (error, true)
        }
    }

    /// Notes that a daemon is stopping. Calls wait as after a lost connection, because the daemon may be restarting.
    fn found_stopping(&self, cause: &str) -> (Error, bool) {
        let mut core = self.locked();
        if !core.was_connected {
            core.patience = None;
        }
        core.was_connected = true;
        (self.cannot_connect(cause), false)
    }

    /// Reads until the link ends. Returns the reason.
    fn serve(&self, link: &Arc<Link>, mut input: Input) -> Error {
        let broken = Error::local("disconnected", "the connection was lost before the answer came");
        let writer = Arc::clone(link);
        let thread = std::thread::Builder::new().name("headgate writer".into()).spawn(move || writer.write_out());
        if thread.is_err() {
            return self.lose(link, broken, false);
        }
        self.proceed(&mut self.locked());
        loop {
            let line = match input.line(&link.stream) {
                Ok(Some(line)) => line,
                Err(error) if error.kind() == ErrorKind::OutOfMemory => {
                    return self.lose(link, nonsense(&format!("a line has more than {LONGEST_ANSWER} bytes")), true);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                _ => return self.lose(link, broken, false),
            };
            let taken = read_messages(&line).and_then(|messages| self.take(link, messages));
            if let Err(error) = taken {
                return self.lose(link, error, true);
            }
        }
    }

    /// Handles a lost link: puts repeatable calls back into the queue in their order, and fails the others.
    fn lose(&self, link: &Arc<Link>, error: Error, is_nonsense: bool) -> Error {
        let mut core = self.locked();
        if core.link.as_ref().map_or(true, |present| !Arc::ptr_eq(present, link)) {
            return error; // the client is being closed, and waits for the written calls
        }
        link.end(Duration::ZERO);
        let _ = link.stream.shutdown(Shutdown::Both);
        core.link = None;
        core.phase = Phase::Seeking;
        core.last_failure = Some(error.clone());
        self.set_state(&mut core, State::Disconnected, Some(&error));
        for number in core.calls.keys().copied().collect::<Vec<_>>() {
            // The client cannot tell which call a malformed message is about. Repeating the written calls might cause it again, without end.
            let is_lost = core.calls.get(&number).map_or(false, |call| call.is_written && (is_nonsense || !call.is_repeatable));
            if is_lost {
                self.finish(&mut core, number, Err(error.clone()));
            } else {
                core.unmark(number);
            }
        }
        core.queue = core.calls.keys().copied().collect();
        error
    }

    /// Writes queued calls, or ends a link that has nothing left to write or answer.
    fn proceed(&self, core: &mut Core) {
        let link = match &core.link {
            Some(link) => Arc::clone(link),
            None => return,
        };
        if core.phase == Phase::Draining && (core.unanswered == 0 || core.is_relearning) {
            link.end(LAST_WRITE);
        }
        while core.phase == Phase::Open {
            let number = match core.queue.pop_front() {
                Some(number) => number,
                None => return,
            };
            let (longest, deepest) = (core.longest_line, core.deepest);
            let call = match core.calls.get_mut(&number) {
                Some(call) if !call.is_written => call,
                _ => continue,
            };
            let fault = if call.line.len() - 1 > longest {
                Some(Error::limit("line_too_long", format!("the message is longer than the {longest} bytes that the daemon accepts")))
            } else if call.depth > deepest {
                Some(Error::limit("limit", format!("nested deeper than the {deepest} levels that the daemon accepts")))
            } else {
                None
            };
            match fault {
                Some(error) => self.finish(core, number, Err(error)),
                None => {
                    call.is_written = true;
                    link.write(&call.line);
                    core.unanswered += 1;
                }
            }
        }
    }

    // MARK: From the daemon

    fn take(&self, link: &Arc<Link>, messages: Vec<Message>) -> Result<(), Error> {
        let mut core = self.locked();
        for message in messages {
            match message {
                Message::Call { id: Some(id), method } => {
                    let error = data! { "code": -32_601, "message": format!("there is no method {method}") };
                    link.write(format!("{}\n", data! { "jsonrpc": "2.0", "id": id, "error": error }).as_bytes());
                }
                Message::Call { method, .. } => {
                    if method == "closing" && core.phase == Phase::Open {
                        core.phase = Phase::Draining;
                    }
                }
                Message::Failure(error) => core.relearn(error)?,
                Message::Answer(number, outcome) => self.answered(&mut core, number, outcome),
            }
        }
        self.proceed(&mut core);
        Ok(())
    }

    fn answered(&self, core: &mut Core, number: u64, outcome: Result<Value, Error>) {
        let call = match core.calls.get(&number) {
            Some(call) if call.is_written => call,
            _ => return, // its caller does not wait any more
        };
        let is_stopping = outcome.as_ref().err().map_or(false, |error| error.is("shutting_down"));
        if is_stopping && call.is_repeatable {
            core.unmark(number);
            core.phase = if core.phase == Phase::Open { Phase::Draining } else { core.phase };
            return;
        }
        let method = call.method.clone();
        core.failures = 0;
        core.patience = None;
        core.has_warned = false;
        core.has_relearned &= core.is_relearning;
        let outcome = outcome.and_then(|result| {
            let bad = || Error::local("bad_answer", format!("the result of {method} is not an object"));
            if result.is_object() { Ok(result) } else { Err(bad()) }
        });
        self.finish(core, number, outcome);
    }

    // MARK: Outcomes of calls

    /// Removes a call from the table. Returns None if it is not in the table.
    fn remove(&self, core: &mut Core, number: u64) -> Option<Call> {
        core.unmark(number);
        let call = core.calls.remove(&number)?;
        core.held_bytes -= call.line.len();
        // Cancelled calls must not be remembered while there is no daemon.
        if core.phase != Phase::Open && core.queue.len() > 2 * core.calls.len() + 1024 {
            core.queue = core.calls.keys().copied().collect();
        }
        self.changed.notify_all();
        Some(call)
    }

    fn finish(&self, core: &mut Core, number: u64, outcome: Result<Value, Error>) {
        if let Some(call) = self.remove(core, number) {
            if let Some(when_done) = call.when_done {
                let told = catch_unwind(AssertUnwindSafe(|| when_done(outcome.as_ref())));
                if told.is_err() {
                    print_warning("the callback for an event's outcome failed");
                }
            }
            *call.slot.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            call.slot.changed.notify_all();
        }
    }

    /// Fails all calls; the next call tries to connect again.
    fn give_up(&self, core: &mut Core, error: &Error) {
        core.given_up += core.unacknowledged();
        core.rest();
        self.fail_all(core, error);
    }

    fn fail_all(&self, core: &mut Core, error: &Error) {
        for number in core.calls.keys().copied().collect::<Vec<_>>() {
            self.finish(core, number, Err(error.clone()));
        }
    }
}

impl Core {
    /// Returns the number of unacknowledged events that were tracked without waiting.
    fn unacknowledged(&self) -> usize {
        self.calls.values().filter(|call| call.is_soon).count()
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Closed || self.is_leaving
    }

    fn is_connected(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Draining)
    }

    /// Returns a text, followed by the reason if there is no connection.
    fn because(&self, text: &str) -> String {
        match &self.last_failure {
            Some(error) if !self.is_connected() => format!("{text}: {}", error.message),
            _ => text.to_string(),
        }
    }

    /// Sets the moment of the last attempt to connect, unless it is set already.
    fn begin_patience(&mut self, patience: Option<Duration>) {
        self.patience.get_or_insert_with(|| after(patience));
    }

    fn rest(&mut self) {
        self.phase = Phase::Idle;
        self.patience = None;
    }

    fn unmark(&mut self, number: u64) {
        if let Some(call) = self.calls.get_mut(&number) {
            self.unanswered -= usize::from(call.is_written);
            call.is_written = false;
        }
    }

    /// Handles an error that names no request. The limits may have changed since the greeting, so the client reconnects to learn them.
    fn relearn(&mut self, error: Error) -> Result<(), Error> {
        let is_limit = error.is("line_too_long") || error.is("limit");
        if !self.is_relearning && (!is_limit || self.has_relearned) {
            return Err(nonsense(&error.message));
        }
        self.is_relearning = true;
        self.has_relearned = true;
        self.phase = if self.phase == Phase::Open { Phase::Draining } else { self.phase };
        Ok(())
    }
}

/// Returns a stream to the socket, or `WouldBlock` if the socket's backlog is full. `UnixStream::connect` would wait for room in the
/// backlog, without limit.
fn open(path: &Path) -> std::io::Result<UnixStream> {
    #[repr(C)]
    struct Address {
        family: u16,
        path: [u8; 108],
    }
    extern "C" {
        fn socket(domain: i32, kind: i32, protocol: i32) -> i32;
        fn connect(descriptor: i32, address: *const Address, length: u32) -> i32;
    }
    const UNIX: u16 = 1;
    const STREAM: i32 = 1;
    const NONBLOCK: i32 = 0o4_000;
    const CLOEXEC: i32 = 0o2_000_000;

    SocketAddr::from_pathname(path)?; // refuses a path that is too long or contains NUL
    let bytes = path.as_os_str().as_bytes();
    let mut address = Address { family: UNIX, path: [0; 108] };
    address.path[..bytes.len()].copy_from_slice(bytes);
    // SAFETY: the address lives until connect returns, and the stream alone owns the descriptor.
    unsafe {
        let descriptor = socket(UNIX.into(), STREAM | NONBLOCK | CLOEXEC, 0);
        if descriptor < 0 {
            return Err(std::io::Error::last_os_error());
        }
        let stream = UnixStream::from_raw_fd(descriptor);
        if connect(descriptor, &address, 2 + bytes.len() as u32) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        stream.set_nonblocking(false)?;
        Ok(stream)
    }
}

/// Returns the text for an error of the socket.
fn saying(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such socket".to_string(),
        ErrorKind::WouldBlock => "the daemon is too busy to accept the connection".to_string(),
        ErrorKind::InvalidInput if error.to_string().contains("null") => "the path contains a NUL byte".to_string(),
        ErrorKind::InvalidInput => "the path is too long for a socket".to_string(),
        _ => error.to_string().split(" (os error").next().unwrap_or_default().to_string(),
    }
}

// MARK: Messages

/// The input of a connection, which is split into lines.
#[derive(Default)]
struct Input {
    bytes: Vec<u8>,
    /// The number of bytes that were returned as lines, and the number of bytes that were searched for a line end.
    begin: usize,
    scanned: usize,
}

impl Input {
    /// Returns the next line; None at the end. A line that is too long is `OutOfMemory`.
    fn line(&mut self, mut stream: &UnixStream) -> std::io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(length) = self.bytes[self.scanned..].iter().position(|byte| *byte == b'\n') {
                let line = self.bytes[self.begin..self.scanned + length].to_vec();
                self.begin = self.scanned + length + 1;
                self.scanned = self.begin;
                return Ok(Some(line));
            }
            self.bytes.drain(..self.begin);
            self.begin = 0;
            self.scanned = self.bytes.len();
            if self.bytes.len() > LONGEST_ANSWER {
                return Err(ErrorKind::OutOfMemory.into());
            }
            let mut chunk = [0; 1 << 16];
            let count = stream.read(&mut chunk)?;
            if count == 0 {
                return Ok(None);
            }
            self.bytes.extend_from_slice(&chunk[..count]);
        }
    }
}

enum Message {
    Call { id: Option<Value>, method: String },
    Answer(u64, Result<Value, Error>),
    /// An error that names no request.
    Failure(Error),
}

fn nonsense(text: &str) -> Error {
    Error::local("bad_answer", format!("malformed answer from the daemon: {text}"))
}

/// Reads a line, which is a message, an array of messages, or blank.
fn read_messages(line: &[u8]) -> Result<Vec<Message>, Error> {
    let text = std::str::from_utf8(line).map_err(|_| nonsense("a line that is not JSON"))?;
    if text.trim_matches(|letter| " \t\r".contains(letter)).is_empty() {
        return Ok(Vec::new());
    }
    match Value::parse(text).ok_or_else(|| nonsense("a line that is not JSON"))? {
        Value::Array(values) if !values.is_empty() => values.into_iter().map(read_message).collect(),
        value => Ok(vec![read_message(value)?]),
    }
}

fn read_message(value: Value) -> Result<Message, Error> {
    let none = || nonsense("a line that is not a message");
    if value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(none());
    }
    if let Some(method) = value.get("method") {
        let method = method.as_str().ok_or_else(none)?.to_string();
        return Ok(Message::Call { id: value.get("id").cloned(), method });
    }
    let error = value.get("error").map(|error| Error::read(error).ok_or_else(none)).transpose()?;
    let outcome = match (value.get("result"), error) {
        (Some(result), None) => Ok(result.clone()),
        (None, Some(error)) => Err(error),
        _ => return Err(none()),
    };
    match (value.get("id"), outcome) {
        (None | Some(Value::Null), Err(error)) => Ok(Message::Failure(error)),
        (Some(id @ Value::Number(text)), outcome) if !text.contains(|letter: char| ".eE".contains(letter)) => {
            // A number below 0, or beyond 64 bits, is no call's.
            Ok(Message::Answer(id.as_i64().and_then(|number| number.try_into().ok()).unwrap_or(u64::MAX), outcome))
        }
        _ => Err(nonsense("an answer without a request")),
    }
}
