// A client of Headgate, the local event-delivery daemon. It needs Node alone.
"use strict";

const {Client} = require("./client.js");
const {HeadgateError} = require("./error.js");
const {newId} = require("./ids.js");
const {defaultSocket} = require("./place.js");
const {version} = require("../package.json");

module.exports = {Client, HeadgateError, newId, defaultSocket, version};
