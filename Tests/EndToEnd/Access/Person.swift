import Foundation
import Testing

/// A user of the machine other than the one who runs the tests; whether it has a name does not matter.
struct Person: Sendable, CustomTestStringConvertible {
    var uid: UInt32
    var gid: UInt32
    /// Supplementary groups.
    var groups: [UInt32] = []

    var testDescription: String { "\(uid):\(gid)\(groups)" }

    /// The command that runs another as this user (setpriv(1)).
    var launcher: [String] {
        let others = groups.isEmpty ? "--clear-groups" : "--groups=" + groups.map(String.init).joined(separator: ",")
        return ["/usr/bin/setpriv", "--reuid=\(uid)", "--regid=\(gid)", others]
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips where nobody can become somebody else.
    static var asOtherUsers: Self {
        enabled("only root can run clients as other users (setpriv of util-linux)") {
            geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0
        }
    }
}
