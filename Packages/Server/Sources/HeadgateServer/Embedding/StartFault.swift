/// Why a daemon does not start, for people.
public struct StartFault: Error, CustomStringConvertible, Equatable, Sendable {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
