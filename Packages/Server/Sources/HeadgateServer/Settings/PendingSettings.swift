import HeadgateData

/// Settings that are not in force because they contradict other settings: parts of the persisted settings, and the
/// remote layer. They are applied as soon as a change of another layer makes them valid (Behaviour S1).
struct PendingSettings: Equatable {
    /// The parts of the persisted settings that are not in force.
    var leftOut: [LeftOutSettings] = []
    /// The remote layer, or nil if it is in force or if there is none.
    var remote: DataObject?

    /// Layers that may be applied, and the settings that are still pending.
    struct Candidate {
        var layers: SettingsLayers
        var reading: SettingsReading
        var waiting: PendingSettings
    }

    /// Removes the settings that a patch of the programmatic layer removes.
    mutating func remove(_ patch: DataObject) {
        for index in leftOut.indices {
            leftOut[index].patch = leftOut[index].patch.patched(with: patch.removals)
        }
        leftOut.removeAll { $0.part.patch(in: $0.patch) == nil }
    }

    /// Returns the layers with as many pending settings as the check accepts.
    func fullest(_ layers: SettingsLayers, _ check: SettingsCheck) -> Candidate {
        var best = Candidate(layers: layers, reading: check.read(layers), waiting: self)
        guard best.reading.settings != nil else { return everything(layers, check) ?? best }
        while let better = addingOne(to: best, check) { best = better }
        return best
    }

    /// Returns the layers with all pending settings, or nil if there are none or the check refuses the whole.
    private func everything(_ layers: SettingsLayers, _ check: SettingsCheck) -> Candidate? {
        guard !leftOut.isEmpty || remote != nil else { return nil }
        var whole = layers
        if let remote { whole[.remote] = remote }
        for part in leftOut.reversed() { whole.putBeneath(part.patch) }
        let reading = check.read(whole)
        return reading.settings.map { _ in Candidate(layers: whole, reading: reading, waiting: PendingSettings()) }
    }

    /// Returns the candidate with one more pending setting, or nil if the check accepts none.
    private func addingOne(to best: Candidate, _ check: SettingsCheck) -> Candidate? {
        for (layers, waiting) in best.waiting.steps(from: best.layers) {
            let reading = check.read(layers)
            if reading.settings != nil { return Candidate(layers: layers, reading: reading, waiting: waiting) }
        }
        return nil
    }

    /// Returns each possible next step: the layers with one more pending setting, and the settings that are still
    /// pending.
    private func steps(from layers: SettingsLayers) -> [(SettingsLayers, PendingSettings)] {
        var steps: [(SettingsLayers, PendingSettings)] = []
        if let remote {
            var with = layers
            with[.remote] = remote
            steps.append((with, PendingSettings(leftOut: leftOut)))
        }
        for (index, part) in leftOut.enumerated() {
            var (with, rest) = (layers, self)
            with.putBeneath(part.patch)
            rest.leftOut.remove(at: index)
            steps.append((with, rest))
        }
        return steps
    }
}

extension SettingsLayers {
    /// Adds settings to the programmatic layer. Values that the layer already has take precedence.
    fileprivate mutating func putBeneath(_ patch: DataObject) {
        self[.programmatic] = patch.patched(with: self[.programmatic])
    }
}
