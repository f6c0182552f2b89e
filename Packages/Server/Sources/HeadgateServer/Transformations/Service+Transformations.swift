import HeadgateCore
import HeadgateData
import HeadgateWire

extension Service {
    /// Names the load rules of the settings (Behaviour S5) and puts the transformations in their places (Behaviour P4).
    func addRulesAndTransformations() throws(StartFault) {
        let scanner = JSONScanner(maxDepth: JSONScanner.greatestDepth)
        gate.readObjects { bytes in
            (try? scanner.scan(bytes)).flatMap { DataObject(dataItem: $0.item) }
        }
        for (id, rule) in settings.loadRules {
            do throws(RuleFault) {
                try gate.setLoadRule(rule, forId: id)
            } catch {
                throw StartFault("load_rules.\(id): \(error)")
            }
        }
        for transformation in settings.transformations { try add(transformation) }
    }

    private func add(_ transformation: ConfiguredTransformation) throws(StartFault) {
        let settings = transformation.settings
        let transformer = EditingTransformer(transformation.edits, digest: SHA256.digits)
        gate.registerTransformer(transformer, id: settings.transformerId)
        do throws(TransformationFault) {
            try gate.setTransformation(settings)
        } catch {
            throw StartFault("transformations.\(settings.id): \(error)")
        }
    }
}
