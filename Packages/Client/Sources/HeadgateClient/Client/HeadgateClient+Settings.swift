import HeadgateData

/// The daemon's settings.
extension HeadgateClient {
    /// Where settings come from (Behaviour S1).
    public enum SettingsLayer: String, Sendable, CaseIterable {
        /// The configuration file.
        case file
        /// A URL that the file names.
        case remote
        /// What programs have set.
        case programmatic
    }

    /// The settings in force, or those of one layer; secrets are blanked (Behaviour X4).
    public func settings(_ layer: SettingsLayer? = nil, deadline: Duration? = nil) async throws -> DataObject {
        var params: DataObject = [:]
        params["layer"] = layer.map { .string($0.rawValue) }
        return try await object("config.get", params, deadline)
    }

    /// Changes settings, all of them or none (Behaviour S1, S2).
    /// - Parameters:
    ///   - patch: what is merged into the programmatic layer; null removes.
    ///   - persist: whether it is kept over a restart of the daemon.
    ///   - deadline: how long to wait; nil is for ever.
    /// - Throws: ``ClientError``; `refused` with the reason `invalid_settings`, and every fault with its path in the
    ///   error's data.
    public func changeSettings(_ patch: DataObject, persist: Bool = false, deadline: Duration? = nil) async throws {
        var params: DataObject = ["patch": .object(patch)]
        if persist { params["persist"] = true }
        _ = try await object("config.set", params, deadline)
    }

    /// Has the daemon read its configuration file again (Behaviour S3).
    /// - Returns: the paths of the settings that have changed.
    @discardableResult
    public func reloadSettings(deadline: Duration? = nil) async throws -> [String] {
        let result = try await object("config.reload", [:], deadline)
        guard let changed = result.get(key: "changed", as: [String].self) else {
            throw ClientError.badAnswer("a result of config.reload without changed")
        }
        return changed
    }
}
