import HeadgateData

extension SettingsReader {
    /// Reads an object whose members are HTTP headers, in their order.
    func headers() -> [HTTPSettings.Header] {
        var seen: Set<String> = []
        return keys.compactMap { name in
            guard let value = headerValue(name) else { return nil }
            if let complaint = HeaderName.complaint(about: name) { fault(name, "", complaint) }
            if !seen.insert(name.lowercased()).inserted { fault(name, "", "is there twice") }
            return HTTPSettings.Header(name: name, value: value)
        }
    }

    private func headerValue(_ name: String) -> HTTPSettings.HeaderValue? {
        switch item(name) {
        case nil: return nil
        case .string(let text):
            if text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) { return .text(text) }
            fault(name, "", "must be without line ends and other control characters")
        case .object: return referredValue(name)
        default: fault(name, "", SettingsReader.headerKinds)
        }
        return nil
    }

    private static let headerKinds = #"must be a string, {"file": path} or {"env": name}"#

    private func referredValue(_ name: String) -> HTTPSettings.HeaderValue? {
        var values: [HTTPSettings.HeaderValue] = []
        section(name) { source in
            guard !NotYetSupported.headerSources.contains(where: { source.item($0) != nil }) else {
                source.acceptEveryKey()
                return source.refuse(NotYetSupported.headerSources)
            }
            if let path = source.filePath("file") { values.append(.file(path)) }
            if let variable = source.variable("env") { values.append(.environment(variable)) }
            if (source.item("file") == nil) == (source.item("env") == nil) { source.fault(SettingsReader.headerKinds) }
        }
        return values.first
    }

    /// The name of an environment variable.
    private func variable(_ key: String) -> String? {
        guard let name = string(key) else { return nil }
        if !name.isEmpty, name.utf8.allSatisfy({ $0 != 0 && $0 != UInt8(ascii: "=") }) { return name }
        fault(key, "", "must be the name of an environment variable")
        return nil
    }
}
