import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// The parts of an event that rules read and transformations change.
struct Content: Equatable {
    /// The number sent by the client, which never changes.
    let number: Int
    /// A text that each mark extends by one word.
    var trail = ""
    /// A value that each seal replaces.
    var seal: String?

    init?(_ event: DataObject) {
        guard case .object(let data)? = event["data"], let number = data["n"].flatMap(Int.init(dataItem:)) else {
            return nil
        }
        self.number = number
        trail = data["trail"].flatMap(String.init(dataItem:)) ?? ""
        seal = data["seal"].flatMap(String.init(dataItem:))
    }
}

/// Random load rules and transformations, and a model of their effect on an event (Behaviour P3, P4, S5).
struct Rulebook {
    /// A rule in the settings, and a closure that decides which events it matches.
    struct Choice {
        let settings: DataItem
        let holds: (Content) -> Bool
    }

    /// A transformation.
    struct Mark {
        enum Work: String, CaseIterable { case add, drop, fail, seal }

        let id: String
        let word: String
        /// The scopes: `afterCollectors`, `allDispatchers` or `dispatcher:ID`.
        let scopes: [String]
        let order: Int?
        let choice: Choice
        let work: Work
    }

    /// The load rule of each dispatcher.
    private let wants: [String: Choice]
    private let marks: [Mark]

    init(_ record: Record) {
        wants = Dictionary(uniqueKeysWithValues: ["a", "b", "c", "d"].map { ($0, Choice(record)) })
        marks = ["p", "q", "r", "s"].filter { _ in record.oneIn(2) }.map { Mark($0, record) }
    }

    // MARK: The model

    /// Returns true if a dispatcher takes an event. A dispatcher without a rule takes all.
    func wants(_ content: Content, _ queue: String) -> Bool {
        wants[queue]?.holds(content) ?? true
    }

    /// Returns an event as it is stored, or nil if it is dropped.
    func stored(_ content: Content) -> Content? {
        changed(content, at: ["afterCollectors"])
    }

    /// Returns an event as it is sent to a dispatcher, or nil if it is dropped.
    func sent(_ content: Content, to queue: String) -> Content? {
        changed(content, at: ["allDispatchers", "dispatcher:" + queue])
    }

    private func changed(_ content: Content, at scopes: Set<String>) -> Content? {
        let mine = marks.enumerated().filter { !scopes.isDisjoint(with: $0.element.scopes) }
            .sorted { ($0.element.order ?? $0.offset, $0.offset) < ($1.element.order ?? $1.offset, $1.offset) }
        var content = content
        for (_, mark) in mine where mark.choice.holds(content) {
            switch mark.work {
            case .add: content.trail += mark.word
            case .seal: content.seal = mark.word
            case .drop: return nil
            case .fail: break
            }
        }
        return content
    }

    // MARK: Settings

    /// The settings with these rules and transformations. Lists are replaced by a change, but objects would be merged.
    var settings: DataObject {
        var rules: DataObject = ["half": Rulebook.half]
        for (queue, choice) in wants.sorted(by: { $0.key < $1.key }) {
            rules["for_" + queue] = ["and": [choice.settings]]
        }
        return ["load_rules": .object(rules), "transformations": .array(marks.map { .object($0.settings) })]
    }

    /// Returns the constant part of a dispatcher's settings.
    static func reference(of queue: String) -> DataObject { ["load_rule": .string("for_" + queue)] }

    /// A rule that other rules reference.
    private static let half: DataItem = .object(test("less_than", "data.n", 50))

    fileprivate static func test(_ name: String, _ path: String, _ value: DataItem? = nil) -> DataObject {
        let test: DataObject = ["operator": .string(name), "path": .string(path)]
        return value.map { test.patched(with: ["value": $0]) } ?? test
    }
}

extension Rulebook.Choice {
    fileprivate init(_ settings: DataItem, _ holds: @escaping (Content) -> Bool) {
        (self.settings, self.holds) = (settings, holds)
    }

    /// Creates a random rule of one of several forms.
    fileprivate init(_ record: Record) {
        let bound = record.number(0...100)
        let value = DataItem.number(DataNumber(bound))
        let less = DataItem.object(Rulebook.test("less_than", "data.n", value))
        switch record.number(0...8) {
        case 0: self.init(less) { $0.number < bound }
        case 1: self.init(["not": less]) { $0.number >= bound }
        case 2: self.init(["and": [less, "half"]]) { $0.number < min(bound, 50) }
        case 3: self.init(["or": [less, ["not": "half"]]]) { $0.number < bound || $0.number >= 50 }
        case 4:
            // A condition that cannot be evaluated is false, even with a negated operator.
            self.init(.object(Rulebook.test("not_equals", "data.seal", "s1"))) { $0.seal != nil && $0.seal != "s1" }
        case 5: self.init(.object(Rulebook.test("is_not_defined", "data.seal"))) { $0.seal == nil }
        case 6: self.init(.object(Rulebook.test("contains", "data.trail", "p"))) { $0.trail.contains("p") }
        default: self.init(.object(Rulebook.test("is_defined", "data.n"))) { _ in true }
        }
    }
}

extension Rulebook.Mark {
    fileprivate init(_ id: String, _ record: Record) {
        self.id = id
        word = "\(id)\(record.number(0...3))"
        scopes = record.pick([
            ["afterCollectors"], ["afterCollectors"], ["allDispatchers"], ["allDispatchers"], ["dispatcher:a"],
            ["afterCollectors", "dispatcher:b"],
        ])
        order = record.oneIn(2) ? nil : record.number(0...5)
        choice = Rulebook.Choice(record)
        work = record.pick([.add, .add, .add, .seal, .seal, .fail, .drop])
    }

    fileprivate var settings: DataObject {
        var entry: DataObject = [
            "id": .string(id), "scopes": .array(scopes.map { .string($0) }), "when": choice.settings,
        ]
        if let order { entry["order"] = .number(DataNumber(order)) }
        guard work != .seal else { return entry.patched(with: ["set": ["data.seal": .string(word)]]) }
        return entry.patched(with: [
            "kind": "mark", "configuration": ["word": .string(word), "work": .string(work.rawValue)],
        ])
    }
}
