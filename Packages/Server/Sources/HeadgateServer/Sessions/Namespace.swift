import HeadgateCore

/// A caller's namespace, in the forms that its events need.
struct Namespace {
    /// The name in UTF-8.
    let bytes: PinnedBytes
    /// The number that stands for the namespace in the trace of events.
    let number: UInt32
    /// The account of the user's namespace in the shares of the store (Behaviour Q4). The session closes it.
    let account: StoreShares.Number

    init(of caller: Caller, _ gate: Headgate) {
        bytes = PinnedBytes(Array(caller.namespace.utf8))
        number = gate.trace.number(ofNamespace: caller.namespace)
        account = gate.events.openAccount(uid: caller.credentials.uid, namespace: caller.namespace)
    }
}
