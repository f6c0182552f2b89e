import * as headgate from "./index.js";

export * from "./index.js";
export default headgate;
