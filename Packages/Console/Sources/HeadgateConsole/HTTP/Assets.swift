/// The files that pages use. The program contains them.
extension Route.Asset {
    /// The answer with the file.
    var response: HTTPResponse {
        switch self {
        case .style: HTTPResponse(200, type: "text/css; charset=utf-8", PackageResources.console_css)
        case .script: HTTPResponse(200, type: "text/javascript; charset=utf-8", PackageResources.console_js)
        case .icon: HTTPResponse(200, type: "image/svg+xml", PackageResources.icon_svg)
        }
    }
}
