import HeadgateData

extension Headgate {
    /// Names a transformer, so that transformations can be done by it.
    public func registerTransformer(_ transformer: any Transformer, id: String) {
        transformations.register(transformer, id: id)
    }

    /// Forgets a transformer. What it did is not done any more.
    public func unregisterTransformer(id: String) {
        transformations.unregister(id)
    }

    /// Adds a transformation, or replaces the one of its id (Behaviour P4). It is in force for what is stored or sent next;
    /// batches on their way go on as they are.
    ///
    /// Throws when its transformer is not registered, or when `when` has a fault; it may name rules that are set later.
    public func setTransformation(_ settings: TransformationSettings) throws(TransformationFault) {
        try transformations.set(settings)
    }

    /// Takes a transformation away; an unknown one changes nothing.
    public func removeTransformation(id: String) {
        transformations.remove(id)
    }

    /// How stored events are read so that they can be transformed before they are sent: gives the members of a JSON object,
    /// nil when it is none. Set once, before events are accepted.
    public func readObjects(with read: @escaping (UnsafeRawBufferPointer) -> DataObject?) {
        transformations.readObject = read
    }

    // MARK: Before the store

    /// Whether events are transformed before they are stored.
    public var transformsAfterCollectors: Bool { !transformations.afterCollectors.isEmpty }

    /// Transforms an event before it is stored.
    /// - Parameter members: the event as it would be delivered, as far as that is known: `id`, `event`, `time`,
    ///   `received_at`, `key`, `context`, `data`.
    public func transformAfterCollectors(_ members: DataObject) -> TransformedEvent {
        transformations.afterCollectors.transform(EventDocument(members: members), dispatcher: nil)
    }
}
