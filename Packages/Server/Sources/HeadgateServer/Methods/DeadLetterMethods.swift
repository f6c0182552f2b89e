import HeadgateCore
import HeadgateData
import HeadgateWire

/// `dead_letters.list`, `dead_letters.requeue` and `dead_letters.purge` (Behaviour D10).
enum DeadLetterMethods {
    static let all = [
        Method("dead_letters.list", .observe, list), Method("dead_letters.requeue", .control, requeue),
        Method("dead_letters.purge", .control, purge),
    ]

    private static let usualPage = 100
    static let largestPage = 1_000

    private static func list(_ service: Service, _ call: Call) throws(RPCError) {
        let dispatcher: String? = try call.reader.optional("dispatcher")
        let limit = try call.reader.optional("limit", in: 1...largestPage) ?? usualPage
        let after = try call.reader.optional("after", in: 0...) ?? 0
        let isKnown = service.gate.readDeadLetters(
            of: dispatcher, after: LetterNumber(after), limit: limit
        ) { [reply = call.reply, gate = service.gate] result in
            switch result {
            case .success(let page): reply.answer { $0.page(page, dispatcherId: gate.dispatcherId) }
            case .failure: reply.fail(RPCError(.storage, "the dead letters could not be read"))
            }
        }
        guard isKnown else { throw .unknownDispatcher(dispatcher ?? "") }
    }

    private static func requeue(_ service: Service, _ call: Call) throws(RPCError) {
        let (dispatcher, letters) = try selection(call.reader)
        let isKnown = service.gate.requeueDeadLetters(of: dispatcher, letters) { [reply = call.reply] result in
            switch result {
            case .success(let count): reply.answer(["count": .number(DataNumber(count))])
            case .failure(let fault): reply.fail(RPCError(fault))
            }
        }
        guard isKnown else { throw .unknownDispatcher(dispatcher ?? "") }
    }

    private static func purge(_ service: Service, _ call: Call) throws(RPCError) {
        let (dispatcher, letters) = try selection(call.reader)
        let isKnown = service.gate.purgeDeadLetters(of: dispatcher, letters) { [reply = call.reply] result in
            switch result {
            case .success(let count): reply.answer(["count": .number(DataNumber(count))])
            case .failure: reply.fail(RPCError(.storage, "not all of the dead letters could be deleted"))
            }
        }
        guard isKnown else { throw .unknownDispatcher(dispatcher ?? "") }
    }

    private static func selection(
        _ reader: ParameterReader
    ) throws(RPCError) -> (dispatcher: String?, letters: Set<LetterNumber>?) {
        let letters: [LetterNumber]? = try reader.optionalArray("letters")
        return (try reader.optional("dispatcher"), letters.map(Set.init))
    }
}

extension RPCError {
    /// Why not all were requeued, and in `count` how many were.
    fileprivate init(_ fault: RequeueFault) {
        switch fault {
        case .queueFull(let count):
            self.init(
                .queueFull, "there was room for \(count) of the dead letters; the others are still there",
                data: ["count": .number(DataNumber(count))])
        case .store(_, let count):
            self.init(
                .storage, "only \(count) of the dead letters could be requeued; the others are still there",
                data: ["count": .number(DataNumber(count))])
        }
    }
}

extension JSONWriter {
    /// The result of `dead_letters.list`.
    fileprivate mutating func page(_ page: LetterPage, dispatcherId: (DispatcherNumber) -> String?) {
        beginObject()
        member("dead_letters")
        beginArray()
        for letter in page.letters {
            element()
            self.letter(letter, dispatcherId(letter.letter.dispatcher))
        }
        endArray()
        member("next", item: page.next.map { .number(DataNumber(Int($0))) } ?? .null)
        endObject()
    }

    private mutating func letter(_ stored: StoredLetter, _ dispatcher: String?) {
        let letter = stored.letter
        beginObject()
        member("letter", stored.number)
        member("dispatcher", item: dispatcher.map { .string($0) } ?? .null)
        member("reason", letter.reason.rawValue)
        member("status", item: letter.status.map { .number(DataNumber($0)) } ?? .null)
        member("answer", item: letter.answer.map { .string($0) } ?? .null)
        member("attempts", letter.attempts)
        member("first_failed_at", letter.firstFailedAt)
        member("died_at", letter.diedAt)
        member("event")
        // As it would go after a requeue: its attempts begin anew then.
        if let event = letter.event { raw(event.json(attempt: 1)) } else { null() }
        endObject()
    }
}
