import Glibc
import HeadgateEncryption

/// The paths of a pipe's spools, one of which is in use. The other one is from before encryption was switched on or off.
struct SpoolNames {
    let plain: String
    let encrypted: String
    private let storage: FollowStorage
    private let terminal: Terminal

    /// - Parameter state: the path of the position's file.
    init(beside state: String, _ storage: FollowStorage, _ terminal: Terminal) {
        (plain, encrypted) = (state + "-lines", state + "-lines.encrypted")
        (self.storage, self.terminal) = (storage, terminal)
    }

    /// The path of the spool that is in use from now on.
    var present: String { storage.encrypting == nil ? plain : encrypted }

    /// The path of the other spool.
    var other: String { storage.encrypting == nil ? encrypted : plain }

    /// Opens or creates the file of a spool.
    static func open(_ path: String, _ keyring: Keyring?, _ terminal: Terminal) throws(FollowFault) -> any SpoolFile {
        if let keyring { try EncryptedSpool(path, keyring, terminal) } else { try PlainSpool(path) }
    }

    /// Removes the other spool.
    /// - Parameter position: the last position, which may be one in that spool. All lines of the spool must be settled.
    func removeOther(at position: FollowerPosition?) throws(FollowFault) {
        guard let file = FollowedFile.identity(of: other) else { return }
        // A position in the present spool was stored after the other one was removed, and a power failure brought it back.
        let isBack = position != nil && position?.file == FollowedFile.identity(of: present)
        let isSettled = isBack ? true : try isSettled(file, position)
        guard isSettled else {
            let change = storage.encrypting == nil ? "--decrypt" : FollowKeys.option
            throw FollowFault("\(other) has lines that are not sent: run the command without \(change) until they are")
        }
        guard unlink(other) == 0 else { throw FollowFault("remove", other) }
    }

    private func isSettled(_ file: FollowerPosition.File, _ position: FollowerPosition?) throws(FollowFault) -> Bool {
        let isEncrypted = other == encrypted
        if isEncrypted, storage.keyring == nil {
            throw FollowFault("\(other) is encrypted, and there is no key: use \(FollowKeys.option)")
        }
        let length = try SpoolNames.open(other, isEncrypted ? storage.keyring : nil, terminal).length
        return length == 0 || position?.file == file && position?.offset == length
    }
}
