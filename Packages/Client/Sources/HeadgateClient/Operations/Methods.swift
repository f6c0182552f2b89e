import HeadgateData

/// Calls that have the params and the result of their method.
extension HeadgateClient {
    // written by Tools/protocol: calls
    /// Returns an empty answer, to check the connection.
    /// - Parameter deadline: how long to wait; nil is for ever.
    public func ping(deadline: Duration? = nil) async throws {
        _ = try await object("ping", [:], deadline)
    }

    /// Returns the rights of the caller: the groups of methods that it may call, and its namespace.
    /// - Parameter deadline: how long to wait; nil is for ever.
    public func rights(deadline: Duration? = nil) async throws -> DataObject {
        try await object("rights", [:], deadline)
    }

    /// Returns the OpenRPC document of the protocol.
    /// - Parameter deadline: how long to wait; nil is for ever.
    public func discover(deadline: Duration? = nil) async throws -> DataObject {
        try await object("rpc.discover", [:], deadline)
    }

    /// Cancels a flush. Events that were not sent stay pending.
    /// - Parameters:
    ///   - flush: the flush's id.
    ///   - deadline: how long to wait; nil is for ever.
    /// - Throws: ``ClientError``; `refused` with the reason `not_found` when the daemon refuses it.
    public func cancelFlush(_ flush: String, deadline: Duration? = nil) async throws {
        _ = try await object("flush.cancel", ["flush": .string(flush)], deadline)
    }

    /// Returns every flush in progress, also flushes of clients that have disconnected.
    /// - Parameter deadline: how long to wait; nil is for ever.
    public func flushes(deadline: Duration? = nil) async throws -> [DataObject] {
        try await member("flushes", of: "flush.list", [:], deadline)
    }

    /// Returns the status of the daemon, its store, dispatchers and barriers.
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

    /// Rewinds a dispatcher: delivered events that the store retains are sent again, from a given sequence number
    /// or time on.
    /// - Parameters:
    ///   - id: the dispatcher's id.
    ///   - to: a sequence number, a time, or a duration back like "-2h".
    ///   - dryRun: true: the events are counted, and nothing changes.
    ///   - deadline: how long to wait; nil is for ever.
    /// - Throws: ``ClientError``; `refused` with the reason `not_found` or `storage` or `conflict` or `cancelled`
    ///   when the daemon refuses it.
    @discardableResult
    public func rewind(
        _ id: String, to: DataItem, dryRun: Bool = false, deadline: Duration? = nil
    ) async throws -> DataObject {
        var params: DataObject = ["id": .string(id), "to": to]
        if dryRun { params["dry_run"] = true }
        return try await object("dispatcher.rewind", params, deadline)
    }

    /// Returns the settings in force, or those of one layer, with secrets replaced by ***.
    /// - Parameters:
    ///   - layer: the layer to return.
    ///   - deadline: how long to wait; nil is for ever.
    public func settings(_ layer: SettingsLayer? = nil, deadline: Duration? = nil) async throws -> DataObject {
        var params: DataObject = [:]
        params["layer"] = layer.map { .string($0.rawValue) }
        return try await object("config.get", params, deadline)
    }

    /// Merges a patch into the programmatic layer; null removes.
    /// - Parameters:
    ///   - patch: the patch, in the form of the settings.
    ///   - persist: true: the change survives a restart.
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
    /// - Returns: the key paths of the changed settings.
    @discardableResult
    public func reloadSettings(deadline: Duration? = nil) async throws -> [String] {
        try await member("changed", of: "config.reload", [:], deadline)
    }

    /// Returns all metrics, for monitoring systems.
    /// - Parameter deadline: how long to wait; nil is for ever.
    public func metrics(deadline: Duration? = nil) async throws -> [DataObject] {
        try await member("metrics", of: "metrics", [:], deadline)
    }

    /// Returns the state or outcome of an event for each of its dispatchers.
    /// - Parameters:
    ///   - id: the event's id.
    ///   - namespace: the namespace of the id, as it is stored or as the caller chose it; by default the caller's;
    ///     `*` is any.
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

    /// Returns every connected client, its counters, and why the daemon does not read from it, if so.
    /// - Parameter deadline: how long to wait; nil is for ever.
    public func clients(deadline: Duration? = nil) async throws -> [DataObject] {
        try await member("clients", of: "client.list", [:], deadline)
    }

    /// Returns the next piece of a consistent copy of the store, as files of a data directory. A connection makes
    /// one copy at a time.
    /// - Parameters:
    ///   - backup: the id of the copy, to continue it; by default, a new copy begins.
    ///   - deadline: how long to wait; nil is for ever.
    /// - Throws: ``ClientError``; `refused` with the reason `not_found` or `conflict` or `storage` when the daemon
    ///   refuses it.
    @discardableResult
    public func backup(_ backup: String? = nil, deadline: Duration? = nil) async throws -> DataObject {
        var params: DataObject = [:]
        params["backup"] = backup.map { .string($0) }
        return try await object("store.backup", params, deadline)
    }

    /// Erases stored events for all dispatchers, and dead letters, and removes their bytes from the data directory.
    /// - Parameters:
    ///   - when: the condition for the events, in the language of load rules.
    ///   - reason: the reason, for the log.
    ///   - dryRun: true: the events are counted, and nothing is erased.
    ///   - deadline: how long to wait; nil is for ever.
    /// - Throws: ``ClientError``; `refused` with the reason `conflict` or `limit` or `storage` when the daemon
    ///   refuses it.
    @discardableResult
    public func erase(
        _ when: DataItem, reason: String? = nil, dryRun: Bool = false, deadline: Duration? = nil
    ) async throws -> DataObject {
        var params: DataObject = ["when": when]
        params["reason"] = reason.map { .string($0) }
        if dryRun { params["dry_run"] = true }
        return try await object("store.erase", params, deadline)
    }

    /// Reads the keys of `store.encryption` again, and rewrites the files under other keys with the first of them,
    /// in the background.
    /// - Parameter deadline: how long to wait; nil is for ever.
    /// - Throws: ``ClientError``; `refused` with the reason `conflict` or `storage` when the daemon refuses it.
    @discardableResult
    public func rekey(deadline: Duration? = nil) async throws -> DataObject {
        try await object("store.rekey", [:], deadline)
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
