import HeadgateData

/// Calls that have the params and the result of their method.
extension HeadgateClient {
    // written by Tools/protocol: calls
    /// Answers, and does nothing else.
    /// - Parameter deadline: how long to wait; nil is for ever.
    public func ping(deadline: Duration? = nil) async throws {
        _ = try await object("ping", [:], deadline)
    }

    /// The rights of the caller: the groups of methods that it may call, and its namespace.
    /// - Parameter deadline: how long to wait; nil is for ever.
    public func rights(deadline: Duration? = nil) async throws -> DataObject {
        try await object("rights", [:], deadline)
    }

    /// The protocol as the daemon describes it: an OpenRPC document.
    /// - Parameter deadline: how long to wait; nil is for ever.
    public func discover(deadline: Duration? = nil) async throws -> DataObject {
        try await object("rpc.discover", [:], deadline)
    }

    /// Ends a flush. Unsent events wait again.
    /// - Parameters:
    ///   - flush: its id.
    ///   - deadline: how long to wait; nil is for ever.
    /// - Throws: ``ClientError``; `refused` with the reason `not_found` when the daemon refuses it.
    public func cancelFlush(_ flush: String, deadline: Duration? = nil) async throws {
        _ = try await object("flush.cancel", ["flush": .string(flush)], deadline)
    }

    /// All running flushes, also of disconnected clients.
    /// - Parameter deadline: how long to wait; nil is for ever.
    public func flushes(deadline: Duration? = nil) async throws -> [DataObject] {
        try await member("flushes", of: "flush.list", [:], deadline)
    }

    /// The daemon's status, for a first look.
    /// - Parameter deadline: how long to wait; nil is for ever.
    public func status(deadline: Duration? = nil) async throws -> DataObject {
        try await object("status", [:], deadline)
    }

    /// Ends a dispatcher's backoff: its next attempt begins now.
    /// - Parameters:
    ///   - id: the dispatcher's id.
    ///   - deadline: how long to wait; nil is for ever.
    /// - Throws: ``ClientError``; `refused` with the reason `not_found` when the daemon refuses it.
    public func retry(_ id: String, deadline: Duration? = nil) async throws {
        _ = try await object("dispatcher.retry", ["id": .string(id)], deadline)
    }

    /// Sends a dispatcher's events again, from a place on that the store still keeps.
    /// - Parameters:
    ///   - id: the dispatcher's id.
    ///   - to: a sequence number, a time, or a duration back like "-2h".
    ///   - deadline: how long to wait; nil is for ever.
    /// - Throws: ``ClientError``; `refused` with the reason `not_found` or `storage` or `conflict` or `cancelled`
    ///   when the daemon refuses it.
    @discardableResult
    public func rewind(_ id: String, to: DataItem, deadline: Duration? = nil) async throws -> DataObject {
        try await object("dispatcher.rewind", ["id": .string(id), "to": to], deadline)
    }

    /// The settings in force, or those of one layer; secrets are blanked.
    /// - Parameters:
    ///   - layer: only what it says.
    ///   - deadline: how long to wait; nil is for ever.
    public func settings(_ layer: SettingsLayer? = nil, deadline: Duration? = nil) async throws -> DataObject {
        var params: DataObject = [:]
        params["layer"] = layer.map { .string($0.rawValue) }
        return try await object("config.get", params, deadline)
    }

    /// Merges a patch into the programmatic layer; null removes.
    /// - Parameters:
    ///   - patch: what is merged.
    ///   - persist: whether it outlives a restart.
    ///   - deadline: how long to wait; nil is for ever.
    /// - Throws: ``ClientError``; `refused` with the reason `invalid_settings` or `storage` when the daemon refuses
    ///   it.
    public func changeSettings(_ patch: DataObject, persist: Bool = false, deadline: Duration? = nil) async throws {
        var params: DataObject = ["patch": .object(patch)]
        if persist { params["persist"] = true }
        _ = try await object("config.set", params, deadline)
    }

    /// Reads the configuration file again.
    /// - Parameter deadline: how long to wait; nil is for ever.
    /// - Throws: ``ClientError``; `refused` with the reason `invalid_settings` when the daemon refuses it.
    /// - Returns: the places that differ.
    @discardableResult
    public func reloadSettings(deadline: Duration? = nil) async throws -> [String] {
        try await member("changed", of: "config.reload", [:], deadline)
    }

    /// All metrics, in the form that monitoring systems read.
    /// - Parameter deadline: how long to wait; nil is for ever.
    public func metrics(deadline: Duration? = nil) async throws -> [DataObject] {
        try await member("metrics", of: "metrics", [:], deadline)
    }

    /// The state or outcome of the event of an id, for each of its dispatchers.
    /// - Parameters:
    ///   - id: the id that was tracked.
    ///   - namespace: in which the id was given, as it is stored, or a name that the caller chose; the caller's
    ///     when it is left out, any for `*`.
    ///   - deadline: how long to wait; nil is for ever.
    /// - Throws: ``ClientError``; `refused` with the reason `not_found` or `storage` or `limit` when the daemon
    ///   refuses it.
    /// - Returns: the oldest first.
    public func eventTrace(
        _ id: String, namespace: String? = nil, deadline: Duration? = nil
    ) async throws -> [DataObject] {
        var params: DataObject = ["id": .string(id)]
        params["namespace"] = namespace.map { .string($0) }
        return try await member("events", of: "event.trace", params, deadline)
    }

    /// All connected clients: their counts, and why one is not read now.
    /// - Parameter deadline: how long to wait; nil is for ever.
    public func clients(deadline: Duration? = nil) async throws -> [DataObject] {
        try await member("clients", of: "client.list", [:], deadline)
    }
    // end of what Tools/protocol has written
}

extension HeadgateClient {
    /// A layer of the settings (Behaviour S1).
    public enum SettingsLayer: String, Sendable, CaseIterable {
        /// The configuration file.
        case file
        /// A URL that the file names.
        case remote
        /// The settings of programs.
        case programmatic
    }
}
