import { parseJson } from "../lib/json.ts";
import { runPaced } from "../lib/pace.ts";
import type { LogSide } from "../schemas/logs.ts";
import { assembleStream } from "./assemble.ts";
import type { Redactor } from "./redact.ts";

/** The response a stored stream adds up to: a credential may be split over its chunks. */
async function assembled(body: string, redactor: Redactor): Promise<unknown> {
  const answer = assembleStream(body);
  if (answer === undefined) return undefined;
  const text = JSON.stringify(answer);
  return redactor.mayHoldSecret(text) ? parseJson(await runPaced(redactor.textSteps(text))) : answer;
}

/** A body as a value where it is JSON or a stream of it, else as text. */
export async function showBody(body: string, redactor: Redactor): Promise<unknown> {
  return (await assembled(body, redactor)) ?? parseJson(body) ?? body;
}

/** Headers and body of a request or response, as they are shown. */
export interface LogSideView extends Omit<LogSide, "body"> {
  readonly body: unknown;
}

/** Shows headers and body of a request or response. A body that was cut off is text. */
export async function showSide({ headers, body, truncated }: LogSide, redactor: Redactor): Promise<LogSideView> {
  return { headers, body: body === null || truncated ? body : await showBody(body, redactor), truncated };
}
