"use strict";
// A transport of winston: `const {WinstonTransport} = require("headgate/winston")`.
module.exports = {WinstonTransport: require("./logs.js").WinstonTransport};
