import HeadgateCore
import HeadgateData
import HeadgateWire

extension JSONView {
    /// The value to which the names lead from here, as ``EventPath`` has it; nil when there is none. Of several members with
    /// one name the last counts.
    func value(at names: [String]) -> JSONView? {
        var place = self
        for name in names {
            guard let next = place.member(named: name) ?? place.element(named: name) else { return nil }
            place = next
        }
        return place
    }

    private func member(named name: String) -> JSONView? {
        guard let members else { return nil }
        var found: JSONView?
        for (key, value) in members where key.isString(name) { found = value }
        return found
    }

    private func element(named name: String) -> JSONView? {
        guard let elements, let index = EventPath.index(named: name, in: elements.count) else { return nil }
        return elements.dropFirst(index).first { _ in true }
    }

    private func isString(_ text: String) -> Bool {
        guard let contents else { return string.map { $0.utf8.elementsEqual(text.utf8) } ?? false }
        return contents.count == text.utf8.count && contents.elementsEqual(text.utf8)
    }
}

extension FieldValue {
    /// A value as it stands in a message; arrays and objects are not read.
    init(_ view: JSONView) {
        switch view.kind {
        case .null: self = .null
        case .bool: self = .bool(view.bool ?? false)
        case .number: self = view.number.map(FieldValue.number) ?? .null
        case .string: self = .string(view.string ?? "")
        case .array: self = .array(isEmpty: view.count == 0)
        case .object: self = .object(isEmpty: view.count == 0)
        }
    }
}
