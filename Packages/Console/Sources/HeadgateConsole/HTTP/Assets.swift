/// The files that pages use. They are in the program.
extension Route.Asset {
    /// The file.
    var response: HTTPResponse {
        switch self {
        case .style: HTTPResponse(200, type: "text/css; charset=utf-8", PackageResources.console_css)
        case .script: HTTPResponse(200, type: "text/javascript; charset=utf-8", PackageResources.console_js)
        case .icon: HTTPResponse(200, type: "image/svg+xml", PackageResources.icon_svg)
        }
    }
}
