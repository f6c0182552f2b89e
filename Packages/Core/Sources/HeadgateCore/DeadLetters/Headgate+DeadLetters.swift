/// What operators do with dead letters (Behaviour D10). A dispatcher that was removed and whose queue is kept still has its
/// letters; they can be seen and purged, and requeued when it is back.
extension Headgate {
    /// Reads dead letters, the oldest first.
    /// - Parameters:
    ///   - dispatcher: those of one; nil is of all.
    ///   - after: those behind this one.
    /// - Returns: false when there is no such dispatcher; `then` is not called.
    public func readDeadLetters(
        of dispatcher: String? = nil, after: LetterNumber = 0, limit: Int,
        then: @escaping (Result<LetterPage, StoreFault>) -> Void
    ) -> Bool {
        guard var query = query(of: dispatcher, limit: limit) else { return false }
        query.after = after
        letterDesk.read(query, then: then)
        return true
    }

    /// Has the events of dead letters go again: under their old ids, with new places at the end of the queue, each to the
    /// dispatcher it died for alone. Their ages and times to live count from now on, their attempts begin anew.
    /// - Parameters:
    ///   - dispatcher: those of one; nil is of all that are there.
    ///   - letters: those of these numbers; nil is all.
    ///   - then: gets how many there were, once they are stored.
    /// - Returns: false when there is no such dispatcher; `then` is not called.
    public func requeueDeadLetters(
        of dispatcher: String? = nil, _ letters: Set<LetterNumber>? = nil,
        then: @escaping (Result<Int, RequeueFault>) -> Void
    ) -> Bool {
        guard dispatcher.map(hasDispatcher) ?? true, let query = query(of: dispatcher, letters) else { return false }
        letterDesk.requeue(query, then: then)
        return true
    }

    /// Deletes dead letters for good.
    /// - Parameters:
    ///   - dispatcher: those of one; nil is of all.
    ///   - letters: those of these numbers; nil is all.
    ///   - then: gets how many there were.
    /// - Returns: false when there is no such dispatcher; `then` is not called.
    public func purgeDeadLetters(
        of dispatcher: String? = nil, _ letters: Set<LetterNumber>? = nil,
        then: @escaping (Result<Int, StoreFault>) -> Void
    ) -> Bool {
        guard let query = query(of: dispatcher, letters) else { return false }
        letterDesk.purge(query, then: then)
        return true
    }

    /// The id of a dispatcher that is configured, or whose queue is kept.
    public func dispatcherId(of number: DispatcherNumber) -> String? {
        known.values.first { $0.number == number }?.id
    }

    func makeLetterDesk() -> LetterDesk {
        LetterDesk(events: events, settlements: settlements, board: board) { [weak self] number in
            self?.dispatchers.values.contains { $0.number == number } ?? false
        }
    }

    private func query(of dispatcher: String?, _ letters: Set<LetterNumber>? = nil, limit: Int = 1) -> LetterQuery? {
        guard let dispatcher else { return LetterQuery(letters: letters, limit: limit) }
        return known[dispatcher].map { LetterQuery(dispatcher: $0.number, letters: letters, limit: limit) }
    }
}
