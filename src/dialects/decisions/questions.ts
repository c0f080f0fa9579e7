import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { plainIssues } from "../../lib/issues.ts";
import { isObject, valueText } from "../../lib/json.ts";
import { DecisionQuestion, type DecisionsRequest } from "../../schemas/decisions.ts";

/** Most outcomes a question may have. */
const maxOutcomes = 255;
/** Most questions of one request to a chat model: each may need a call. */
const maxQuestions = 64;

/** A possible outcome of a question. */
interface Outcome {
  /** Its letters in the prompt. */
  label: string;
  /** Its name in the response. */
  name: string;
  /** What it means, if described. */
  description: string | undefined;
}

/** A question in the form a chat model is asked. */
export interface Question {
  name: string;
  type: DecisionQuestion["type"];
  instructions: DecisionQuestion["instructions"];
  /** At least two, with distinct names. */
  outcomes: readonly Outcome[];
}

function refuseQuestion(name: string, member: string, problem: string): never {
  const param = `questions.${name}${member === "" ? "" : `.${member}`}`;
  throw new InvalidRequestError(`Invalid ${param}: ${problem}`, { param, code: "invalid_body" });
}

/**
 * The questions of a request by name.
 *
 * @throws {InvalidRequestError} 400 naming the field, if there are no questions or one does not match the schema.
 */
export function listQuestions({ questions }: Partial<DecisionsRequest>): (readonly [string, DecisionQuestion])[] {
  const entries = isObject(questions) ? Object.entries(questions) : [];
  if (entries.length === 0) {
    throw new InvalidRequestError("Invalid questions: ask at least one", { param: "questions", code: "invalid_body" });
  }
  return entries.map(([name, question]) => {
    const checked = v.safeParse(DecisionQuestion, question, plainIssues);
    // the original object: the schema's copy lacks names such as "constructor"
    if (checked.success) return [name, question];
    const [issue] = checked.issues;
    return refuseQuestion(name, v.getDotPath(issue) ?? "", issue.message);
  });
}

/** The label at an index: A to Z, AA, AB and so on. */
export function labelOf(index: number): string {
  const last = String.fromCharCode(65 + (index % 26));
  return index < 26 ? last : labelOf(Math.floor(index / 26) - 1) + last;
}

function descriptionOf(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : valueText(value);
}

type Named = Omit<Outcome, "label">;

function readNoul(name: string, { criteria }: DecisionQuestion): Named[] {
  if (Array.isArray(criteria)) refuseQuestion(name, "criteria", "send an object with the keys true and false");
  const given: Record<string, unknown> = isObject(criteria) ? criteria : {};
  return ["true", "false"].map((outcome) => ({
    name: outcome,
    description: Object.hasOwn(given, outcome) ? descriptionOf(given[outcome]) : undefined,
  }));
}

function readOptions(name: string, { criteria }: DecisionQuestion): Named[] {
  if (!Array.isArray(criteria)) {
    return Object.entries(criteria ?? {}).map(([option, text]) => ({ name: option, description: descriptionOf(text) }));
  }
  const names = criteria.filter((option) => typeof option === "string");
  const isList = names.length === criteria.length && new Set(names).size === names.length;
  if (!isList) refuseQuestion(name, "criteria", "send a list of distinct strings, or an object of options");
  return names.map((option) => ({ name: option, description: undefined }));
}

function readLevels(name: string, { criteria }: DecisionQuestion): Named[] {
  if (!Array.isArray(criteria)) refuseQuestion(name, "criteria", "send a list of the levels, lowest first");
  return criteria.map((text, index) => ({ name: String(index), description: descriptionOf(text) ?? "" }));
}

const readers = { noul: readNoul, choice: readOptions, score: readLevels } as const;
const words = { noul: "outcomes", choice: "options", score: "levels" } as const;

/**
 * The questions of a request in the form a chat model is asked.
 *
 * @throws {InvalidRequestError} 400 naming the field, for questions that cannot be asked.
 */
export function readQuestions(request: Partial<DecisionsRequest>): Question[] {
  const list = listQuestions(request);
  if (list.length > maxQuestions) {
    throw new InvalidRequestError(`Invalid questions: a chat model can be asked at most ${maxQuestions} at once`, {
      param: "questions",
      code: "invalid_body",
    });
  }
  return list.map(([name, question]) => {
    const { type, instructions } = question;
    const named = readers[type](name, question);
    if (named.length < 2 || named.length > maxOutcomes) {
      refuseQuestion(name, "criteria", `send 2 to ${maxOutcomes} ${words[type]}`);
    }
    return { name, type, instructions, outcomes: named.map((one, index) => ({ label: labelOf(index), ...one })) };
  });
}
