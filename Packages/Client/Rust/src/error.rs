use crate::Value;
use std::fmt;

/// The error of a failed call.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// JSON-RPC's code, -32000 for the daemon's own refusals, or 0 for an error of the client itself.
    pub code: i64,
    /// The machine-readable reason; None for JSON-RPC's own errors. It is the daemon's (`queue_full`, `storage` …), or the client's:
    /// `cannot_connect`, `disconnected`, `timed_out`, `buffer_full`, `closed`, `bad_answer`.
    pub reason: Option<String>,
    pub message: String,
    /// The path of the wrong parameter, such as `events[1].event`.
    pub path: Option<String>,
    /// The other members of the daemon's error, or null.
    pub data: Value,
    /// True for an error of the socket that stays until a person changes the path or the rights.
    pub(crate) is_fault: bool,
}

impl Error {
    pub(crate) fn local(reason: &str, message: impl Into<String>) -> Error {
        Error { code: 0, reason: Some(reason.into()), message: message.into(), path: None, data: Value::Null, is_fault: false }
    }

    /// Makes the error of a call that is beyond the daemon's limits.
    pub(crate) fn limit(reason: &str, message: String) -> Error {
        Error { code: -32_000, ..Error::local(reason, message) }
    }

    pub(crate) fn is(&self, reason: &str) -> bool {
        self.reason.as_deref() == Some(reason)
    }

    /// Reads the member `error` of an answer. Returns None if it is no error of JSON-RPC.
    pub(crate) fn read(error: &Value) -> Option<Error> {
        let data = error.get("data").filter(|data| data.is_object()).cloned().unwrap_or(Value::Null);
        let text = |name| data.get(name).and_then(Value::as_str).map(String::from);
        Some(Error {
            code: error.get("code")?.as_i64()?,
            message: error.get("message")?.as_str()?.to_string(),
            reason: text("reason"),
            path: text("path"),
            data,
            is_fault: false,
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Some(reason) => write!(formatter, "headgate: {} ({reason})", self.message),
            None => write!(formatter, "headgate: {}", self.message),
        }
    }
}

impl std::error::Error for Error {}
