import HeadgateCore
import HeadgateData
import HeadgateWire

/// `application.status`.
enum ApplicationMethods {
    static let all = [Method("application.status", .track, status)]

    private static func status(_ service: Service, _ call: Call) throws(RPCError) {
        let status: ApplicationStatus = try call.reader.requiredWord("status")
        service.statuses.announce(status, by: call.session.number, flushingOn: service.settings.flushOn)
        call.reply.answer()
    }
}
