extension LineClient {
    /// Starts a watch and gives back its id.
    func watch(_ topics: String...) async throws -> String {
        let answer = try await result("watch", ["topics": JSON(topics)])
        guard let id = answer["watch"].string else { throw NeverHappened("the id of a watch", details: "\(answer)") }
        return id
    }

    /// The next `changed` that is as wanted. What comes before it is passed over.
    func changed(until what: String, _ wanted: (JSON) -> Bool) async throws -> JSON {
        var last = JSON.null
        do {
            while true {
                let message = try await message()
                guard message["method"] == "changed" else { continue }
                last = message["params"]
                if wanted(last) { return last }
            }
        } catch let vain as NeverHappened {
            throw NeverHappened(what, details: "after \(last): \(vain)")
        }
    }

    /// The next `changed` whose list tells of an entry as wanted; gives back that entry.
    func changed(_ list: String, _ id: String, until what: String, _ wanted: (JSON) -> Bool) async throws -> JSON {
        let entry = { (news: JSON) in news[list].elements.first { $0["id"].string == id } }
        let news = try await changed(until: what) { entry($0).map(wanted) ?? false }
        return entry(news) ?? .null
    }
}
