import type { CallerContext } from "../../context.ts";
import type { Reply } from "../../lib/reply.ts";
import { readRound } from "./model-rounds.ts";
import { askModel } from "./own-requests.ts";
import { type RoundForm, Rounds, type Say } from "./tool-rounds.ts";
import { streamRounds } from "./tool-stream.ts";

const silent: Say = async () => {};

/** Runs the rounds of a request that is answered whole. */
async function runWhole(form: RoundForm, context: CallerContext): Promise<Reply> {
  const rounds = new Rounds(form);
  for (;;) {
    const round = await readRound(await askModel(form, false, context));
    const { body, numbers, reply } = round;
    if (!body) return reply;
    const answer = await rounds.take({ ...round, body }, silent);
    if (!answer) continue;
    const text = numbers?.restore(JSON.stringify(answer)) ?? JSON.stringify(answer);
    context.log.responseBody = text;
    return { status: reply.status, headers: { ...reply.headers }, body: text };
  }
}

/**
 * Answers a request with tools that the gateway runs: the model is asked in rounds, until it calls no more of them.
 *
 * @throws {GatewayError} 404 for a server that the caller cannot use.
 */
export async function runRounds(form: RoundForm, context: CallerContext): Promise<Reply> {
  await form.open();
  if (form.request.stream !== true) return runWhole(form, context);
  const first = await askModel(form, true, context);
  if (first.status > 299) return (await readRound(first)).reply;
  return streamRounds(form, first, context);
}
