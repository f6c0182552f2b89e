import HeadgateData
import HeadgateWire

extension SettingsLayer: ParameterValue {}

/// `config.get`, `config.set` and `config.reload`.
enum ConfigMethods {
    static let all = [
        Method("config.get", .observe, get), Method("config.set", .control, set),
        Method("config.reload", .control, reload),
    ]

    private static func get(_ service: Service, _ call: Call) throws(RPCError) {
        let layer: SettingsLayer? = try call.reader.optional("layer")
        guard let layer else {
            return call.reply.answer(
                SettingsDisplay.inForce(
                    service.layers.effective, places: service.places, secrets: service.settings.secrets))
        }
        call.reply.answer(SettingsDisplay.blanked(service.layers[layer], secrets: service.settings.secrets))
    }

    private static func set(_ service: Service, _ call: Call) throws(RPCError) {
        let patch: DataObject = try call.reader.required("patch")
        let persists = try call.reader.optional("persist", as: Bool.self) ?? false
        service.set(patch, persists: persists) { [reply = call.reply] result in
            switch result {
            case .success: reply.answer()
            case .failure(.refused(let faults)): reply.fail(.invalidSettings(faults))
            case .failure(.notKept):
                reply.fail(RPCError(.storage, "it is in force, but could not be written down for the next start"))
            }
        }
    }

    private static func reload(_ service: Service, _ call: Call) throws(RPCError) {
        switch service.control.reload() {
        case .changed(let paths): call.reply.answer(["changed": .array(paths.map { .string($0) })])
        case .refused(let faults): throw .invalidSettings(faults)
        }
    }
}

extension RPCError {
    fileprivate static func invalidSettings(_ faults: [SettingsFault]) -> RPCError {
        invalidSettings(faults: faults.map { ($0.path, $0.message) })
    }
}
