import { type Endpoint, operationNameOf } from "../endpoint.ts";
import type { ErrorForm } from "../errors.ts";
import { plainSegments } from "./respelled.ts";

/** First segments below `/v1` that are of the gateway's own API though no row has them yet: providers have no such paths. */
const plannedGroups = ["policies"];

/** The first segment of a path below `/v1`, as whoever serves it may read it. */
function groupOf(path: string): string | undefined {
  const [version, group] = plainSegments(path);
  return version === "v1" ? group : undefined;
}

/** Whether a path belongs to the gateway's own API: what no row takes there is nowhere, and never a provider's. */
export function createOwnPaths(endpoints: readonly Endpoint[]): (pathname: string) => boolean {
  const own = endpoints.filter((row) => operationNameOf(row) === undefined).map(({ path }) => groupOf(path));
  const groups = new Set([...own, ...plannedGroups]);
  return (pathname) => groups.has(groupOf(pathname));
}

/** The shape of errors on a path no row has, or none but the passthrough: that of the rows it stands below. */
export function createErrorForms(endpoints: readonly Endpoint[]): (pathname: string) => ErrorForm | undefined {
  const forms = new Map(endpoints.map(({ errorsBelow, errorForm }) => [errorsBelow, errorForm]));
  const below = [...forms].flatMap(([path, form]) => (path === undefined ? [] : [{ path, form }]));
  return (pathname) => below.find(({ path }) => pathname === path || pathname.startsWith(`${path}/`))?.form;
}
