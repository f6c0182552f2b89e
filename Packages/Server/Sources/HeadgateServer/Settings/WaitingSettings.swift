import HeadgateData

/// Settings that do not fit the others for now: parts of what was persisted, and the remote layer. They are put in force as
/// soon as a change of another layer makes them fit (Behaviour S1).
struct WaitingSettings: Equatable {
    /// The persisted parts.
    var leftOut: [LeftOutSettings] = []
    /// The remote layer; nil if it is in force, or there is none.
    var remote: DataObject?

    /// Layers that may be put in force, and what still waits then.
    struct Candidate {
        var layers: SettingsLayers
        var reading: SettingsReading
        var waiting: WaitingSettings
    }

    /// Takes out what a patch of the programmatic layer removes.
    mutating func remove(_ patch: DataObject) {
        for place in leftOut.indices {
            leftOut[place].patch = leftOut[place].patch.patched(with: patch.removals)
        }
        leftOut.removeAll { $0.part.patch(in: $0.patch) == nil }
    }

    /// Adds as much as fits to layers that are to be put in force.
    func fullest(_ layers: SettingsLayers, _ check: SettingsCheck) -> Candidate {
        var best = Candidate(layers: layers, reading: check.read(layers), waiting: self)
        guard best.reading.settings != nil else { return everything(layers, check) ?? best }
        while let better = addingOne(to: best, check) { best = better }
        return best
    }

    /// Layers with everything that waits; nil if they do not fit either.
    private func everything(_ layers: SettingsLayers, _ check: SettingsCheck) -> Candidate? {
        guard !leftOut.isEmpty || remote != nil else { return nil }
        var whole = layers
        if let remote { whole[.remote] = remote }
        for part in leftOut.reversed() { whole.putBeneath(part.patch) }
        let reading = check.read(whole)
        return reading.settings.map { _ in Candidate(layers: whole, reading: reading, waiting: WaitingSettings()) }
    }

    /// The candidate with one more of the settings that wait in it; nil if none fits.
    private func addingOne(to best: Candidate, _ check: SettingsCheck) -> Candidate? {
        for (layers, waiting) in best.waiting.steps(from: best.layers) {
            let reading = check.read(layers)
            if reading.settings != nil { return Candidate(layers: layers, reading: reading, waiting: waiting) }
        }
        return nil
    }

    /// The layers with one of the settings that wait, and what waits then.
    private func steps(from layers: SettingsLayers) -> [(SettingsLayers, WaitingSettings)] {
        var steps: [(SettingsLayers, WaitingSettings)] = []
        if let remote {
            var with = layers
            with[.remote] = remote
            steps.append((with, WaitingSettings(leftOut: leftOut)))
        }
        for (place, part) in leftOut.enumerated() {
            var (with, rest) = (layers, self)
            with.putBeneath(part.patch)
            rest.leftOut.remove(at: place)
            steps.append((with, rest))
        }
        return steps
    }
}

extension SettingsLayers {
    /// Adds settings to the programmatic layer, where those that are there already win.
    fileprivate mutating func putBeneath(_ patch: DataObject) {
        self[.programmatic] = patch.patched(with: self[.programmatic])
    }
}
