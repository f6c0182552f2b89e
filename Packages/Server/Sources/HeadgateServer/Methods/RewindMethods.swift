import HeadgateCore
import HeadgateData
import HeadgateWire

/// The method `dispatcher.rewind`.
struct RewindMethods: MethodFamily {
    let gate: Headgate
    let log: Log

    private static let target = Shape<RewindTarget>(
        .any,
        mustBe: "a sequence number from 1 on, a time (RFC 3339), or a duration back like \"-2h\" (units: s, m, h, d)"
    ) { view in
        if let number = view.int.flatMap(SequenceNumber.init(exactly:)) {
            return number >= 1 ? .sequenceNumber(number) : nil
        }
        guard view.raw.count <= longestText else { return nil }
        return view.string.flatMap { RewindTarget(text: $0) }
    }

    /// The most bytes of a time or duration, with quotes and escapes (Behaviour X3).
    private static let longestText = 1_024

    private static let rewind = FamilyMethod<Self>(
        "dispatcher.rewind", .control,
        "Rewinds a dispatcher: delivered events that the store retains are sent again, from a given sequence number or time on.",
        Field("id", .string, "the dispatcher's id"),
        Field("to", target, "a sequence number, a time, or a duration back like \"-2h\""),
        Field(optional: "dry_run", default: false, "true: the events are counted, and nothing changes"),
        result: rewound.schema, reasons: [.notFound, .storage, .conflict, .cancelled]
    ) { parts, call, id, target, isDryRun throws(RPCError) in
        let (reply, caller) = (call.reply, call.session.caller)
        let isKnown = parts.gate.rewind(id, to: target, isDryRun: isDryRun) { result in
            switch result {
            case .success(let answer):
                if !isDryRun { parts.note(answer, id, caller) }
                reply.answer(rewound, answer)
            case .failure(let refusal): reply.fail(RPCError(refusal, of: id))
            }
        }
        guard isKnown else { throw .unknownDispatcher(id) }
    }

    private func note(_ answer: RewindAnswer, _ id: String, _ caller: Caller) {
        log.write(
            .dispatcherRewound,
            [
                "dispatcher": .string(id), "seq": .number(DataNumber(Int(answer.firstSequenceNumber))),
                "events": .number(DataNumber(answer.events)),
                "uid": .number(DataNumber(Int(caller.credentials.uid))),
            ])
    }

    private static let rewound = OutputShape<RewindAnswer>.object([
        .required(
            "first_seq", .positive, \.firstSequenceNumber,
            "the sequence number at which the dispatcher starts again"),
        .required("events", .count, \.events, "the number of events that are pending again"),
        .required(
            "complete", .bool, \.isComplete,
            "false if the store retains no delivered events, so that some may be missing"),
        .required(
            "first_received_at", .nullable(.time), \.received?.lowerBound,
            "the time at which the first stored event from there on was received; null if there is none"),
        .required(
            "last_received_at", .nullable(.time), \.received?.upperBound,
            "the time at which the last stored event was received; null if there is none from there on"),
    ])

    static let methods = [rewind]
}

extension RPCError {
    fileprivate init(_ refusal: RewindRefusal, of id: String) {
        switch refusal {
        case .unsupported(let kind):
            self.init(.conflict, "the event store of kind \(kind) cannot rewind: it deletes delivered events")
        case .future: self.init(.notFound, "`to` is in the future: no event is stored from there on")
        case .notRetained(let oldest?):
            self.init(
                .notFound,
                "the store may no longer have all events from there on; its oldest event is \(oldest.sequenceNumber), "
                    + "received at \(oldest.time.text): rewind to \(oldest.sequenceNumber)",
                data: [
                    "oldest_seq": .number(DataNumber(Int(oldest.sequenceNumber))),
                    "oldest_time": .string(oldest.time.text),
                ])
        case .notRetained(nil):
            self.init(
                .notFound, "the store retains no delivered events; set `store.retain`, so that \(id) can be rewound")
        case .dispatcherRemoved: self.init(.cancelled, "the dispatcher \(id) was removed meanwhile")
        case .store: self.init(.storage, "the event store failed; no event was sent again")
        }
    }
}

extension RewindTarget {
    /// Reads a time (RFC 3339), or a duration back like `-2h` or `-1h30m`; nil for any other text.
    init?(text: String) {
        if let time = Timestamp(rfc3339: text) {
            self = .time(time)
            return
        }
        guard text.utf8.first == UInt8(ascii: "-"), let duration = RewindTarget.duration(text.utf8.dropFirst()) else {
            return nil
        }
        self = .back(duration)
    }

    private static let seconds: [UInt8: Int] = [
        UInt8(ascii: "s"): 1, UInt8(ascii: "m"): 60, UInt8(ascii: "h"): 3_600, UInt8(ascii: "d"): 86_400,
    ]

    private static func duration(_ text: Substring.UTF8View) -> Duration? {
        var (sum, number, digits) = (0, 0, 0)
        for byte in text {
            if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
                (number, digits) = (10 * number + Int(byte - UInt8(ascii: "0")), digits + 1)
            } else if digits > 0, let unit = seconds[byte] {
                (sum, number, digits) = (sum + number * unit, 0, 0)
            } else {
                return nil
            }
            guard digits <= 9, sum < 1 << 40 else { return nil }
        }
        return digits == 0 && !text.isEmpty ? .seconds(sum) : nil
    }
}
