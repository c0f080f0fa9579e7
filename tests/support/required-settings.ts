import * as v from "valibot";
import { builtInProviders } from "../../src/providers/registry.ts";

const values = ["first", "https://first.example.com", "true", "1"];

/** Configurations an integration of a provider must have: of each the first value that is taken, where one is. */
export function requiredSettings(slug: string): Record<string, string> {
  const { members, required = [] } = builtInProviders.find((one) => one.slug === slug)?.integrationForm ?? {};
  return Object.fromEntries(
    required.flatMap((name) => {
      const member = members?.[name];
      const value = member && values.find((one) => v.is(member.schema, one));
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
