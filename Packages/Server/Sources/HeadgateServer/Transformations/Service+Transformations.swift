import HeadgateCore
import HeadgateData
import HeadgateWire

extension Service {
    /// Lets transformations read what is stored.
    func prepareTransformations() {
        let scanner = JSONScanner(maxDepth: JSONScanner.greatestDepth)
        gate.readObjects { bytes in
            (try? scanner.scan(bytes)).flatMap { DataObject(dataItem: $0.item) }
        }
    }

    /// Puts a transformation of the settings in its place (Behaviour P4).
    func add(_ transformation: ConfiguredTransformation) throws(StartFault) {
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
