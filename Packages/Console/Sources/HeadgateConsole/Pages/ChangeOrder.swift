import HeadgateData

/// The daemon's method and params for a form, checked before the call.
struct ChangeOrder: Equatable, Sendable {
    let method: String
    let params: DataObject

    /// The reason why a form is refused, as a text for people.
    struct Fault: Error, Equatable {
        let status: Int
        let words: String
    }

    /// Reads a form. A destructive change must be confirmed with the dispatcher's ID.
    init(_ change: Route.Change, _ request: HTTPRequest) throws(Fault) {
        let type = request.value("content-type")?.prefix { $0 != ";" }.lowercased()
        guard request.body.isEmpty || type == "application/x-www-form-urlencoded",
            let form = FormFields(String(decoding: request.body, as: UTF8.self))
        else { throw Fault(status: 415, words: "This is not a form of the console.") }
        guard !change.act.destroys || form["confirm"] == change.dispatcher else {
            throw Fault(status: 400, words: "Nothing was changed: type \(change.dispatcher) to confirm.")
        }
        method = change.act.method
        params = try Self.params(change, form)
    }

    private static func params(_ change: Route.Change, _ form: FormFields) throws(Fault) -> DataObject {
        let id = DataItem.string(change.dispatcher)
        switch change.act {
        case .pause:
            var params: DataObject = ["id": id]
            if let reason = form["reason"], !reason.isEmpty { params["reason"] = .string(reason) }
            if form["flushable"] == "yes" { params["flushable"] = true }
            return params
        case .resume, .retry: return ["id": id]
        case .flush: return ["dispatchers": .array([id])]
        case .purge, .requeue, .purgeDeadLetters: return ["dispatcher": id]
        case .rewind:
            guard let to = form["to"], !to.isEmpty else {
                throw Fault(status: 400, words: "Nothing was changed: the start is missing.")
            }
            return ["id": id, "to": RewindPage.target(to)]
        }
    }
}
