import { isObject } from "../lib/json.ts";

/** Kind of the rows in `secrets` that hold what is secret of integrations. */
export const integrationSecretKind = "integrations";

/** What stands before the path of a configuration in the field of its sealed secret. The key's own field is `key`. */
export const configurationPrefix = "configurations.";

/** Members of `configurations` that are objects of their own; all others have paths without a dot. */
const groups = new Set(["custom_headers", "oauth"]);

/** `configurations` as values by path: `aws_region`, `custom_headers.x-team`, `oauth.client_id`. */
export function toPaths(configurations: unknown): Map<string, unknown> {
  const entries = Object.entries(isObject(configurations) ? configurations : {});
  return new Map(
    entries.flatMap(([name, value]): [string, unknown][] =>
      groups.has(name) && isObject(value)
        ? Object.entries(value).map(([member, inner]) => [`${name}.${member}`, inner])
        : [[name, value]],
    ),
  );
}

/** The group and the name within it that a path has; no group for plain members. */
export function splitPath(path: string): { group: string | undefined; name: string } {
  const dot = path.indexOf(".");
  return dot < 0 ? { group: undefined, name: path } : { group: path.slice(0, dot), name: path.slice(dot + 1) };
}

/** The opposite of `toPaths`. */
export function fromPaths(paths: Iterable<readonly [string, unknown]>): Record<string, unknown> {
  const configurations = new Map<string, unknown>();
  for (const [path, value] of paths) {
    const { group, name } = splitPath(path);
    if (group === undefined) configurations.set(name, value);
    else {
      const held = configurations.get(group);
      configurations.set(group, Object.fromEntries([...Object.entries(isObject(held) ? held : {}), [name, value]]));
    }
  }
  return Object.fromEntries(configurations);
}

/** Field under which the credential of one model's header is sealed, before the header's path. */
export function modelFieldPrefix(modelSlug: string): string {
  return `models.${modelSlug.length}:${modelSlug}.`;
}
