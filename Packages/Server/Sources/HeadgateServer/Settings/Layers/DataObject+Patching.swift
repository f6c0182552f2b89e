import HeadgateData

extension DataObject {
    /// The object with a patch put on it, as JSON Merge Patch (RFC 7396) has it: objects by key, anything else replaced,
    /// null removes.
    func patched(with patch: DataObject) -> DataObject {
        var result = self
        for (key, value) in patch {
            result[key] = DataObject.patched(result[key], with: value)
        }
        return result
    }

    private static func patched(_ item: DataItem?, with patch: DataItem) -> DataItem? {
        switch patch {
        case .null: nil
        case .object(let patch):
            .object((item.flatMap(DataObject.init(dataItem:)) ?? [:]).patched(with: patch))
        default: patch
        }
    }
}
