import HeadgateData

extension LineClient {
    /// Watches topics, and takes the first notification of each.
    /// - Returns: the notifications, by topic.
    @discardableResult
    func watch(_ topics: String...) async throws -> [String: DataItem] {
        try await call("watch", ["topics": .array(topics.map { .string($0) })])
        var first: [String: DataItem] = [:]
        for _ in topics {
            let params = try await notification()
            first[params["topic"].get() ?? ""] = params
        }
        return first
    }

    /// Takes notifications until one tells of a barrier as it is wanted.
    /// - Returns: the barrier, as the notification has it.
    @discardableResult
    func barrier(_ id: String, where isWanted: (DataItem) -> Bool = { _ in true }) async throws -> DataItem {
        while true {
            let barrier = try await notification()["barriers"].element(where: "id", is: .string(id))
            if barrier != .null, isWanted(barrier) { return barrier }
        }
    }

    /// Takes notifications until one tells that a barrier is gone.
    func removal(of id: String) async throws {
        while try await !notification()["removed"].elements.contains(.string(id)) {}
    }

    /// The barrier of an id in `barrier.list`; null when there is none.
    func listedBarrier(_ id: String) async throws -> DataItem {
        try await call("barrier.list")["barriers"].element(where: "id", is: .string(id))
    }

    /// The dispatcher of an id in `dispatcher.list`.
    func listedDispatcher(_ id: String) async throws -> DataItem {
        try await call("dispatcher.list")["dispatchers"].element(where: "id", is: .string(id))
    }
}
