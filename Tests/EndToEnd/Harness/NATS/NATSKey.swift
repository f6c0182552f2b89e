import Foundation

/// A key of NATS's decentralised authentication (an Ed25519 key in NATS's encoding), which signs JWTs.
struct NATSKey {
    /// The purpose of a key, as its prefix byte.
    enum Role: UInt8 {
        case `operator` = 0x70
        case account = 0x00
        case user = 0xA0
    }

    private let directory: TemporaryDirectory
    private let path: String
    /// The public key: `O…`, `A…` or `U…`.
    let publicText: String
    /// The secret seed: `SO…`, `SA…` or `SU…`.
    let seedText: String

    /// Creates a new key with openssl.
    init(_ role: Role, _ name: String, in directory: TemporaryDirectory) async throws {
        self.directory = directory
        path = directory.path("key-" + name)
        try await Self.openssl(["genpkey", "-algorithm", "ed25519", "-out", path], in: directory)
        try await Self.openssl(["pkey", "-in", path, "-outform", "DER", "-out", path + ".der"], in: directory)
        try await Self.openssl(
            ["pkey", "-in", path, "-pubout", "-outform", "DER", "-out", path + ".pub"], in: directory)
        publicText = Self.text([role.rawValue] + (try Self.tail(path + ".pub")))
        let seedMark: UInt8 = 0x90
        let head = [seedMark | role.rawValue >> 5, (role.rawValue & 31) << 3]
        seedText = Self.text(head + (try Self.tail(path + ".der")))
    }

    /// Returns a JWT about `subject`, signed with this key.
    func jwt(about subject: String, _ claims: JSON) async throws -> String {
        let head: JSON = ["typ": "JWT", "alg": "ed25519-nkey"]
        let body: JSON = [
            "jti": "test", "iat": 1_700_000_000, "iss": .string(publicText), "name": "test", "sub": .string(subject),
            "nats": claims.merging(["version": 2]),
        ]
        let signed = [head, body].map { Self.base64URL(Data($0.description.utf8)) }.joined(separator: ".")
        try signed.write(toFile: path + ".in", atomically: true, encoding: .utf8)
        let files = ["-inkey", path, "-in", path + ".in", "-out", path + ".sig"]
        try await Self.openssl(["pkeyutl", "-sign", "-rawin"] + files, in: directory)
        let signature = try Data(contentsOf: URL(fileURLWithPath: path + ".sig"))
        return signed + "." + Self.base64URL(signature)
    }

    private static func openssl(_ arguments: [String], in directory: TemporaryDirectory) async throws {
        try await CommandLineTool.run(program: "/usr/bin/openssl", arguments, in: directory.path)
    }

    /// Returns the key, which is the last 32 bytes of the DER file.
    private static func tail(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path)).suffix(32))
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    /// Returns the bytes followed by a checksum, in base 32.
    private static func text(_ bytes: [UInt8]) -> String {
        let checksum = bytes.reduce(UInt16(0)) { sum, byte in
            (0..<8).reduce(sum ^ UInt16(byte) << 8) { sum, _ in sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021 }
        }
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        let bits = (bytes + [UInt8(checksum & 0xFF), UInt8(checksum >> 8)]).flatMap { byte in
            (0..<8).reversed().map { byte >> $0 & 1 }
        }
        return String(
            stride(from: 0, to: bits.count, by: 5).map { start in
                alphabet[(0..<5).reduce(0) { $0 << 1 | (start + $1 < bits.count ? Int(bits[start + $1]) : 0) }]
            })
    }
}
