import type * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";

/** @throws {InvalidRequestError} AB01, naming the field. */
export function refuseBody(path: string | undefined, problem: string): never {
  throw new InvalidRequestError(`Invalid request body: ${path === undefined ? "" : `${path}: `}${problem}`, {
    code: "AB01",
    ...(path !== undefined && { param: path }),
  });
}

/** The most useful issue of a value that fits no alternative: that of the alternative that got furthest. */
export function deepestIssue(issue: v.BaseIssue<unknown>): { path: string | undefined; message: string } {
  const keys = (one: v.BaseIssue<unknown>): string[] => (one.path ?? []).map(({ key }) => String(key));
  let path = keys(issue);
  let { message } = issue;
  for (let inner = issue.issues; inner; ) {
    const [best] = inner.toSorted((a, b) => (b.path?.length ?? 0) - (a.path?.length ?? 0));
    if (!best?.path?.length) break;
    path = [...path, ...keys(best)];
    message = best.message;
    inner = best.issues;
  }
  return { path: path.length === 0 ? undefined : path.join("."), message };
}
