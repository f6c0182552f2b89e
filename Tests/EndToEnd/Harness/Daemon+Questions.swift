extension Daemon {
    /// A new raw connection.
    func connect() async throws -> LineClient {
        try await LineClient(socketPath)
    }

    /// Asks one question on a connection of its own.
    func ask(_ method: String, _ params: JSON? = nil) async throws -> JSON {
        let client = try await connect()
        defer { client.close() }
        return try await client.result(method, params)
    }

    /// What `dispatcher.list` says about one dispatcher.
    func dispatcher(_ id: String = "collect") async throws -> JSON {
        try await entry(id, in: "dispatchers", of: "dispatcher.list")
    }

    /// What `barrier.list` says about one barrier.
    func barrier(_ id: String) async throws -> JSON {
        try await entry(id, in: "barriers", of: "barrier.list")
    }

    /// Waits until a dispatcher's entry is as wanted, and gives it back.
    @discardableResult
    func dispatcher(
        _ id: String = "collect", until what: String, _ wanted: (JSON) -> Bool
    ) async throws -> JSON {
        var last = JSON.null
        do {
            return try await eventually(what) {
                last = try await dispatcher(id)
                return wanted(last) ? last : nil
            }
        } catch let vain as NeverHappened {
            throw NeverHappened(vain.what, details: "\(id) is \(last)")
        }
    }

    /// Closes the way of a dispatcher by its ManualBarrier.
    func pause(_ id: String = "collect", _ more: JSON = [:]) async throws {
        _ = try await ask("dispatcher.pause", more.merging(["id": .string(id)]))
    }

    func resume(_ id: String = "collect") async throws {
        _ = try await ask("dispatcher.resume", ["id": .string(id)])
    }

    /// Tracks events named `e1`, `e2`, … whose ids are their names, and gives back those.
    @discardableResult
    func track(_ numbers: ClosedRange<Int>, data: JSON = [:]) async throws -> [String] {
        let client = try await connect()
        defer { client.close() }
        let names = numbers.map { "e\($0)" }
        for name in names {
            _ = try await client.result("track", ["event": .string(name), "id": .string(name), "data": data])
        }
        return names
    }

    private func entry(_ id: String, in list: String, of method: String) async throws -> JSON {
        let entries = try await ask(method)[list].elements
        guard let entry = entries.first(where: { $0["id"].string == id }) else {
            throw NeverHappened("\(id) in \(method)", details: "there are \(entries.map(\.["id"]))")
        }
        return entry
    }
}
