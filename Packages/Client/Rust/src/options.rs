use crate::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The state of a client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The daemon has answered the greeting.
    Connected,
    /// The connection was lost or could not be made. The client tries again while calls wait.
    Disconnected,
    /// The client was closed.
    Closed,
}

/// A function that is called when the state of the connection changes.
pub type OnState = Box<dyn Fn(State, Option<&Error>) + Send + Sync>;
/// A function that is called with a warning.
pub type Log = Box<dyn Fn(&str) + Send + Sync>;

/// The options of a client. A timeout of None is no limit.
pub struct Options {
    /// The path of the daemon's socket; None is that of [`default_socket`].
    pub socket_path: Option<PathBuf>,
    /// The namespace of the events' ids (Behaviour Q7); None is that of the user.
    pub namespace: Option<String>,
    /// The longest wait of a call for the first connection; by default 10 s. One attempt is always made; zero allows no other. A daemon
    /// that is found stopping counts as a lost connection.
    pub connect_timeout: Option<Duration>,
    /// The longest wait of a call after a lost connection; by default None. Zero does not wait.
    pub reconnect_timeout: Option<Duration>,
    /// The longest wait for the answer to `hello`; by default 10 s.
    pub greeting_timeout: Duration,
    /// The longest wait for answers when a client is closed; by default 5 s.
    pub close_timeout: Duration,
    /// The greatest number of unanswered calls; by default 16 384.
    pub max_unanswered: usize,
    /// The greatest size of unanswered calls in bytes; by default 8 MiB. One call is always let through.
    pub max_unanswered_bytes: usize,
    /// The first and the longest wait between two attempts to connect; by default 50 ms and 5 s.
    pub backoff_base: Duration,
    pub backoff_cap: Duration,
    /// Called on a thread of its own when the state of the connection changes. It may call the client.
    pub on_state: Option<OnState>,
    /// Called on the same thread with each warning. None writes it to standard error.
    pub log: Option<Log>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            socket_path: None,
            namespace: None,
            connect_timeout: Some(Duration::from_secs(10)),
            reconnect_timeout: None,
            greeting_timeout: Duration::from_secs(10),
            close_timeout: Duration::from_secs(5),
            max_unanswered: 16_384,
            max_unanswered_bytes: 8 << 20,
            backoff_base: Duration::from_millis(50),
            backoff_cap: Duration::from_secs(5),
            on_state: None,
            log: None,
        }
    }
}

impl Options {
    pub(crate) fn warn(&self, text: &str) {
        match &self.log {
            Some(log) => log(&format!("headgate: {text}")),
            None => print_warning(text),
        }
    }
}

/// Writes a warning to standard error. Unlike `eprintln!` it does not panic if standard error is a pipe without a reader.
#[doc(hidden)]
pub fn print_warning(text: &str) {
    let _ = writeln!(std::io::stderr(), "headgate: {text}");
}

/// Returns the path of the daemon's socket if the program names none: $HEADGATE_SOCKET, else below $XDG_RUNTIME_DIR if the daemon's folder is
/// there, else below /run. An empty variable counts as not set, and so does a relative XDG_RUNTIME_DIR.
pub fn default_socket() -> PathBuf {
    default_socket_in(|name| std::env::var_os(name).map(PathBuf::from).unwrap_or_default())
}

fn default_socket_in(variable: impl Fn(&str) -> PathBuf) -> PathBuf {
    let given = variable("HEADGATE_SOCKET");
    if !given.as_os_str().is_empty() {
        return given;
    }
    let places = [variable("XDG_RUNTIME_DIR"), PathBuf::from("/run")];
    let folders: Vec<PathBuf> = places.iter().filter(|one| one.is_absolute()).map(|one| one.join("headgate")).collect();
    let found = folders.iter().find(|folder| Path::is_dir(folder)).unwrap_or(&folders[0]);
    found.join("headgate.sock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_socket() {
        let place = |socket: &str, runtime: &str| {
            default_socket_in(|name| PathBuf::from(if name == "HEADGATE_SOCKET" { socket } else { runtime }))
        };
        assert_eq!(place("/x.sock", ""), PathBuf::from("/x.sock"));
        assert_eq!(place("", "relative"), PathBuf::from("/run/headgate/headgate.sock"));
        assert_eq!(place("", "/nowhere"), PathBuf::from("/nowhere/headgate/headgate.sock"));
    }
}
