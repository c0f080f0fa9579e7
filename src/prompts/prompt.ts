import type { Budget } from "../lib/budget.ts";
import { findJsonExcess, isObject, parseJson } from "../lib/json.ts";
import type { Steps } from "../lib/steps.ts";
import { Renderer, withinBounds } from "./render.ts";
import { namesOf, parseTemplate, type Template, type TemplateNames, type TemplateProblem } from "./template.ts";

/** A string with tags inside a message. */
class TemplateText {
  readonly template: Template;

  constructor(template: Template) {
    this.template = template;
  }
}

/** A parsed prompt: messages whose strings are templates, or a single template. */
export type PromptTemplate =
  | { readonly kind: "chat"; readonly messages: readonly unknown[]; readonly templates: readonly Template[] }
  | { readonly kind: "complete"; readonly template: Template; readonly templates: readonly Template[] };

/** A prompt after rendering. */
type RenderedPrompt = { messages: unknown[] } | { prompt: string };

/** Messages, if the text is JSON of a list of objects. */
function readMessages(text: string): Record<string, unknown>[] | undefined {
  if (!/^\s*\[/.test(text)) return undefined;
  const value = parseJson(text);
  return Array.isArray(value) && value.length > 0 && value.every(isObject) ? value : undefined;
}

/** A value with its strings parsed; collects the templates and problems. */
function parseStrings(value: unknown, templates: Template[], problems: TemplateProblem[]): unknown {
  if (Array.isArray(value)) return value.map((item) => parseStrings(item, templates, problems));
  if (isObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, parseStrings(member, templates, problems)]),
    );
  }
  if (typeof value !== "string" || !value.includes("{{")) return value;
  const template = parseTemplate(value);
  if ("problem" in template) {
    problems.push(template);
    return value;
  }
  templates.push(template);
  return new TemplateText(template);
}

/**
 * Parses a saved prompt. JSON of a list of messages becomes messages whose strings are templates, so that a value cannot
 * break out of its string. Anything else is a single template.
 */
export function readPromptTemplate(text: string): PromptTemplate | TemplateProblem {
  const excess = /^\s*\[/.test(text) ? findJsonExcess(new TextEncoder().encode(text)) : undefined;
  if (excess !== undefined) return { problem: `it has ${excess}` };
  const messages = readMessages(text);
  if (!messages) {
    const template = parseTemplate(text);
    return "problem" in template ? template : { kind: "complete", template, templates: [template] };
  }
  const nameless = messages.findIndex(({ role }) => typeof role !== "string" || role === "");
  if (nameless >= 0) return { problem: `message ${nameless} has no role` };
  const templates: Template[] = [];
  const problems: TemplateProblem[] = [];
  const parsed = messages.map((message) => parseStrings(message, templates, problems));
  const [problem] = problems;
  return problem ?? { kind: "chat", messages: parsed, templates };
}

/** Names that a prompt uses. */
export function namesOfPrompt({ templates }: PromptTemplate): TemplateNames {
  return namesOf(templates);
}

function* fillStrings(value: unknown, renderer: Renderer): Steps<unknown> {
  if (value instanceof TemplateText) return yield* renderer.fill(value.template);
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) items.push(yield* fillStrings(item, renderer));
    return items;
  }
  if (!isObject(value)) return value;
  const entries: [string, unknown][] = [];
  for (const [name, member] of Object.entries(value)) entries.push([name, yield* fillStrings(member, renderer)]);
  return Object.fromEntries(entries);
}

function* render(prompt: PromptTemplate, renderer: Renderer): Steps<RenderedPrompt> {
  if (prompt.kind === "complete") return { prompt: yield* renderer.fill(prompt.template) };
  const messages: unknown[] = [];
  for (const message of prompt.messages) messages.push(yield* fillStrings(message, renderer));
  return { messages };
}

/** Values of the variables of a prompt by name; unknown names are empty. Partials by the name in the template. */
interface PromptValues {
  readonly variables: Readonly<Record<string, unknown>>;
  readonly partials: ReadonlyMap<string, Template>;
}

/** Renders a prompt. Never throws: exceeding the limits of `render.ts` is returned as a problem. */
export function renderPrompt(
  prompt: PromptTemplate,
  { variables, partials }: PromptValues,
  budget: Budget,
): Steps<RenderedPrompt | TemplateProblem> {
  return withinBounds(render(prompt, new Renderer(variables, partials, budget)));
}
