import { isObject } from "../lib/json.ts";

/** `kind` of the rows in `secrets` with an integration's secrets. */
export const integrationSecretKind = "integrations";

/** Prefix of a configuration's path in the field of its sealed secret. The field of the key itself is `key`. */
export const configurationPrefix = "configurations.";

/** Fields of `configurations` that are objects; the paths of all others have no dot. */
export const configurationGroups: ReadonlySet<string> = new Set([
  "custom_headers",
  "oauth",
  // of MCP integrations
  "passthrough_headers",
  "oauth_metadata",
  "external_auth_config",
  "jwt_validation",
]);

/** `configurations` as values by path: `aws_region`, `custom_headers.x-team`, `oauth.client_id`. */
export function toPaths(configurations: unknown): Map<string, unknown> {
  const entries = Object.entries(isObject(configurations) ? configurations : {});
  return new Map(
    entries.flatMap(([name, value]): [string, unknown][] =>
      configurationGroups.has(name) && isObject(value)
        ? Object.entries(value).map(([member, inner]) => [`${name}.${member}`, inner])
        : [[name, value]],
    ),
  );
}

/** Splits a path into group and name; plain fields have no group. */
export function splitPath(path: string): { group: string | undefined; name: string } {
  const dot = path.indexOf(".");
  return dot < 0 ? { group: undefined, name: path } : { group: path.slice(0, dot), name: path.slice(dot + 1) };
}

/** The inverse of `toPaths`. */
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

/** Field prefix of the sealed secret headers of one model, before the header's path. */
export function modelFieldPrefix(modelSlug: string): string {
  return `models.${modelSlug.length}:${modelSlug}.`;
}
