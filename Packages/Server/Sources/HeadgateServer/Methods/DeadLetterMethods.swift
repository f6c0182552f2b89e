import HeadgateCore
import HeadgateData
import HeadgateWire

/// The methods `dead_letters.list`, `dead_letters.requeue` and `dead_letters.purge` (Behaviour D10).
struct DeadLetterMethods: MethodFamily {
    let gate: Headgate
    let log: Log

    private static let list = FamilyMethod<Self>(
        "dead_letters.list", .read, "Returns dead letters, oldest first.", changesNothing: true,
        Field(optional: "dispatcher", .string), Field(optional: "limit", .integer(1...1_000), usually: 100),
        Field(
            optional: "after", .integer(0...), usually: 0,
            "return the dead letters after this number (`next` of the previous page)"),
        result: .object([
            .required("dead_letters", .array(letter)),
            .required("next", .nullable(.place), "the `after` of the next page; null at the end"),
        ]), reasons: [.notFound, .storage]
    ) { parts, call, dispatcher, limit, after throws(RPCError) in
        let (reply, gate) = (call.reply, parts.gate)
        let isKnown = gate.deadLetters.read(
            of: dispatcher, after: LetterNumber(after), limit: limit, isWanted: { reply.isWaiting }
        ) { [gate] result in
            switch result {
            case .success(let page): reply.answer { $0.page(page, dispatcherId: gate.dispatchers.id) }
            case .failure: reply.fail(RPCError(.storage, "the store could not read the dead letters"))
            }
        }
        guard isKnown else { throw .unknownDispatcher(dispatcher ?? "") }
    }

    private static let dispatcher = Field(optional: "dispatcher", .string, "only dead letters of this dispatcher")
    private static let letters = Field(
        optional: "letters", numbers, "the numbers of dead letters; without them and without a dispatcher, all")
    private static let numbers = Shape<[Int]>.array(of: .integer).map { Set($0.map { LetterNumber($0) }) }
    private static let count = Schema.object([.required("count", .count)])

    private static let requeue = FamilyMethod<Self>(
        "dead_letters.requeue", .control, "Requeues dead letters. The events keep their ids.", dispatcher, letters,
        result: count, reasons: [.notFound, .queueFull, .storage]
    ) { parts, call, dispatcher, letters throws(RPCError) in
        let isKnown = parts.gate.deadLetters.requeue(of: dispatcher, letters) { [reply = call.reply] result in
            switch result {
            case .success(let count): reply.answer(["count": .number(DataNumber(count))])
            case .failure(let fault): reply.fail(RPCError(fault))
            }
        }
        guard isKnown else { throw .unknownDispatcher(dispatcher ?? "") }
    }

    private static let purge = FamilyMethod<Self>(
        "dead_letters.purge", .control, "Deletes dead letters.", dispatcher, letters, result: count,
        reasons: [.notFound, .storage]
    ) { parts, call, dispatcher, letters throws(RPCError) in
        let isKnown = parts.gate.deadLetters.purge(of: dispatcher, letters) {
            [reply = call.reply, log = parts.log] result in
            switch result {
            case .success(let count):
                if count > 0 { log.tell(.lettersPurged, ["letters": .number(DataNumber(count))]) }
                reply.answer(["count": .number(DataNumber(count))])
            case .failure:
                reply.fail(RPCError(.storage, "the store could not delete all of the dead letters; try again"))
            }
        }
        guard isKnown else { throw .unknownDispatcher(dispatcher ?? "") }
    }

    private static let letter = Schema.named(
        "DeadLetter",
        .object([
            .required("letter", .place), .required("dispatcher", .nullable(.name)),
            .required("reason", .words(of: DeadLetter.Reason.self)),
            .required("status", .nullable(.count), "the status of the last answer"),
            .required("answer", .nullable(.text), "the beginning of the last answer"),
            .required("attempts", .count), .required("first_failed_at", .time), .required("died_at", .time),
            .required("event", .anyObject),
        ]))

    static let methods = [list, requeue, purge]
}

extension RPCError {
    /// Makes the error of an incomplete requeue. Its `count` is the number of requeued letters.
    fileprivate init(_ fault: RequeueFault) {
        switch fault {
        case .queueFull(let count):
            self.init(
                .queueFull, "the queue had room for \(count) dead letters; the others remain dead letters",
                data: ["count": .number(DataNumber(count))])
        case .store(_, let count):
            self.init(
                .storage, "only \(count) dead letters could be requeued; the others remain dead letters",
                data: ["count": .number(DataNumber(count))])
        }
    }
}

extension JSONWriter {
    /// Writes the result of `dead_letters.list`.
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
        // The event in the form that a requeue would send: its attempts begin again.
        if let event = letter.event { raw(event.json(attempt: 1)) } else { null() }
        endObject()
    }
}
