import HeadgateData

@testable import HeadgateServer

/// What an operator has set to outlive the daemon (Behaviour S1): what was told to be kept, and what may be since.
struct KeptSettings {
    /// The newest last, by number; what was told to be kept is the first.
    private var perhaps: [(number: Int, settings: DataObject)] = [(0, [:])]
    /// What was kept before that.
    private var former: [(number: Int, settings: DataObject)] = []
    private var last = 0

    /// What is kept if all went well.
    var present: DataObject { perhaps.last?.settings ?? [:] }

    /// Somebody asks that more be kept.
    /// - Returns: the number of that wish.
    mutating func ask(_ patch: DataObject) -> Int {
        last += 1
        perhaps.append((last, present.patched(with: patch)))
        return last
    }

    /// A wish is fulfilled, and all before it with it.
    mutating func answer(_ number: Int) {
        former += perhaps.filter { $0.number < number }
        perhaps.removeAll { $0.number < number }
    }

    /// What was written last, and not with events, may be gone.
    mutating func losePower() {
        perhaps = former + perhaps
    }

    /// A daemon begins with what it has found.
    /// - Returns: whether that is something that may have been kept.
    mutating func begin(with isFound: (DataObject) -> Bool) -> Bool {
        guard let found = perhaps.last(where: { isFound($0.settings) }) else { return false }
        former += perhaps.filter { $0.number != found.number }
        perhaps = [found]
        return true
    }
}
