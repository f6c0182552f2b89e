/// What a dispatcher of kind `file` can be told beyond what all can (Behaviour K2).
struct FileSettings: Sendable, Equatable {
    /// The file; a relative path is relative to the data directory.
    var path: String
    /// The size that makes the file be rotated; nil: never.
    var rotateBytes: Int?
    /// The age that makes the file be rotated; nil: never.
    var rotateAge: Duration?
    /// How many rotated files stay besides the current one.
    var keep = 5
}
