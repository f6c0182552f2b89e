import HeadgateCore

extension EventPath {
    /// What is wrong with a path as it was written; nil when it will do.
    func complaint(about text: String) -> String? {
        if text.isEmpty { return "must be a path, like data.user.id" }
        return names.count <= SettingsText.maxDepth ? nil : "leads deeper than \(SettingsText.maxDepth)"
    }
}
