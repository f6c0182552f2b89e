// A Regex is not Sendable; these never change.

/// A time as the service writes it: RFC 3339 in UTC with milliseconds.
nonisolated(unsafe) let timestampPattern = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/

/// A UUID of version 7 in lower case.
nonisolated(unsafe) let uuid7Pattern = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
