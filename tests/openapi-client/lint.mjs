// node lint.mjs FILE: prints what a strict linter finds in an OpenAPI document, one line each.

import { readFileSync } from "node:fs";
import { createConfig, lintFromString } from "@redocly/openapi-core";

const file = process.argv[2];
const config = await createConfig({
  extends: ["recommended-strict"],
  // paths that clients of OpenAI and others send: `/prompts/partials/{id}` beside `/prompts/{id}/render`
  rules: { "no-ambiguous-paths": "off" },
});
const problems = await lintFromString({ source: readFileSync(file, "utf8"), absoluteRef: file, config });
for (const { ruleId, message, location } of problems) console.log(`${ruleId}: ${message} ${location?.[0]?.pointer}`);
