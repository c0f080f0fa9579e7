import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import { nearestEffort } from "./model-facts.ts";
import type { ConversionOptions } from "./types.ts";

type Members = Record<string, unknown>;

/** Whether a request asks for thinking, or for none; undefined where it leaves that to the model. */
function readAsked({ thinking, reasoning_effort: effort }: Members): "on" | "off" | undefined {
  if (isObject(thinking)) return thinking.type === "disabled" || thinking.budget_tokens === 0 ? "off" : "on";
  if (typeof effort !== "string") return undefined;
  return effort === "none" ? "off" : "on";
}

/** Turns thinking off; the effort `none` says the same. */
function turnOff(body: Members): void {
  body.thinking = { type: "disabled" };
  if (body.reasoning_effort === "none") delete body.reasoning_effort;
}

/** The least thinking of a model that cannot stop, which is not what was asked for. */
function thinkLeast(body: Members, { efforts = [] }: ModelFacts, { drop }: ConversionOptions): void {
  drop(isObject(body.thinking) ? "thinking" : "reasoning_effort");
  delete body.thinking;
  delete body.reasoning_effort;
  const least = nearestEffort("none", efforts);
  if (least !== undefined) body.reasoning_effort = least;
}

/** Thinking that is on, with its budget where the host takes one. */
function toSwitch({ thinking }: Members, { thinkingBudget: bounds }: ModelFacts): Members {
  const budget = isObject(thinking) ? thinking.budget_tokens : undefined;
  if (!bounds || typeof budget !== "number") return { type: "enabled" };
  return { type: "enabled", budget_tokens: Math.min(Math.max(budget, bounds[0]), bounds[1]) };
}

/** Thinking of a model that has a switch for it. */
function fitSwitch(body: Members, facts: ModelFacts, options: ConversionOptions): void {
  const asked = readAsked(body);
  const { canStopThinking = true, thinksInStreamsOnly = false } = facts;
  if (thinksInStreamsOnly && body.stream !== true) {
    if (asked === "on") options.drop(isObject(body.thinking) ? "thinking" : "reasoning_effort");
    delete body.reasoning_effort;
    body.thinking = { type: "disabled" };
  } else if (asked === "on") body.thinking = toSwitch(body, facts);
  else if (asked === "off" && canStopThinking) turnOff(body);
  else if (asked === "off") thinkLeast(body, facts, options);
}

/** Thinking that a setting of the chat template decides about (https://docs.vllm.ai/en/latest/features/reasoning_outputs.html). */
function fitTemplate(body: Members): void {
  const asked = readAsked(body);
  const { chat_template_kwargs: given } = body;
  delete body.thinking;
  if (asked === undefined) return;
  if (body.reasoning_effort === "none") delete body.reasoning_effort;
  body.chat_template_kwargs = { enable_thinking: asked === "on", ...(isObject(given) && given) };
}

/** Thinking of a model without such a field. */
function withoutField(body: Members, facts: ModelFacts, options: ConversionOptions): void {
  const asked = readAsked(body);
  if (asked === "off" && facts.canStopThinking === false) thinkLeast(body, facts, options);
  else if (asked === "off" && facts.efforts?.includes("none")) body.reasoning_effort = "none";
  else if (asked === "off") {
    if (facts.efforts) delete body.reasoning_effort;
  } else if (facts.thinking === "none" && isObject(body.thinking) && typeof body.reasoning_effort !== "string") {
    options.drop("thinking");
  }
  delete body.thinking;
}

/** Says "think" and "do not think" in the form of the model. What it cannot be asked for is reported. */
export function fitThinking(body: Members, facts: ModelFacts, options: ConversionOptions): void {
  const { thinking: form, efforts, thinksByDefault = false } = facts;
  if (form === "switch") fitSwitch(body, facts, options);
  else if (form === "template") fitTemplate(body);
  else if (form === "effort" || form === "none") withoutField(body, facts, options);
  if (form !== undefined || !isObject(body.thinking) || readAsked(body) !== "off") return;
  if (efforts?.includes("none")) {
    body.reasoning_effort = "none";
    delete body.thinking;
  } else if (efforts && !thinksByDefault) delete body.thinking;
}

function refuseRequiredCall(facts: ModelFacts): never {
  const why = facts.toolChoice === "auto" ? "it decides by itself whether to call one" : "it always thinks";
  throw new InvalidRequestError(`Cannot require a call of this model: ${why}`, {
    param: "tool_choice",
    code: "unsupported_parameter",
  });
}

const nameOf = (holder: unknown): unknown =>
  isObject(holder) && isObject(holder.function) ? holder.function.name : undefined;

/** A call that only the named tool can serve, where the model takes no name. */
function requireOnly(body: Members): void {
  const { tool_choice: choice, tools } = body;
  if (!isObject(choice) || !Array.isArray(tools)) return;
  const named = tools.filter((tool: unknown) => nameOf(tool) === nameOf(choice));
  if (named.length === 0) return;
  body.tools = named;
  body.tool_choice = "required";
}

/**
 * Demands a call in a form that the model takes.
 *
 * @throws {InvalidRequestError} If it takes none.
 */
export function fitToolChoice(body: Members, facts: ModelFacts, { drop }: ConversionOptions): void {
  const { toolChoice = "any", canStopThinking = true } = facts;
  const { tool_choice: choice } = body;
  if (toolChoice === "any" || choice === undefined || choice === null || choice === "auto") return;
  if (choice === "none") {
    // without tools there is no call
    if (toolChoice !== "auto") return;
    delete body.tools;
    delete body.tool_choice;
  } else if (toolChoice === "required") requireOnly(body);
  else if (toolChoice === "auto" || !canStopThinking) refuseRequiredCall(facts);
  else {
    if (readAsked(body) === "on") drop(isObject(body.thinking) ? "thinking" : "reasoning_effort");
    delete body.reasoning_effort;
    body.thinking = { type: "disabled" };
  }
}
