import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { DecisionAnswer, type DecisionsRequest, type DecisionsResponse } from "../../schemas/decisions.ts";
import type { OperationAdapter } from "../core/types.ts";

const Reply = v.looseObject({
  model: v.nullish(v.string()),
  // each answer is checked below against its question
  answers: v.looseObject({}),
  usage: v.nullish(v.looseObject({})),
});

/** @throws {UpstreamError} 502 naming the first question without an answer of its type. */
function requireAnswers(provider: string, answers: unknown, { questions }: DecisionsRequest): void {
  for (const [name, { type }] of Object.entries(questions)) {
    const answer: unknown = isObject(answers) && Object.hasOwn(answers, name) ? answers[name] : undefined;
    if (v.is(DecisionAnswer, answer) && answer.type === type) continue;
    throw new UpstreamError(
      502,
      `Cannot use the response of ${provider}: question ${JSON.stringify(name)} has no answer`,
      {
        provider,
        code: "upstream_bad_answer",
        param: `questions.${name}`,
      },
    );
  }
}

/** Decisions by a provider with the gateway's own API (https://docs.typesafe.ai). */
export function decideAt(
  provider: string,
  path: string,
  serves?: (request: DecisionsRequest) => boolean,
): OperationAdapter<"decide"> {
  return {
    path: () => path,
    ...(serves && { serves }),
    fromUpstream(body, request) {
      const { model, answers: _, usage, ...rest } = v.parse(Reply, body);
      // unchanged: question names may be any string
      const answers: DecisionsResponse["answers"] = Reflect.get(Object(body), "answers");
      requireAnswers(provider, answers, request);
      return { ...rest, model: model ?? request.model, answers, ...(usage && { usage }) };
    },
  };
}
