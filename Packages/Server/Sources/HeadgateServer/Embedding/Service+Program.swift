import HeadgateCore

/// What the program around the service adds to it.
extension Service {
    /// Takes up the program's kinds of barriers and its load rules, for settings to refer to.
    func addProgramsOwn(_ configuration: ServerConfiguration) throws(StartFault) {
        for factory in configuration.factories { gate.factories[factory.kind] = factory }
        for (id, rule) in configuration.vocabulary.loadRules.sorted(by: { $0.key < $1.key }) {
            do throws(RuleFault) {
                try gate.setLoadRule(rule, forId: id)
            } catch {
                throw StartFault("load rule \(id): \(error)")
            }
        }
    }

    /// Adds the program's barriers that settings do not name: with an empty configuration, and the factory's scopes.
    func addUnnamedBarriers(_ configuration: ServerConfiguration) throws(StartFault) {
        for factory in configuration.factories where !settings.barriers.contains(where: { $0.id == factory.kind }) {
            do {
                try gate.addBarrier(id: factory.kind, kind: factory.kind, scopes: nil, configuration: [:])
            } catch {
                throw StartFault("barrier \(factory.kind): \(error)")
            }
        }
    }
}
