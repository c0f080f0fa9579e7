import * as v from "valibot";
import { InvalidRequestError } from "../errors.ts";
import type { SettingsDefinition } from "./types.ts";

/** Schema of a provider without settings. */
export const noSettings = { prefix: "", schema: v.object({}) };

/** A whole number in a header. */
export const headerInteger = (minimum: number, maximum: number) =>
  v.pipe(
    v.string(),
    v.regex(/^[0-9]{1,15}$/, "must be a whole number"),
    v.transform(Number),
    v.minValue(minimum, `must be at least ${minimum}`),
    v.maxValue(maximum, `must be at most ${maximum}`),
  );

/**
 * Settings of a provider from the headers of a request.
 *
 * @param read Value of a gateway header by its name without prefix.
 * @throws {InvalidRequestError} Naming the header that is wrong.
 */
export function readSettings<Settings>(
  { prefix, schema }: SettingsDefinition<Settings>,
  read: (name: string) => string | null,
): { given: boolean; settings: Settings } {
  const values: Record<string, string> = {};
  let given = false;
  for (const name of Object.keys(schema.entries)) {
    const value = read(`${prefix}-${name.replaceAll("_", "-")}`);
    if (value === null) continue;
    values[name] = value;
    given = true;
  }
  const result = v.safeParse(schema, values);
  if (result.success) return { given, settings: result.output };
  const [issue] = result.issues;
  const header = `x-gateway-${prefix}-${String(issue.path?.[0]?.key ?? "").replaceAll("_", "-")}`;
  throw new InvalidRequestError(`Cannot use ${header}: ${issue.message}`, { param: header, code: "invalid_header" });
}
