import * as v from "valibot";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import { decideAt } from "../shared/decisions.ts";

const path = v.pipe(
  v.string(),
  v.regex(/^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,63}){1,8}$/, "must be a path, such as /decisions"),
);

/** TypeSafe (https://docs.typesafe.ai). Self-hosted servers use a custom host; the path below it is a setting. */
export const typesafe = defineProvider({
  slug: "typesafe",
  settings: { prefix: "typesafe", schema: v.object({ path: v.optional(path, "/v1/systemone") }) },
  baseUrl: "https://api.typesafe.ai/v1",
  authenticate: bearer,
  operations: (settings) => ({ decide: decideAt("typesafe", settings.path) }),
});
