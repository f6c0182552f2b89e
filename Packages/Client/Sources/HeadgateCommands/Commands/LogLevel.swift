/// The levels that all of Headgate's loggers use (Docs/Logging.md, Levels).
enum LogLevel {
    /// Returns the level of a usual word, such as `warn`, or nil for any other word. Case does not matter.
    static func named(_ word: String) -> String? { levels[word.lowercased()] }

    private static let levels = [
        "trace": "TRACE", "debug": "DEBUG", "info": "INFO", "notice": "NOTICE", "warn": "WARNING",
        "warning": "WARNING", "error": "ERROR", "err": "ERROR", "critical": "CRITICAL", "crit": "CRITICAL",
        "alert": "CRITICAL", "emerg": "CRITICAL", "fatal": "CRITICAL", "panic": "CRITICAL",
    ]
}
