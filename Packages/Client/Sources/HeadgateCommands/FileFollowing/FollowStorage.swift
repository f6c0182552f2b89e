import Glibc
import HeadgateEncryption

/// The place of a follower's positions, and the keys that encrypt them and the spools (Behaviour C4).
struct FollowStorage {
    /// The path of the position's file, or nil for the usual one of each file.
    var path: String?
    /// The keys, or nil if nothing was ever encrypted.
    var keyring: Keyring?

    /// Returns the path of the position's file.
    /// - Parameter name: the path of the followed file, or another name of what is followed.
    func path(of name: String) throws(FollowFault) -> String {
        if let path { path } else { try FollowDirectory.defaultState(of: name) }
    }

    /// The keyring that encrypts, or nil if nothing is encrypted from now on.
    var encrypting: Keyring? { keyring?.writing == nil ? nil : keyring }
}

/// The keys of `headgate send --key-file`.
enum FollowKeys {
    /// The option that names the file.
    static let option = "--key-file"

    /// Reads the keys, and warns if other users can read them.
    /// - Parameter encrypts: false if the keys only decrypt.
    static func read(_ path: String, encrypts: Bool, _ terminal: Terminal) throws(FollowFault) -> Keyring {
        guard Keyring.isAvailable else { throw FollowFault("\(option) needs the library libcrypto (libssl3)") }
        guard let bytes = TextFile.bytes(of: path) else { throw FollowFault("read", path) }
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & 0o077 != 0 {
            terminal.printError("\(path): users other than its owner may read or write the key file")
        }
        do throws(EncryptionKeys.Fault) {
            return Keyring(try EncryptionKeys(String(decoding: bytes, as: UTF8.self)), encrypts: encrypts)
        } catch {
            throw FollowFault("\(path): \(error.message)")
        }
    }
}
