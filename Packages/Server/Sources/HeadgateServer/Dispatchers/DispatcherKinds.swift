/// The kinds of dispatchers that settings may name.
struct DispatcherKinds {
    /// The service's own kinds. To add a kind, add a line here and a folder beside this file.
    static var builtIn: [any DispatcherKind] {
        [HTTPKind(), OTLPKind(), FileKind(), WorkerKind(), NATSKind(), KafkaKind()]
    }

    private(set) var all = DispatcherKinds.builtIn

    var names: [String] { all.map(\.name) }

    /// Adds a kind of the embedding program, in place of an earlier one of the same name. A kind with the name of one of
    /// the service's own kinds is ignored.
    mutating func add(_ kind: some DispatcherKind) {
        guard !DispatcherKinds.builtIn.contains(where: { $0.name == kind.name }) else { return }
        all.removeAll { $0.name == kind.name }
        all.append(kind)
    }

    func kind(named name: String) -> (any DispatcherKind)? {
        all.first { $0.name == name }
    }
}
