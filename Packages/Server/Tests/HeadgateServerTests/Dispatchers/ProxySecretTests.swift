import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Secrets of proxies")
struct ProxySecretTests {
    @Test(
        "X4: user and password of a proxy are blanked in answers: as written, decoded, and as basic authentication",
        arguments: ["http://kay:s%65cret@proxy:3128", "kay:s%65cret@proxy:3128", "socks5h://kay:s%65cret@proxy"],
        ["http_proxy", "HTTPS_PROXY", "all_proxy"])
    func hidden(url: String, variable: String) {
        let mask = SecretMask(ProxySecrets.secrets { $0 == variable ? url : nil })
        let basic = Base64.encode(Array("kay:secret".utf8))
        for text in ["kay", "secret", "s%65cret", basic] {
            let shown = mask.excerpt(of: Array("it was <\(text)> here".utf8), isCut: false, limit: 512)
            #expect(shown == "it was <***> here")
        }
    }

    @Test("X4: a proxy without a user has no secrets")
    func none() {
        #expect(ProxySecrets.secrets { _ in "http://proxy:3128" }.isEmpty)
        #expect(ProxySecrets.secrets { _ in nil }.isEmpty)
    }
}
