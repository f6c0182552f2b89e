import HeadgateClient
import HeadgateData

/// The body that a browser posts to `/signups`.
struct Signup: Codable {
    var plan: String
    var seats: Int
    var coupon: String?
}

/// Handles `POST /signups` in a web server of any kind, any number at once. Returns the status to answer with.
func postSignup(_ signup: Signup, requestID: String, client: HeadgateClient) async -> Int {
    do {
        // A browser that repeats its request after a lost answer repeats the id, so the event is stored once.
        try await client.track("signup", signup, id: requestID, deadline: .seconds(2))
        return 201
    } catch is EncodingError {
        return 422
    } catch {
        return 503
    }
}

/// A client whose events have names and moments as others want them.
func clientForOthers() throws -> HeadgateClient {
    var options = ClientOptions()
    options.coder = DataCoder(keys: .snakeCase, dates: .millisecondsSince1970)
    return try HeadgateClient(name: "shop", version: "2.1", options: options)
}
