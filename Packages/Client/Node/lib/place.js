"use strict";

const {statSync} = require("node:fs");

/**
 * Returns the path of the daemon's socket if the program names none: `$HEADGATE_SOCKET`, else below `$XDG_RUNTIME_DIR` if the daemon's
 * folder is there, else below `/run`. An empty variable counts as not set, and so does a relative `XDG_RUNTIME_DIR`.
 */
function defaultSocket(environment = process.env, isFolder = isDirectory) {
    if (environment.HEADGATE_SOCKET) return environment.HEADGATE_SOCKET;
    const directories = [environment.XDG_RUNTIME_DIR ?? "", "/run"].filter((path) => path.startsWith("/"));
    const folders = directories.map((path) => `${path}/headgate`);
    return `${folders.find(isFolder) ?? folders[0]}/headgate.sock`;
}

function isDirectory(path) {
    return statSync(path, {throwIfNoEntry: false})?.isDirectory() ?? false;
}

// The longest path that a socket's address holds, in bytes, without the NUL at its end.
const LONGEST_PATH = process.platform === "linux" ? 107 : 103;

/** Returns why a path cannot be that of a socket, or null. */
function addressFault(path) {
    if (path.includes("\0")) return "the path contains a NUL byte";
    return Buffer.byteLength(path) > LONGEST_PATH ? "the path is too long for a socket" : null;
}

// The errors that waiting for the daemon does not cure.
const PERMANENT = new Set([
    "EACCES", "EPERM", "ENAMETOOLONG", "ENOTDIR", "ELOOP", "EPROTOTYPE", "EINVAL", "ENOTSOCK", "EAFNOSUPPORT",
]);

/** Returns true for an error of a socket that stays until a person changes the path or the rights. */
function isPermanent(error) {
    return PERMANENT.has(error.code);
}

module.exports = {addressFault, isPermanent, defaultSocket};
