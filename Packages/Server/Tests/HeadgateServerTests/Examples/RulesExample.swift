import HeadgateCore
import HeadgateData
import HeadgateServer

/// A load rule and a transformation of a program.
enum RulesExample {
    static func add(to configuration: inout ServerConfiguration) {
        let premium = Rule.just(.equals(ignoreCase: true, variable: "data.plan", target: "premium"))
        let isTest = Rule.just(.startsWith(ignoreCase: false, variable: "event", target: "test."))
        configuration.setLoadRule(.and([premium, .not(isTest)]), forId: "premium")
    }

    static func addTransformation(to gate: Headgate) throws {
        gate.transformations.register(Pseudonyms(), id: "pseudonyms")
        try gate.transformations.set(
            TransformationSettings(
                id: "till_names", transformerId: "pseudonyms", scopes: [.dispatcher(id: "collect")],
                when: .just(.startsWith(ignoreCase: false, variable: "event", target: "sale"))))
    }
}

/// Removes the cashier's name, and drops events without one.
struct Pseudonyms: Transformer {
    func transform(_ event: EventDocument, dispatcher: String?) throws -> EventDocument? {
        guard let name: String = event.data.get(key: "cashier") else { return nil }
        var changed = event
        changed.data["cashier"] = .string("cashier of \(name.count) letters")
        return changed
    }
}
