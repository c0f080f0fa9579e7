// Partners whose models judge text: Patronus and Qualifire.

import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import { afterOnly, beforeOnly, bothPhases } from "../types.ts";
import { callsByPart, maskSpans, needed, optional, optionalList, spreadOver } from "./reading.ts";
import { type AnyPartnerCheck, definePartnerCheck, type Partner, type Question } from "./types.ts";

const redact = v.optional(v.boolean(), false);
const Name = v.pipe(v.string(), v.minLength(1), v.maxLength(512));
const apiKey = { apiKey: { secret: "key" } } as const;

const patronus: Partner = {
  slug: "patronus",
  credentials: apiKey,
  baseUrl: () => "https://api.patronus.ai",
  headers: (credentials) => ({ "x-api-key": credentials.apiKey ?? "" }),
};

/** One evaluator of Patronus and its criteria. */
function patronusCheck(name: string, evaluator: string, criteria?: string): AnyPartnerCheck {
  return definePartnerCheck({
    id: `patronus.${name}`,
    partner: patronus,
    phases: afterOnly,
    parameters: criteria === undefined && evaluator === "judge" ? { profile: Name } : {},
    timeoutMs: 15_000,
    calls: ({ text, lastTurn }, parameters: { profile?: string }) => [
      {
        path: "/v1/evaluate",
        body: {
          evaluators: [{ evaluator, criteria: parameters.profile ?? criteria, explain_strategy: "always" }],
          evaluated_model_input: lastTurn,
          evaluated_model_output: text,
        },
      },
    ],
    read([answer]) {
      const pass = needed.boolean(answer, "results", 0, "evaluation_result", "pass");
      return { pass, data: { info: optional(answer, "results", 0, "evaluation_result", "additional_info") } };
    },
  });
}

/** Health information or personal data, which Patronus finds with their positions. */
function patronusFinder(name: "phi" | "pii"): AnyPartnerCheck {
  return definePartnerCheck({
    id: `patronus.${name}`,
    partner: patronus,
    phases: afterOnly,
    parameters: { redact },
    changes: (parameters) => parameters.redact,
    calls: (question) =>
      callsByPart(question, (text) => ({
        path: "/v1/evaluate",
        body: {
          evaluators: [{ evaluator: name, explain_strategy: "always" }],
          evaluated_model_input: question.lastTurn,
          evaluated_model_output: text,
        },
      })),
    read(answers, question, parameters) {
      const filled = question.parts.filter((part) => part.trim() !== "");
      const found = answers.map((answer) => !needed.boolean(answer, "results", 0, "evaluation_result", "pass"));
      const data = { count: found.filter(Boolean).length };
      if (!parameters.redact || data.count === 0) return { pass: data.count === 0, data };
      const replaced = answers.map((answer, index) => {
        const places = optionalList(answer, "results", 0, "evaluation_result", "additional_info", "positions");
        const spans = places.map((one) => [needed.number(one, 0), needed.number(one, 1)] as const);
        return found[index] ? maskSpans(filled[index] ?? "", spans) : undefined;
      });
      const isMasked = found.every((one, index) => !one || replaced[index] !== filled[index]);
      return { pass: isMasked, data, parts: spreadOver(question, replaced) };
    },
  });
}

const qualifire: Partner = {
  slug: "qualifire",
  credentials: apiKey,
  baseUrl: () => "https://proxy.qualifire.ai",
  headers: (credentials) => ({ "x-qualifire-api-key": credentials.apiKey ?? "" }),
};

/** Checks of Qualifire: phases, and the flags that ask for them. */
const qualifireChecks = [
  [
    "contentModeration",
    bothPhases,
    ["dangerousContentCheck", "harassmentCheck", "hateSpeechCheck", "sexualContentCheck"],
  ],
  ["pii", bothPhases, ["piiCheck"]],
  ["promptInjections", beforeOnly, ["promptInjections"]],
  ["hallucinations", afterOnly, ["hallucinationsCheck"]],
  ["grounding", afterOnly, ["groundingCheck"]],
  ["toolUseQuality", afterOnly, ["toolUseQualityCheck"]],
  ["instructionFollowing", afterOnly, ["instructionsFollowingCheck"]],
] as const;
const mode = v.optional(v.picklist(["speed", "balanced", "quality"]), "balanced");

/** The functions a request offers, in the form of Qualifire. */
function toolsOf({ input }: Question): unknown[] {
  const { tools } = input.request.body;
  return (Array.isArray(tools) ? tools : []).flatMap((tool) =>
    isObject(tool) && isObject(tool.function) ? [tool.function] : [],
  );
}

function readQualifire([answer]: readonly unknown[]) {
  const status = needed.text(answer, "status");
  return { pass: status !== "failed", data: { status, results: optional(answer, "evaluationResults") } };
}

function qualifireCheck([name, phases, flags]: (typeof qualifireChecks)[number]): AnyPartnerCheck {
  return definePartnerCheck({
    id: `qualifire.${name}`,
    partner: qualifire,
    phases,
    parameters: { mode },
    timeoutMs: 60_000,
    calls(question, parameters) {
      const asked = Object.fromEntries(flags.map((flag) => [flag, true]));
      const isTools = name === "toolUseQuality";
      const said = isTools
        ? { messages: question.turns, available_tools: toolsOf(question) }
        : question.isOutput
          ? { input: question.lastTurn, output: question.text }
          : { input: question.text };
      return [{ path: "/api/evaluation/evaluate", body: { ...said, ...asked, mode: parameters.mode } }];
    },
    read: readQualifire,
  });
}

const qualifirePolicy = definePartnerCheck({
  id: "qualifire.policy",
  partner: qualifire,
  phases: bothPhases,
  parameters: {
    policies: v.pipe(v.array(Name), v.minLength(1)),
    policy_target: v.optional(v.picklist(["both", "input", "output"]), "both"),
    mode,
  },
  timeoutMs: 60_000,
  calls({ isOutput, lastTurn, text }, { policies, policy_target, mode: speed }) {
    const body = {
      input: isOutput ? lastTurn : text,
      ...(isOutput && { output: text }),
      assertions: policies,
      policyTarget: policy_target,
      mode: speed,
    };
    return [{ path: "/api/evaluation/evaluate", body }];
  },
  read: readQualifire,
});

export const judgePartnerChecks: readonly AnyPartnerCheck[] = [
  patronusFinder("phi"),
  patronusFinder("pii"),
  patronusCheck("toxicity", "toxicity", "patronus:toxicity"),
  patronusCheck("isConcise", "judge", "patronus:is-concise"),
  patronusCheck("isHelpful", "judge", "patronus:is-helpful"),
  patronusCheck("isPolite", "judge", "patronus:is-polite"),
  patronusCheck("noApologies", "judge", "patronus:no-apologies"),
  patronusCheck("noGenderBias", "judge", "patronus:no-gender-bias"),
  patronusCheck("noRacialBias", "judge", "patronus:no-racial-bias"),
  patronusCheck("retrievalAnswerRelevance", "answer-relevance", "patronus:answer-relevance"),
  patronusCheck("retrievalHallucination", "lynx", "patronus:hallucination"),
  patronusCheck("custom", "judge"),
  ...qualifireChecks.map(qualifireCheck),
  qualifirePolicy,
];
