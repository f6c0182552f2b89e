import HeadgateCore
import HeadgateData
import HeadgateWire

/// The method `store.erase`.
struct EraseMethods: MethodFamily {
    let gate: Headgate
    let control: SettingsControl
    let log: Log
    let quota: UserQuota

    private static let rule = Shape<DataItem>(
        .any, mustBe: "a rule: an object, or the id of one in load_rules"
    ) { view in
        if let id = view.string { return .string(id) }
        return (try? Shape<DataObject>.object.read(view)).map { .object($0) }
    }

    private static let erase = FamilyMethod<Self>(
        "store.erase", .control,
        "Erases stored events for all dispatchers, and dead letters, and removes their bytes from the data directory.",
        Field("when", rule, "the condition for the events, in the language of load rules"),
        Field(optional: "reason", .string(0...Limits.longestReason), "the reason, for the log"),
        Field(optional: "dry_run", default: false, "true: the events are counted, and nothing is erased"),
        result: erased.schema, reasons: [.conflict, .limit, .storage]
    ) { parts, call, item, reason, isDryRun throws(RPCError) in
        let rule = try parts.rule(item)
        let (caller, reply) = (call.session.caller, call.reply)
        try parts.quota.begin(for: caller.credentials.uid)
        parts.gate.erase(rule, reason: reason, isDryRun: isDryRun) { result in
            parts.quota.end(for: caller.credentials.uid)
            switch result {
            case .success(let answer):
                if !isDryRun { parts.note(answer, reason, caller) }
                reply.answer(erased, (answer, parts.gate.dispatchers.ids))
            case .failure(let refusal): reply.fail(RPCError(refusal))
            }
        }
    }

    private static let erased = OutputShape<(answer: ErasureAnswer, dispatchers: [String])>.object([
        .required("events", .count, \.answer.events, "the number of stored events that were erased"),
        .required("dead_letters", .count, \.answer.deadLetters, "the number of dead letters that were erased"),
        .required(
            "not_reached", .array(.name), \.dispatchers,
            "the dispatchers whose destinations and files keep their copies"),
    ])

    /// Reads a rule as settings do.
    private func rule(_ item: DataItem) throws(RPCError) -> Rule {
        let reader = SettingsReader(["when": item])
        let rule = RuleReader(ids: NameSet(control.inForce.loadRules.keys)).rule("when", in: reader)
        reader.finish()
        let faults = reader.findings.faults + reader.findings.unknownKeys
        if let fault = faults.first { throw RPCError(ParameterFault(fault.message, path: fault.path)) }
        guard let rule else { throw RPCError(ParameterFault("is not a rule", path: "when")) }
        return rule
    }

    private func note(_ answer: ErasureAnswer, _ reason: String?, _ caller: Caller) {
        log.write(
            .eventsErased,
            [
                "uid": .number(DataNumber(Int(caller.credentials.uid))),
                "events": .number(DataNumber(answer.events)), "letters": .number(DataNumber(answer.deadLetters)),
                "reason": reason.map { .string($0) } ?? .null,
            ])
    }

    static let methods = [erase]
}

extension RPCError {
    fileprivate init(_ refusal: ErasureRefusal) {
        switch refusal {
        case .unsupported(let kind): self.init(.conflict, "the event store of kind \(kind) cannot erase events")
        case .rule(let fault): self.init(ParameterFault(fault, path: "when"))
        case .store: self.init(.storage, "the event store failed; nothing was erased")
        }
    }
}
