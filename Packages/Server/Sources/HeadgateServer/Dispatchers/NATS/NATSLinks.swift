import Synchronization

/// The links of all connections by number. libnats is given a number in place of a pointer: its threads may call back
/// when the connection is long destroyed, and then find nothing.
enum NATSLinks {
    private struct State {
        var links: [UInt: NATSLink] = [:]
        var next: UInt = 1
    }

    private static let state = Mutex(State())

    /// Takes in a link and gives it a number.
    static func add(_ link: NATSLink) -> UInt {
        state.withLock { state in
            let number = state.next
            state.next += 1
            state.links[number] = link
            return number
        }
    }

    static func remove(_ number: UInt) {
        state.withLock { $0.links[number] = nil }
    }

    /// The link that `closure(of:)` stands for; nil when it is gone.
    static func link(_ closure: UnsafeMutableRawPointer?) -> NATSLink? {
        state.withLock { $0.links[UInt(bitPattern: closure)] }
    }

    /// A number in the place of a pointer. Nobody reads what it would point to.
    static func closure(of number: UInt) -> UnsafeMutableRawPointer? {
        UnsafeMutableRawPointer(bitPattern: number)
    }
}
