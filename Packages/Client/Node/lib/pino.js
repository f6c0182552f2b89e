"use strict";
// The module that pino loads: `pino.transport({target: "headgate/pino", options: {program: "shop", version: "2.1"}})`.
module.exports = require("./logs.js").pinoTransport;
