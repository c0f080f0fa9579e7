// Loaded by Node before the tests and the gateways they start (`node --import`).
//
// Node reads the package.json of the package a module belongs to once for each module, and parses its `exports` again.
// drizzle-orm has 110 modules and 180 KB of `exports`: two thirds of a gateway's start. This resolves its modules without it.

import { registerHooks } from "node:module";

const folder = "/node_modules/drizzle-orm/";
const resolved = new Map();

registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith(".") && context.parentURL?.includes(folder))
      return { url: new URL(specifier, context.parentURL).href, format: "module", shortCircuit: true };
    if (!specifier.startsWith("drizzle-orm")) return next(specifier, context);
    if (!resolved.has(specifier)) resolved.set(specifier, next(specifier, context));
    return { ...resolved.get(specifier), shortCircuit: true };
  },
});
