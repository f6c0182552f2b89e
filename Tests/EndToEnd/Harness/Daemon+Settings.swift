extension Daemon {
    /// Writes the configuration and has it read again; gives back the paths that changed.
    @discardableResult
    func reload(_ configuration: JSON) async throws -> [String] {
        try configure(configuration)
        return try await ask("config.reload")["changed"].strings
    }

    /// Writes the configuration and has it read again, which must be refused; gives back the faults.
    func refusedReload(_ configuration: JSON) async throws -> [JSON] {
        try configure(configuration)
        return try await faults("config.reload")
    }

    /// Merges a patch into the programmatic layer of the settings.
    func set(_ patch: JSON, persist: Bool = false) async throws {
        _ = try await ask("config.set", ["patch": patch, "persist": .bool(persist)])
    }

    /// The faults that a call is refused with.
    func faults(_ method: String, _ params: JSON? = nil) async throws -> [JSON] {
        let client = try await connect()
        defer { client.close() }
        let error = try await client.refusal(method, params)
        guard error["code"] == -32_000, error["data"]["reason"] == "invalid_settings" else {
            throw NeverHappened("a refusal as invalid_settings", details: "\(error)")
        }
        return error["data"]["faults"].elements
    }

    /// One of the counters of `status`.
    func counter(_ name: String) async throws -> Int? {
        try await ask("status")["counters"][name].int
    }

    /// The warnings of `status`.
    func warnings() async throws -> [String] {
        try await ask("status")["warnings"].strings
    }

    /// Waits until a barrier's entry is as wanted, and gives it back.
    @discardableResult
    func barrier(_ id: String, until what: String, _ wanted: (JSON) -> Bool) async throws -> JSON {
        var last = JSON.null
        do {
            return try await eventually(what) {
                last = try await barrier(id)
                return wanted(last) ? last : nil
            }
        } catch let vain as NeverHappened {
            throw NeverHappened(vain.what, details: "\(id) is \(last)")
        }
    }
}
