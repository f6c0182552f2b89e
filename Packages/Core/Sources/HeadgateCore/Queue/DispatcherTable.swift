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
            let place = place(of: number)
            return holds(number, at: place) ? values[place] : nil
        }
        set {
            let place = place(of: number)
            switch (holds(number, at: place), newValue) {
            case (true, let value?): values[place] = value
            case (true, nil):
                numbers.remove(at: place)
                values.remove(at: place)
            case (false, let value?):
                numbers.insert(number, at: place)
                values.insert(value, at: place)
            case (false, nil): break
            }
        }
    }

    subscript(number: DispatcherNumber, default value: Value) -> Value {
        get { self[number] ?? value }
        set { self[number] = newValue }
    }

    private func holds(_ number: DispatcherNumber, at place: Int) -> Bool {
        place < numbers.count && numbers[place] == number
    }

    /// Returns the index of the first key that is not less than `number`.
    private func place(of number: DispatcherNumber) -> Int {
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
