import type { UncountedCall } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { mapParallel } from "../../lib/parallel.ts";
import type { Reply } from "../../lib/reply.ts";
import { toLoggedUsage } from "../../logs/usage.ts";
import type { Destination } from "../../providers/core/call.ts";
import type { OperationName, Operations } from "../../providers/core/operations.ts";
import type { OperationAdapter } from "../../providers/core/types.ts";
import type { InheritedSettings } from "../../routing/config.ts";
import type { LoggedUsage } from "../../schemas/logs.ts";
import { discardParts, noteParts } from "../call/cost.ts";
import { droppedHeader } from "../call/provider-response.ts";
import { uncountedOf } from "../call/usage-units.ts";
import { readTimeout } from "../target/target.ts";

/** Most calls of one request that run at once. */
const maxParallel = 4;

type Request<Name extends OperationName> = Operations[Name]["request"];

/** Where a request goes, as `callTarget` takes it. */
interface SplitTarget {
  destination: Destination;
  settings?: InheritedSettings;
  deadline?: number | undefined;
}

/** A request and where it goes. */
interface SplitInput<Name extends OperationName> {
  name: Name;
  adapter: OperationAdapter<Name>;
  request: Request<Name>;
  target: SplitTarget;
  context: CallerContext;
}

/** One deadline for all calls: the timeout of one call, within what is left of the request. */
function deadlineOf({ settings, deadline }: SplitTarget, context: CallerContext): number {
  const own = context.services.clock.monotonic() + readTimeout(context, settings?.requestTimeoutMs);
  return Math.min(deadline ?? Number.POSITIVE_INFINITY, own);
}

/** The response to one part, and its body. */
interface CalledPart {
  reply: Reply;
  body: Record<string, unknown>;
}

function bodyOf({ body }: Reply): Record<string, unknown> {
  const value = typeof body === "string" ? parseJson(body) : undefined;
  return isObject(value) ? value : {};
}

/**
 * Serves a request that holds more than its provider takes in one call: one call for each part, combined into one
 * response. An error of one call is the error of the request.
 *
 * @returns Undefined where one call is enough.
 */
export function callSplit<Name extends OperationName>(
  { name, adapter, request, target, context }: SplitInput<Name>,
  callOne: (part: Request<Name>, target: SplitTarget) => Promise<Reply>,
): Promise<Reply> | undefined {
  const parts = adapter.split?.(request);
  if (!parts || !adapter.join) return undefined;
  const { join } = adapter;
  const { log } = context;
  const whole = { ...target, deadline: deadlineOf(target, context) };
  const dropped = new Set<string>();
  const usages: (LoggedUsage | null)[] = [];
  const uncounted: UncountedCall[] = [];
  const call = async (part: Request<Name>): Promise<CalledPart> => {
    const calling = callOne(part, whole);
    // a call is converted before it waits: its dropped parameters stay in the log until the next one starts
    for (const member of log.dropped ?? []) dropped.add(member);
    const reply = await calling;
    const body = bodyOf(reply);
    const usage = toLoggedUsage(body.usage);
    usages.push(usage);
    const written = { form: "answer", answer: body } as const;
    uncounted.push(...uncountedOf(name, { request: part, reported: usage, written }));
    return { reply, body };
  };
  const calls = mapParallel(parts, maxParallel, call).catch((cause: unknown) => {
    // the others were made, and their provider charges for them
    discardParts(context, usages, uncounted);
    throw cause;
  });
  return calls.then((called) => {
    const { reply: first } = called[0] ?? { reply: { status: 200, headers: {}, body: null } };
    const bodies = called.map(({ body }) => body);
    // each is a response of the operation: converted by its adapter, or in that shape already
    const answer: object = join(bodies as Operations[Name]["response"][], request);
    const text = JSON.stringify({ ...answer, provider: target.destination.provider.slug });
    noteParts(context, usages, uncounted);
    log.responseBody = text;
    log.dropped = dropped.size > 0 ? [...dropped] : null;
    return { ...first, headers: { ...first.headers, ...droppedHeader(log) }, body: text };
  });
}
