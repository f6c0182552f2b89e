import HeadgateData

extension SettingsReader {
    /// An object as it is, its keys unread.
    func object(_ key: String) -> DataObject? {
        value(key, DataObject.self, mustBe: "an object")
    }

    /// A list as it is.
    func array(_ key: String) -> [DataItem]? {
        value(key, [DataItem].self, mustBe: "a list")
    }

    /// Reads an object with keys of its own; nothing is done when it is absent.
    func section(_ key: String, _ read: (SettingsReader) -> Void) {
        guard let object = object(key) else { return }
        let inner = reader(object, at: key)
        read(inner)
        inner.finish()
    }

    /// Reads the objects that a member holds by names of their choice, in their order. An entry that is null was taken
    /// away.
    /// - Parameter most: how many there may be.
    func entries(_ key: String, most: Int, _ read: (_ name: String, _ entry: SettingsReader) -> Void) {
        guard let object = object(key) else { return }
        guard object.keys.count <= most else { return fault(key, "", "may have no more than \(most) entries") }
        let holder = reader(object, at: key)
        for name in object.keys {
            holder.section(name) { read(name, $0) }
        }
    }

    /// Whole numbers of a range.
    func integers(_ key: String, in range: ClosedRange<Int>) -> [Int] {
        var numbers: [Int] = []
        for (place, item) in (array(key) ?? []).enumerated() {
            if let number = Int(dataItem: item), range.contains(number) {
                numbers.append(number)
            } else {
                fault(key, "[\(place)]", "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
        }
        return numbers
    }
}
