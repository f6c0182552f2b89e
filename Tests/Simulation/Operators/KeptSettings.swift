import HeadgateData

@testable import HeadgateServer

/// The settings that an operator persisted (Behaviour S1): those confirmed, and later ones that may be persisted.
struct KeptSettings {
    /// Possible states, newest last. The first is the confirmed one.
    private var perhaps: [(number: Int, settings: DataObject)] = [(0, [:])]
    /// Earlier states.
    private var former: [(number: Int, settings: DataObject)] = []
    private var last = 0

    /// The settings if all requests succeed.
    var present: DataObject { perhaps.last?.settings ?? [:] }

    /// Records a request to persist more settings.
    /// - Returns: The number of the request.
    mutating func ask(_ patch: DataObject) -> Int {
        last += 1
        perhaps.append((last, present.patched(with: patch)))
        return last
    }

    /// Confirms a request, and all requests before it.
    mutating func answer(_ number: Int) {
        former += perhaps.filter { $0.number < number }
        perhaps.removeAll { $0.number < number }
    }

    /// Records a power failure: the last writes may be lost unless events were written after them.
    mutating func losePower() {
        perhaps = former + perhaps
    }

    /// Determines the state that a new daemon has found.
    /// - Returns: True if it is one of the possible states.
    mutating func begin(with isFound: (DataObject) -> Bool) -> Bool {
        guard let found = perhaps.last(where: { isFound($0.settings) }) else { return false }
        former += perhaps.filter { $0.number != found.number }
        perhaps = [found]
        return true
    }
}
