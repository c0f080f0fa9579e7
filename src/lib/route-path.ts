/**
 * Paths of rows: `:name` behind a slash stands for one segment, `:name+` for one or more, `*` at the end for the rest. A colon
 * elsewhere is a colon, such as that of `/v1beta/models/:model+:generateContent`.
 */
const parameterForm = /\/:(\w+)(\+?)/g;

/** Whether a path has a parameter or takes a rest. */
export function isOpenPath(path: string): boolean {
  return /[:*]/.test(path);
}

/** Whether what a path is open for may hold slashes. */
export function takesSlashes(path: string): boolean {
  return /[*+]/.test(path);
}

/** The path in the router's own words: colons that are no parameter's stand in a set of characters. */
export function toRouterPath(path: string): string {
  return path.replace(/([^/]):/g, "$1[:]");
}

/** Regular expression of a path, its parameters as groups, for questions the router does not answer. */
export function toPathForm(path: string): RegExp {
  const form = path.replace(parameterForm, (_, _name, many) => (many === "+" ? "/(.+)" : "/([^/]+)"));
  return new RegExp(`^${form.replace(/\/\*$/, "(?:/.*)?")}/?$`);
}

/** The path as the OpenAPI document writes it. */
export function toPathTemplate(path: string): string {
  return path.replace(parameterForm, "/{$1}").replace(/\*$/, "{path}");
}

/** Names of a path's parameters, in order. */
export function pathParameters(path: string): string[] {
  return Array.from(path.matchAll(parameterForm), ([, name = ""]) => name);
}

/** Parameters of a path that fits a row, decoded; undefined for one that does not. Its percent signs must be well-formed. */
export function matchPath(path: string, pathname: string): Record<string, string> | undefined {
  const found = toPathForm(path).exec(pathname);
  if (!found) return undefined;
  return Object.fromEntries(
    pathParameters(path).map((name, index) => [name, decodeURIComponent(found[index + 1] ?? "")]),
  );
}
