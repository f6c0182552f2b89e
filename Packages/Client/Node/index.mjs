// For `import`: the same classes that `require` gives, so that a program which does both has one of each.
import headgate from "./lib/index.js";

export const {Client, HeadgateError, newId, defaultSocket, version} = headgate;
export default headgate;
