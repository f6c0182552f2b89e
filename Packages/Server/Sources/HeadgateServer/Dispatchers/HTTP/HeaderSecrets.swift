/// What is worth as much as the value of a secret header, so that a server may tell none of it on (Behaviour X4).
enum HeaderSecrets {
    /// The value; what follows its scheme, as `abc` in `Bearer abc`; the user and password of `Basic`; and the values of
    /// its parameters, as in `Token key="abc"` or `session=abc; theme=dark`.
    static func forms(of value: String) -> [String] {
        var forms = [value] + parameters(of: value)
        if let space = value.firstIndex(of: " ") {
            let credentials = value[value.index(after: space)...]
            forms.append(String(credentials))
            if value[..<space].lowercased() == "basic" {
                forms += BasicCredentials(base64: credentials)?.secrets ?? []
            }
        }
        return forms
    }

    private static func parameters(of value: String) -> [String] {
        value.split { ",; ".contains($0) }.compactMap { piece in
            guard let mark = piece.firstIndex(of: "=") else { return nil }
            let text = piece[piece.index(after: mark)...].trimmingQuotes
            return text.utf8.count >= shortest ? String(text) : nil
        }
    }

    /// What is shorter is hardly a secret, and would blank half of an answer: `1`, `dark`.
    private static let shortest = 6
}

extension Substring {
    fileprivate var trimmingQuotes: Substring {
        guard count >= 2, first == "\"", last == "\"" else { return self }
        return dropFirst().dropLast()
    }
}
