package headgate

// Version is this module's version, which is that of the daemon it comes with.
const Version = "0.2.0"
