"use strict";

const {statSync} = require("node:fs");

/**
 * The path of the daemon's socket if the program names none: `$HEADGATE_SOCKET`, else below `$XDG_RUNTIME_DIR` if the daemon's
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

/** Why a path cannot be a socket's, or null. */
function addressFault(path) {
    if (path.includes("\0")) return "the path contains a NUL byte";
    return Buffer.byteLength(path) > LONGEST_PATH ? "the path is too long for a socket" : null;
}

// Errors that no waiting for the daemon cures.
const PERMANENT = new Set([
    "EACCES", "EPERM", "ENAMETOOLONG", "ENOTDIR", "ELOOP", "EPROTOTYPE", "EINVAL", "ENOTSOCK", "EAFNOSUPPORT",
]);

/** True if an error of a socket stays until somebody changes the path or the rights. */
function isPermanent(error) {
    return PERMANENT.has(error.code);
}

module.exports = {addressFault, isPermanent, defaultSocket};
