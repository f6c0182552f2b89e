import HeadgateData

extension SettingsReader {
    /// An object as it is, its keys unread.
    public func object(_ key: String) -> DataObject? {
        value(key, DataObject.self, mustBe: "an object")
    }

    /// A list as it is.
    public func array(_ key: String) -> [DataItem]? {
        value(key, [DataItem].self, mustBe: "a list")
    }

    /// Reads an object with keys of its own; nothing is done when it is absent.
    /// - Parameter most: how many it may have.
    public func section(_ key: String, most: Int = .max, _ read: (SettingsReader) -> Void) {
        guard let object = object(key, most: most) else { return }
        let inner = reader(object, at: key)
        read(inner)
        inner.finish()
    }

    /// An object with no more than so many entries.
    func object(_ key: String, most: Int) -> DataObject? {
        guard let object = object(key) else { return nil }
        if object.count <= most { return object }
        fault(key, "", "may have no more than \(most) entries")
        return nil
    }

    /// A list of no more than so many.
    func array(_ key: String, most: Int) -> [DataItem]? {
        guard let items = array(key) else { return nil }
        if items.count <= most { return items }
        fault(key, "", "may have no more than \(most) entries")
        return nil
    }

    /// Reads the objects that a member holds by names of their choice, in their order. An entry that is null was taken
    /// away.
    /// - Parameter most: how many there may be.
    func entries(_ key: String, most: Int, _ read: (_ name: String, _ entry: SettingsReader) -> Void) {
        section(key, most: most) { holder in
            for name in holder.keys { holder.section(name) { read(name, $0) } }
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
