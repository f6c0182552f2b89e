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

    /// Makes who does what a transformation of the settings says (Behaviour P4, S6).
    func makeTransformer(_ transformation: ConfiguredTransformation) throws -> any Transformer {
        switch transformation.work {
        case .edits(let edits):
            return EditingTransformer(edits, digest: SHA256.digits)
        case .own(let kind, let settings):
            guard let factory = configuration.transformerFactories.last(where: { $0.kind == kind }) else {
                preconditionFailure("settings of this kind are only read where there is a factory")
            }
            return try factory.makeTransformer(
                transformation: transformation.id, configuration: settings, on: worker)
        }
    }
}
