// The module eventsource-parser, taken out of the bundle that PLAYWRIGHT_BUNDLE names.
"use strict";

const fs = require("node:fs");
const vm = require("node:vm");

// Returns the module's `createParser` and its version, which is in the bundle's license file.
exports.load = () => {
    const file = process.env.PLAYWRIGHT_BUNDLE;
    const bundle = fs.readFileSync(file, "utf8");
    const heading = "// node_modules/eventsource-parser/dist/index.js\n";
    const start = bundle.indexOf(heading);
    const end = bundle.indexOf("\n// node_modules/", start + heading.length);
    if (start < 0 || end < 0) throw new Error("the bundle has no eventsource-parser");
    const createParser = vm.runInThisContext(`(() => {\n${bundle.slice(start, end)}\nreturn createParser;\n})()`);
    const version = /eventsource-parser@([0-9.]+)/.exec(fs.readFileSync(`${file}.LICENSE`, "utf8"))[1];
    return { createParser, version };
};
