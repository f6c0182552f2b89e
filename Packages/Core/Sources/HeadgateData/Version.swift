/// Which version of Headgate this is: the same for the daemon, the client and the tool.
public enum Version {
    public static let current = "0.1.0"
}
