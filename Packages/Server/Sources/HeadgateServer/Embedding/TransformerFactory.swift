import HeadgateCore
import HeadgateData

/// Makes the transformers of one kind that a program brings (Behaviour P4, S6). An entry of `transformations` names the kind,
/// and has its place and its events like those that come with the service:
///
///     "transformations": [
///         {"id": "till", "kind": "mask", "scopes": ["dispatcher:collect"], "when": "is_sale", "configuration": {"keep": 4}}
///     ]
public protocol TransformerFactory {
    /// The kind's name, as `kind` in the settings takes it.
    var kind: String { get }
    /// Makes the transformer of one entry: at the start, and again when its kind or its configuration changes.
    /// - Parameters:
    ///   - id: the entry's `id`, or its place in the list, like `[0]`.
    ///   - configuration: the object `configuration` of the entry, empty where there is none.
    ///   - worker: where all of the transformer is called.
    /// - Throws: anything; at the start it ends the start, later the change is refused with it (Behaviour S2).
    func makeTransformer(
        transformation id: String, configuration: DataObject, on worker: any Worker
    ) throws -> any Transformer
}
