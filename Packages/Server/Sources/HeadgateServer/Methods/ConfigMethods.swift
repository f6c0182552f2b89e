import HeadgateData
import HeadgateWire

/// The methods `config.get`, `config.set` and `config.reload`.
struct ConfigMethods: MethodFamily {
    let control: SettingsControl
    let paths: DaemonPaths

    private static let get = FamilyMethod<Self>(
        "config.get", .observe, "Returns the settings in force, or those of one layer, with secrets replaced by ***.",
        changesNothing: true,
        Field(optional: "layer", Shape<SettingsLayer>.word.named("SettingsLayer"), "the layer to return"),
        result: .anyObject
    ) { parts, call, layer in
        guard let layer else {
            return call.reply.answer(
                SettingsDisplay.inForce(
                    parts.control.effective, paths: parts.paths, secrets: parts.control.inForce.secrets))
        }
        call.reply.answer(SettingsDisplay.blanked(parts.control.layers[layer], secrets: parts.control.inForce.secrets))
    }

    private static let set = FamilyMethod<Self>(
        "config.set", .configure, "Merges a patch into the programmatic layer; null removes.",
        Field("patch", .settings, "the patch, in the form of the settings"),
        Field(optional: "persist", default: false, "true: the change survives a restart"),
        reasons: [.invalidSettings, .storage]
    ) { parts, call, patch, persists in
        parts.control.set(patch, persists: persists) { [reply = call.reply] result in
            switch result {
            case .success: reply.answer()
            case .failure(.refused(let faults)): reply.fail(.invalidSettings(faults))
            case .failure(.notPersisted):
                reply.fail(
                    RPCError(.storage, "the change is in force but could not be saved: it is lost at the next start"))
            }
        }
    }

    private static let reload = FamilyMethod<Self>(
        "config.reload", .control, "Reads the configuration file again.",
        result: changed.schema, reasons: [.invalidSettings]
    ) { parts, call throws(RPCError) in
        // A reload is more work than other calls, so it costs more of the session's share of this turn (Behaviour X3).
        call.session.spend(answer: TurnShare.reload * TurnShare.answerBytes)
        switch parts.control.reload() {
        case .changed(let paths): call.reply.answer(changed, paths)
        case .refused(let faults): throw .invalidSettings(faults)
        }
    }

    private static let changed = OutputShape<[String]>.object([
        .required("changed", .array(.name), \.self, "the key paths of the changed settings")
    ])

    static let methods = [get, set, reload]
}

extension Shape where Value == DataObject {
    /// An object without repeated names. Parsers disagree on which of two equal names counts.
    fileprivate static var settings: Shape {
        Shape(.anyObject) { view throws(ParameterFault) in
            let object = try Shape<DataObject>.object.read(view)
            if let path = view.repeatedMember { throw ParameterFault("has `\(path)` twice") }
            return object
        }
    }
}

extension RPCError {
    fileprivate static func invalidSettings(_ faults: [SettingsFault]) -> RPCError {
        invalidSettings(faults: faults.map { ($0.path, $0.message) })
    }
}
