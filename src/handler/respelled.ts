import { type Endpoint, type KeyEndpoint, type Method, operationNameOf } from "../endpoint.ts";
import { InvalidRequestError } from "../errors.ts";
import { readSegments } from "../lib/path.ts";
import { toPathForm, toPathTemplate } from "../lib/route-path.ts";

/** Whether a row hands every path that no other row has to a provider. */
export function isPassthrough(endpoint: Endpoint): endpoint is KeyEndpoint {
  return endpoint.kind === "key" && endpoint.isPassthrough === true;
}

/** A path may be encoded more than once; servers undo one layer, seldom two. */
const maxLayers = 4;

/** The path with its percent signs undone as often as they can be. */
function decodeLayers(path: string): string {
  let decoded = path;
  for (let layer = 0; layer < maxLayers && decoded.includes("%"); layer++) {
    try {
      decoded = readSegments(decoded).join("/");
    } catch {
      return decoded;
    }
  }
  return decoded;
}

/** Segments of a path as a tolerant server reads them: decoded, in small letters, without empty ones, blanks and parameters. */
export function plainSegments(path: string): string[] {
  return decodeLayers(path)
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[?#].*$/s, "")
    .split(/[/\\]/)
    .map((segment) => (segment.split(";")[0] ?? "").trim())
    .filter((segment) => segment !== "");
}

/** What stands before the operations of providers in their addresses. */
const prefix =
  /^\/(?:v[0-9]+(?:(?:alpha|beta)[0-9]*)?|openai|anthropic|inference|api|models|deployments\/[^/]+|https?:|[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::[0-9]+)?)(?=\/)/;

/** Paths a provider may serve for a path: as it is, and below each beginning that addresses have. */
function listReadings(path: string): string[] {
  const readings = [path];
  let rest = path;
  for (let found = prefix.exec(rest); found; found = prefix.exec(rest)) {
    rest = rest.slice(found[0].length);
    readings.push(rest, `/v1${rest}`, `/v1beta${rest}`);
  }
  return readings;
}

/** The row whose route a path for a provider is another spelling of, or undefined. */
export type FindRespelled = (method: string, pathname: string) => Endpoint | undefined;

/** Finds other spellings of the routes that ask a provider for something. */
export function createRespellingFinder(endpoints: readonly Endpoint[]): FindRespelled {
  const asking = endpoints.filter((row) => !isPassthrough(row) && operationNameOf(row) !== undefined);
  const byMethod = Map.groupBy(asking, ({ method }): string => method satisfies Method);
  const forms = new Map(
    [...byMethod].map(([method, rows]) => [
      method,
      rows.map((row) => ({ row, form: new RegExp(toPathForm(row.path).source, "i") })),
    ]),
  );
  return (method, pathname) => {
    const readings = listReadings(`/${plainSegments(pathname).join("/")}`);
    return forms.get(method)?.find(({ form }) => readings.some((reading) => form.test(reading)))?.row;
  };
}

const forced = /^\/v1\/proxy(?=\/|$)/;

/** Whether the caller says that a path is for the provider, whatever it leads to there. */
export function isForced(pathname: string): boolean {
  return forced.test(pathname);
}

/** Where a forced path leads, as a path of the gateway. */
export function withoutForce(pathname: string): string {
  return pathname.replace(forced, "/v1");
}

/** A passthrough row that refuses a path. */
export function refusing(endpoint: KeyEndpoint, { method, path }: Endpoint): KeyEndpoint {
  return {
    ...endpoint,
    takesEncodedSlash: true,
    handle() {
      const route = `${method} ${toPathTemplate(path)}`;
      throw new InvalidRequestError(
        `Cannot pass this path on: it is another spelling of ${route}; call that, or write /v1/proxy/ before the provider's path`,
        { code: "respelled_path", param: "path" },
      );
    },
  };
}
