//! Tracks the records of the crate `log`.
//!
//! ```no_run
//! headgate_log::Logger::new("shop", "2.1").install(log::LevelFilter::Info).unwrap();
//! log::warn!("stock is low");
//! log::logger().flush(); // at the end of the program: a logger is never dropped
//! ```
//!
//! Each record becomes an event whose data are `level`, `logger` (the target), `message`, `file`, `line`, `function` (the module),
//! `process` and `thread`. Docs/Logging.md has the table for all languages.
//!
//! The logger never waits and never panics. It drops records while there is no room (`buffer_full`), and records that the daemon refuses
//! (the reason of the error). The next event that can be tracked is preceded by one named `EVENT.dropped` with `count`, `reasons` and
//! `since`.

use headgate::{data, Client, Error, Event, Options, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

const FLUSH: Duration = Duration::from_secs(2);

/// A logger with a client of its own.
pub struct Logger {
    client: Client,
    event: String,
    dropped: Arc<Mutex<Dropped>>,
}

#[derive(Default)]
struct Dropped {
    ever: BTreeMap<String, u64>,
    unreported: BTreeMap<String, u64>,
    since: Option<SystemTime>,
}

impl Dropped {
    fn add(&mut self, reason: &str, count: u64) {
        *self.ever.entry(reason.to_string()).or_default() += count;
        self.put_back(&BTreeMap::from([(reason.to_string(), count)]), SystemTime::now());
    }

    fn put_back(&mut self, reasons: &BTreeMap<String, u64>, since: SystemTime) {
        self.since = Some(self.since.map_or(since, |first| first.min(since)));
        for (reason, count) in reasons {
            *self.unreported.entry(reason.clone()).or_default() += count;
        }
    }
}

impl Logger {
    /// Makes a logger whose client keeps records while the daemon is away, without a time limit.
    pub fn new(program: &str, version: &str) -> Logger {
        Logger::with(program, version, "log", Options { connect_timeout: None, close_timeout: FLUSH, ..Options::default() })
    }

    /// Makes a logger with another name of the events, and other options.
    pub fn with(program: &str, version: &str, event: &str, options: Options) -> Logger {
        Logger { client: Client::with(program, version, options), event: event.to_string(), dropped: Arc::default() }
    }

    /// Makes this the program's logger.
    pub fn install(self, level: log::LevelFilter) -> Result<(), log::SetLoggerError> {
        log::set_boxed_logger(Box::new(self))?;
        log::set_max_level(level);
        Ok(())
    }

    /// Returns the number of records that have been dropped so far, by reason.
    pub fn dropped(&self) -> BTreeMap<String, u64> {
        self.locked().ever.clone()
    }

    fn locked(&self) -> MutexGuard<'_, Dropped> {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn track(&self, event: Event) {
        let dropped = Arc::clone(&self.dropped);
        let judge = move |error: &Error| {
            let reason = error.reason.as_deref().unwrap_or("refused");
            dropped.lock().unwrap_or_else(PoisonError::into_inner).add(reason, 1);
        };
        let late = judge.clone();
        if let Err(error) = self.client.try_track_then(event, move |outcome| drop(outcome.map_err(late))) {
            judge(&error);
        }
    }

    fn report_dropped(&self) {
        if !self.client.has_room() {
            return;
        }
        let (reasons, since) = {
            let mut dropped = self.locked();
            (std::mem::take(&mut dropped.unreported), dropped.since.take().unwrap_or_else(SystemTime::now))
        };
        if reasons.is_empty() {
            return;
        }
        let members = reasons.iter().map(|(reason, count)| (reason.clone(), Value::from(*count))).collect();
        let name = format!("{}.dropped", self.event);
        let data = data! { "count": reasons.values().sum::<u64>(), "reasons": Value::Object(members), "since": headgate::text_of(since) };
        let (dropped, again) = (Arc::clone(&self.dropped), reasons.clone());
        let put_back = move || dropped.lock().unwrap_or_else(PoisonError::into_inner).put_back(&again, since);
        let late = put_back.clone();
        let tracked = self.client.try_track_then(Event::with(&name, data), move |outcome| {
            if outcome.is_err() {
                late();
            }
        });
        if tracked.is_err() {
            put_back();
        }
    }
}

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata) -> bool {
        true
    }

    fn log(&self, record: &log::Record) {
        let level = match record.level() {
            log::Level::Error => "ERROR",
            log::Level::Warn => "WARNING",
            log::Level::Info => "INFO",
            log::Level::Debug => "DEBUG",
            log::Level::Trace => "TRACE",
        };
        let data = data! {
            "level": level, "logger": record.target(), "message": record.args().to_string(), "file": record.file(),
            "line": record.line(), "function": record.module_path(), "process": std::process::id(),
            "thread": std::thread::current().name(),
        };
        self.report_dropped();
        self.track(Event::with(&self.event, data).time(SystemTime::now()));
    }

    /// Waits until all records are acknowledged, but no longer than two seconds.
    fn flush(&self) {
        self.report_dropped();
        self.client.drain(Some(FLUSH));
    }
}

impl Drop for Logger {
    /// Writes to standard error how many records were dropped and not reported. The client writes the number of unacknowledged ones.
    fn drop(&mut self) {
        let dropped = std::mem::take(&mut self.locked().unreported);
        if !dropped.is_empty() {
            headgate::print_warning(&format!("log records dropped: {dropped:?}"));
        }
    }
}
