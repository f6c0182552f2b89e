import HeadgateCore
import HeadgateData
import HeadgateWire

/// The methods `dead_letters.list`, `dead_letters.requeue` and `dead_letters.purge` (Behaviour D10).
struct DeadLetterMethods: MethodFamily {
    let gate: Headgate
    let log: Log

    private static let list = FamilyMethod<Self>(
        "dead_letters.list", .read, "Returns dead letters, oldest first.", changesNothing: true,
        Field(optional: "dispatcher", .string), Field(optional: "limit", .integer(1...1_000), default: 100),
        Field(
            optional: "after", .integer(0...), default: 0,
            "return the dead letters after this number (`next` of the previous page)"),
        result: page.schema, reasons: [.notFound, .storage]
    ) { parts, call, dispatcher, limit, after throws(RPCError) in
        let (reply, gate) = (call.reply, parts.gate)
        let isKnown = gate.deadLetters.read(
            of: dispatcher, after: DeadLetterNumber(after), limit: limit, isAwaited: { reply.isWaiting }
        ) { [gate] result in
            switch result {
            case .success(let deadLetters): reply.answer(page, (deadLetters, gate.dispatchers))
            case .failure: reply.fail(RPCError(.storage, "the store could not read the dead letters"))
            }
        }
        guard isKnown else { throw .unknownDispatcher(dispatcher ?? "") }
    }

    private static let dispatcher = Field(optional: "dispatcher", .string, "only dead letters of this dispatcher")
    private static let deadLetters = Field(
        optional: "letters", numbers, "the numbers of dead letters; without them and without a dispatcher, all")
    private static let numbers = Shape<[Int]>.array(of: .integer).map { Set($0.map { DeadLetterNumber($0) }) }
    private static let count = OutputShape<Int>.object([.required("count", .count, \.self)])

    private static let requeue = FamilyMethod<Self>(
        "dead_letters.requeue", .control, "Requeues dead letters. The events keep their ids.", dispatcher, deadLetters,
        result: count.schema, reasons: [.notFound, .queueFull, .storage]
    ) { parts, call, dispatcher, deadLetters throws(RPCError) in
        let isKnown = parts.gate.deadLetters.requeue(of: dispatcher, deadLetters) { [reply = call.reply] result in
            switch result {
            case .success(let requeued): reply.answer(count, requeued)
            case .failure(let fault): reply.fail(RPCError(fault))
            }
        }
        guard isKnown else { throw .unknownDispatcher(dispatcher ?? "") }
    }

    private static let purge = FamilyMethod<Self>(
        "dead_letters.purge", .control, "Deletes dead letters.", dispatcher, deadLetters, result: count.schema,
        reasons: [.notFound, .storage]
    ) { parts, call, dispatcher, deadLetters throws(RPCError) in
        let isKnown = parts.gate.deadLetters.purge(of: dispatcher, deadLetters) {
            [reply = call.reply, log = parts.log] result in
            switch result {
            case .success(let purged):
                if purged > 0 { log.write(.deadLettersPurged, ["letters": .number(DataNumber(purged))]) }
                reply.answer(count, purged)
            case .failure:
                reply.fail(RPCError(.storage, "the store could not delete all of the dead letters; try again"))
            }
        }
        guard isKnown else { throw .unknownDispatcher(dispatcher ?? "") }
    }

    private static let page = OutputShape<(page: StoredDeadLetterPage, dispatchers: Dispatchers)>.object([
        .required(
            "dead_letters", .array(deadLetter),
            { all in
                all.page.deadLetters.map {
                    ($0.number, $0.deadLetter, all.dispatchers.id(of: $0.deadLetter.dispatcher))
                }
            }),
        .required("next", .nullable(.positive), \.page.next, "the `after` of the next page; null at the end"),
    ])

    private static let deadLetter = OutputShape<(number: DeadLetterNumber, deadLetter: DeadLetter, dispatcher: String?)>
        .object(
            [
                .required("letter", .positive, \.number), .required("dispatcher", .nullable(.name), \.dispatcher),
                .required("reason", .word, \.deadLetter.reason),
                .required("status", .nullable(.count), \.deadLetter.status, "the status of the last answer"),
                .required("answer", .nullable(.text), \.deadLetter.answer, "the beginning of the last answer"),
                .required("attempts", .count, \.deadLetter.attempts),
                .required("first_failed_at", .time, \.deadLetter.firstFailedAt),
                .required("died_at", .time, \.deadLetter.diedAt),
                .required("event", .json(.anyObject), \.deadLetter.requeuedEvent),
            ]).named("DeadLetter")

    static let methods = [list, requeue, purge]
}

extension RPCError {
    /// Makes the error of an incomplete requeue. Its `count` is the number of requeued dead letters.
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

extension DeadLetter {
    /// The event in the form that a requeue would send: its attempts begin again.
    fileprivate var requeuedEvent: [UInt8] { event?.json(attempt: 1) ?? Array("null".utf8) }
}
