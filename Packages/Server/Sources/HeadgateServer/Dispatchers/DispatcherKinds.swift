/// The kinds of dispatchers that settings may name.
struct DispatcherKinds {
    /// The service's own kinds. To add a kind, add a line here and a folder beside this file.
    static var builtIn: [any DispatcherKind] {
        [HTTPKind(), OTLPKind(), FileKind(), WorkerKind(), NATSKind(), KafkaKind()]
    }

    private(set) var all = DispatcherKinds.builtIn

    var names: [String] { all.map(\.name) }

    /// Adds a program's kind. It cannot replace one of the service's own kinds.
    mutating func add(_ kind: some DispatcherKind) {
        guard !DispatcherKinds.builtIn.contains(where: { $0.name == kind.name }) else { return }
        all.removeAll { $0.name == kind.name }
        all.append(kind)
    }

    func kind(named name: String) -> (any DispatcherKind)? {
        all.first { $0.name == name }
    }
}
