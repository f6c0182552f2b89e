import HeadgateCore

/// A caller's namespace, in the forms that its events need.
struct Namespace {
    /// The name in UTF-8.
    let bytes: PinnedBytes
    /// The number that stands for the namespace in the trace of events.
    let number: UInt32

    init(_ name: String, _ trace: EventTrace) {
        bytes = PinnedBytes(Array(name.utf8))
        number = trace.number(ofNamespace: name)
    }
}
