import HeadgateCore
import HeadgateData
import HeadgateWire

extension Service {
    /// What the gate needs of libraries, and of the service around it.
    static func surroundings(_ boards: BoardDesk) -> GateSurroundings {
        let scanner = JSONScanner(maxDepth: JSONScanner.greatestDepth)
        return GateSurroundings(
            timeZone: ZoneInfo().rules, patternCompiler: RE2Compiler(),
            readObject: { bytes in (try? scanner.scan(bytes)).flatMap { DataObject(dataItem: $0.item) } },
            boardActivator: boards)
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
