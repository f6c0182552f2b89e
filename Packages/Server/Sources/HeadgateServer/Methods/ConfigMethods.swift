import HeadgateData
import HeadgateWire

extension SettingsLayer: ParameterValue {}

/// `config.get`.
enum ConfigMethods {
    static let all = [Method("config.get", .observe, get)]

    private static func get(_ service: Service, _ call: Call) throws(RPCError) {
        let layer: SettingsLayer? = try call.reader.optional("layer")
        guard let layer else {
            return call.reply.answer(SettingsDisplay.inForce(service.layers.effective, places: service.places))
        }
        call.reply.answer(SettingsDisplay.blanked(service.layers[layer]))
    }
}
