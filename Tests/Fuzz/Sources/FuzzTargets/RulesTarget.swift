import HeadgateData
import HeadgateWire

@testable import HeadgateCore
@testable import HeadgateServer

/// Conditions on events, and paths into events. A path must find the same value in a JSON text and in the parsed event,
/// a condition and its negation must not both hold, and a value set at a path must be found there.
enum RulesTarget {
    private static nonisolated(unsafe) let scanner = JSONScanner(maxDepth: 16)
    // Shared by all inputs, as a daemon shares it between its rules.
    private static let compiler = RE2Compiler()

    /// The input is an operator, and one line each for a path, a value, and an event's data.
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        var input = FuzzInput(input)
        let choice = input.byte()
        let path = EventPath("data." + input.text(upTo: "\n"))
        let value = try? DataItem(parsing: input.bytes(upTo: "\n"))
        let data = input.remainder()
        let read: DataItem? = data.withUnsafeBytes { data in
            guard let view = try? scanner.scan(data) else { return nil }
            let found = view.value(at: path.names).map { FieldValue($0) }
            precondition(found == view.item.value(at: path.names[...]).map { FieldValue($0) }, "at \(path.names)")
            return view.item
        }
        guard case .object(let object)? = read else { return 0 }
        let document = EventDocument(members: ["event": "e", "context": [:], "data": .object(object)])
        change(document, path, value ?? .null)
        ask(document, path, value, choice)
        return 0
    }

    // MARK: Paths

    private static func change(_ document: EventDocument, _ path: EventPath, _ value: DataItem) {
        var changed = document
        if (try? changed.set(value, at: path)) != nil {
            precondition(changed[path] == value && changed.isTouched)
        }
        guard let removed = try? changed.remove(at: path) else { return }
        precondition(removed == value || document[path] == removed)
        // After an element is removed, the next one takes its index. After the root is removed, an empty object
        // remains.
        let mayStay = path.names.isEmpty || path.names.contains { Int($0) != nil }
        precondition(mayStay || changed[path] == nil)
    }

    // MARK: Conditions

    private static let contrary: [(Condition.Operator, Condition.Operator)] = [
        (.equals, .notEquals), (.startsWith, .notStartsWith), (.endsWith, .notEndsWith), (.contains, .notContains),
        (.regularExpression, .notRegularExpression), (.isDefined, .isNotDefined), (.isEmpty, .isNotEmpty),
        (.greaterThan, .lessThanOrEquals), (.lessThan, .greaterThanOrEquals),
    ]

    private static func ask(_ document: EventDocument, _ path: EventPath, _ value: DataItem?, _ choice: UInt8) {
        let (one, other) = contrary[Int(choice >> 1) % contrary.count]
        let answers = [one, other].compactMap { answer($0, document, path, value, ignoreCase: choice & 1 == 1) }
        guard answers.count == 2 else { return }
        precondition(!(answers[0] && answers[1]), "\(one) and \(other) both hold")
        let isThere = document[path] != nil
        if one == .isDefined { precondition(answers == [isThere, !isThere]) }
        if !isThere { precondition(answers[0] == false) }
    }

    private static func answer(
        _ operator: Condition.Operator, _ document: EventDocument, _ path: EventPath, _ value: DataItem?,
        ignoreCase: Bool
    ) -> Bool? {
        guard let condition = try? Condition(`operator`, path: path, value: value, ignoreCase: ignoreCase),
            let ready = try? ReadyCondition(condition, patterns: compiler)
        else { return nil }
        return ready.holds(for: document)
    }
}
