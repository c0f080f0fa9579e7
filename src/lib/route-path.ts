/**
 * Path templates: `:name` after a slash is one segment, `@:name` one that begins with `@`, `:name+` one or more, a final
 * `*` the rest. Any other colon is literal, such as that of `/v1beta/models/:model+:generateContent`.
 */
const parameterForm = /\/(@?):(\w+)(\+?)/g;

/** Whether a path has a parameter or a wildcard. */
export function isOpenPath(path: string): boolean {
  return /[:*]/.test(path);
}

/** Whether a parameter or wildcard may contain slashes. */
export function takesSlashes(path: string): boolean {
  return /[*+]/.test(path);
}

/** The path in the router's syntax: literal colons are put into a character class. */
export function toRouterPath(path: string): string {
  return path.replace(/([^/@]):/g, "$1[:]");
}

/** Regular expression of a path with its parameters as groups, for use outside the router. */
export function toPathForm(path: string): RegExp {
  const form = path.replace(parameterForm, (_, at, _name, many) => `/${at}${many === "+" ? "(.+)" : "([^/]+)"}`);
  return new RegExp(`^${form.replace(/\/\*$/, "(?:/.*)?")}/?$`);
}

/** The path in the syntax of OpenAPI. */
export function toPathTemplate(path: string): string {
  return path.replace(parameterForm, "/$1{$2}").replace(/\*$/, "{path}");
}

/** Names of a path's parameters, in order. */
export function pathParameters(path: string): string[] {
  return Array.from(path.matchAll(parameterForm), ([, , name = ""]) => name);
}

/** Decoded parameters of a matching path; undefined if it does not match. Percent signs must be well-formed. */
export function matchPath(path: string, pathname: string): Record<string, string> | undefined {
  const found = toPathForm(path).exec(pathname);
  if (!found) return undefined;
  return Object.fromEntries(
    pathParameters(path).map((name, index) => [name, decodeURIComponent(found[index + 1] ?? "")]),
  );
}
