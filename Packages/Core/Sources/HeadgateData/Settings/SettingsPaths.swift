extension DataObject {
    /// The key paths of all values that are no objects with members, like `limits.max_depth`, in order.
    public var leafPaths: [String] {
        flatMap { key, value -> [String] in
            guard case .object(let inner) = value, !inner.isEmpty else { return [key] }
            return inner.leafPaths.map { "\(key).\($0)" }
        }
    }
}
