"use strict";

const {statSync} = require("node:fs");

/**
 * Where the daemon's socket is when nobody says it: `$HEADGATE_SOCKET`, else below `$XDG_RUNTIME_DIR` if the daemon's
 * folder is there, else below `/run`. An empty variable counts as not set, and so does a relative `XDG_RUNTIME_DIR`.
 */
function usualSocket(environment = process.env, isFolder = isDirectory) {
    if (environment.HEADGATE_SOCKET) return environment.HEADGATE_SOCKET;
    const directories = [environment.XDG_RUNTIME_DIR ?? "", "/run"].filter((path) => path.startsWith("/"));
    const folders = directories.map((path) => `${path}/headgate`);
    return `${folders.find(isFolder) ?? folders[0]}/headgate.sock`;
}

function isDirectory(path) {
    return statSync(path, {throwIfNoEntry: false})?.isDirectory() ?? false;
}

module.exports = {usualSocket};
