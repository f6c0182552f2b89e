/// Why a text was refused by the scanner.
public enum JSONFault: Error, Sendable, Hashable {
    /// It is not one JSON value with nothing but white space around it.
    case notJSON
    /// It has bytes that are not UTF-8.
    case notUTF8
    /// Its arrays and objects are nested deeper than allowed.
    case tooDeep
    /// It is longer than the scanner takes, or there is no memory for its structure.
    case tooLarge
}
