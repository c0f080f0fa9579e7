import { parseJson } from "../lib/json.ts";
import { runPaced } from "../lib/pace.ts";
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
