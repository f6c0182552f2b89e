import HeadgateData

/// A type with a JSON form other than its own `Codable` form: `Timestamp` and types of Foundation.
///
/// Foundation's types are found by name at run time, because this module must not link Foundation. In a program without
/// Foundation none of them exists. Their contents are read and written through their own `Codable` form.
enum ForeignType {
    case timestamp, date, decimal, url, data

    init?(_ type: Any.Type) {
        guard let known = ForeignType.known[ObjectIdentifier(type)] else { return nil }
        self = known
    }

    private static let known: [ObjectIdentifier: ForeignType] = {
        // Mangled names: in FoundationEssentials (Swift 6), and in Foundation (before Swift 6).
        let names: [(String, ForeignType)] = [
            ("4DateV", .date), ("7DecimalV", .decimal), ("3URLV", .url), ("4DataV", .data),
        ]
        var known = [ObjectIdentifier(Timestamp.self): ForeignType.timestamp]
        for (name, type) in names {
            for module in ["20FoundationEssentials", "10Foundation"] {
                if let found = _typeByName(module + name) { known[ObjectIdentifier(found)] = type }
            }
        }
        return known
    }()

    /// A coder that uses each type's own `Codable` form.
    private static let plainly = DataCoder(dates: .asItself)

    /// Milliseconds from the beginning of 1970 to the beginning of 2001, the reference date of Foundation.
    private static let referenceDate = 978_307_200_000.0

    // MARK: Encoding

    /// Returns the JSON value of a value of this type, or nil if the type's own `Codable` form applies.
    func item(of value: some Encodable, _ encoder: ItemEncoder) throws -> DataItem? {
        switch self {
        case .timestamp, .date: try moment(value, encoder)
        case .decimal: try decimal(value, encoder)
        case .url: try url(value, encoder)
        case .data: (value as? any Sequence<UInt8>).map { .string(Base64.encode(Array($0))) }
        }
    }

    private func moment(_ value: some Encodable, _ encoder: ItemEncoder) throws -> DataItem? {
        let form = encoder.coder.dates
        guard form != .asItself else { return nil }
        guard let moment = try (value as? Timestamp) ?? date(value, encoder), Timestamp.expressible.contains(moment)
        else {
            throw EncodingError.no("\(value) is not in the years 0 to 9999", value, at: encoder.codingPath)
        }
        return moment.item(form)
    }

    private func date(_ value: some Encodable, _ encoder: ItemEncoder) throws -> Timestamp? {
        guard let seconds: Double = try encoder.item(of: value, by: ForeignType.plainly).get() else { return nil }
        return Int64(exactly: (seconds * 1_000 + ForeignType.referenceDate).rounded()).map(
            Timestamp.init(milliseconds:))
    }

    private func decimal(_ value: some Encodable, _ encoder: ItemEncoder) throws -> DataItem {
        let text = String(describing: value)
        guard text != "NaN" else {
            throw EncodingError.no("JSON has no number for \(text)", value, at: encoder.codingPath)
        }
        return .number(DataNumber(unchecked: text))
    }

    private func url(_ value: some Encodable, _ encoder: ItemEncoder) throws -> DataItem? {
        guard case .object(let parts) = try encoder.item(of: value, by: ForeignType.plainly) else { return nil }
        guard parts["base"] == nil else {
            throw EncodingError.no("\(value) is relative: use its absoluteURL", value, at: encoder.codingPath)
        }
        return parts["relative"]
    }

    // MARK: Decoding

    /// Decodes a value of this type, or returns nil if the type's own `Codable` form applies.
    func value<Value: Decodable>(of type: Value.Type, _ decoder: ItemDecoder) throws -> Value? {
        switch self {
        case .timestamp: try moment(decoder) as? Value
        case .date:
            try moment(decoder).map {
                let seconds = (Double($0.milliseconds) - ForeignType.referenceDate) / 1_000
                return try decoder.value(as: type, of: .number(DataNumber(seconds)), by: ForeignType.plainly)
            }
        case .decimal: try decoder.value(as: type, of: decimalParts(decoder), by: ForeignType.plainly)
        case .url: try decoder.value(as: type, of: ["relative": .string(decoder.value())], by: ForeignType.plainly)
        case .data: try decoder.value(as: type, of: bytes(decoder), by: ForeignType.plainly)
        }
    }

    private func moment(_ decoder: ItemDecoder) throws -> Timestamp? {
        let milliseconds: Double
        switch decoder.coder.dates {
        case .asItself: return nil
        case .rfc3339:
            let text: String = try decoder.value()
            guard let moment = Timestamp(rfc3339: text) else {
                throw decoder.corrupted("\(text) is not a time of RFC 3339")
            }
            return moment
        case .secondsSince1970: milliseconds = try decoder.value(as: Double.self) * 1_000
        case .millisecondsSince1970: milliseconds = try decoder.value()
        }
        guard let moment = Int64(exactly: milliseconds.rounded()) else {
            throw decoder.corrupted("\(milliseconds) ms are too many")
        }
        return Timestamp(milliseconds: moment)
    }

    /// Returns a number in the `Codable` form of Foundation's `Decimal`: a 128-bit mantissa in eight words and a
    /// decimal exponent.
    private func decimalParts(_ decoder: ItemDecoder) throws -> DataItem {
        let text = try decoder.value(as: DataNumber.self).text
        let number = WrittenNumber(text)
        guard let mantissa = number.digits.isEmpty ? 0 : UInt128(number.digits),
            number.digits.isEmpty || (-128...127).contains(number.exponent)
        else { throw decoder.corrupted("\(text) does not fit into Decimal") }
        let words = (0..<8).map { UInt16(truncatingIfNeeded: mantissa >> ($0 * 16)) }
        return [
            "exponent": .number(DataNumber(mantissa == 0 ? 0 : number.exponent)),
            "length": .number(DataNumber((words.lastIndex { $0 != 0 } ?? -1) + 1)),
            "isNegative": .bool(number.isNegative && mantissa != 0), "isCompact": true,
            "mantissa": .array(words.map { .number(DataNumber($0)) }),
        ]
    }

    private func bytes(_ decoder: ItemDecoder) throws -> DataItem {
        // Only the exact form that is written is read: it stands for one value.
        let text: String = try decoder.value()
        guard let bytes = Base64.decode(text), Base64.encode(bytes) == text else {
            throw decoder.corrupted("not base64")
        }
        return .array(bytes.map { .number(DataNumber($0)) })
    }
}

extension Timestamp {
    /// Returns the moment as a JSON value, or nil if the type's own `Codable` form applies.
    fileprivate func item(_ form: DataCoder.DateForm) -> DataItem? {
        switch form {
        case .asItself: nil
        case .rfc3339: .string(text)
        case .secondsSince1970: .number(DataNumber(Double(milliseconds) / 1_000))
        case .millisecondsSince1970: .number(DataNumber(milliseconds))
        }
    }
}
