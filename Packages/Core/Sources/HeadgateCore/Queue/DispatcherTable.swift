import HeadgateData

/// A dictionary by dispatcher number, kept as two sorted arrays. Most programs have few dispatchers and look them up
/// constantly: a binary search costs a small part of a hash.
struct DispatcherTable<Value> {
    /// The keys, ascending.
    private var numbers: [DispatcherNumber] = []
    /// The values, at the same indices as their keys.
    private(set) var values: [Value] = []

    subscript(number: DispatcherNumber) -> Value? {
        get {
            let index = index(of: number)
            return holds(number, at: index) ? values[index] : nil
        }
        set {
            let index = index(of: number)
            switch (holds(number, at: index), newValue) {
            case (true, let value?): values[index] = value
            case (true, nil):
                numbers.remove(at: index)
                values.remove(at: index)
            case (false, let value?):
                numbers.insert(number, at: index)
                values.insert(value, at: index)
            case (false, nil): break
            }
        }
    }

    subscript(number: DispatcherNumber, default value: Value) -> Value {
        get { self[number] ?? value }
        set { self[number] = newValue }
    }

    private func holds(_ number: DispatcherNumber, at index: Int) -> Bool {
        index < numbers.count && numbers[index] == number
    }

    /// Returns the index of the first key that is not less than `number`.
    private func index(of number: DispatcherNumber) -> Int {
        BinarySearch.first(in: 0..<numbers.count) { numbers[$0] >= number }
    }
}

extension DispatcherTable<Tally> {
    /// Returns the largest tally of the dispatchers except one.
    func largest(except number: DispatcherNumber) -> Tally {
        var others = self
        others[number] = nil
        return others.values.max { $0.events < $1.events } ?? .zero
    }
}
