/// A header that cannot be sent: it names the header and never tells its value (Behaviour X4).
struct HeaderFault: Error, Equatable {
    var header: String
    var fault: String

    /// For people, like `header Authorization: variable not set`.
    var cause: String {
        "header \(header): \(fault)"
    }
}
