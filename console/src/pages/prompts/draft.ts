import { createMessage, fromWire, type Message, toWire } from "@/chat/messages.ts";
import type { JsonObject } from "@/lib/json.ts";
import { readParameters } from "@/pages/playground/open.ts";
import { readTools, toParameters } from "@/pages/playground/request.ts";
import { emptyParameters, type Parameters } from "@/pages/playground/state.ts";
import { text } from "@/text/text.ts";
import type { PromptRecord } from "./data.ts";

/** How the text of a prompt is edited: as messages, as the JSON of messages, or as the text of a completion. */
export type TemplateForm = "messages" | "json" | "text";

/** A prompt as it is being edited. */
export interface Draft {
  readonly name: string;
  readonly collection: string;
  readonly form: TemplateForm;
  readonly messages: readonly Message[];
  /** The template where it is edited as JSON or text. */
  readonly template: string;
  readonly model: string;
  /** Slug of a stored provider, without `@`. */
  readonly provider: string;
  readonly parameters: Parameters;
  /** JSON text. */
  readonly tools: string;
  /** What changed, for the list of versions. */
  readonly description: string;
}

export const newDraft: Draft = {
  name: "",
  collection: "",
  form: "messages",
  messages: [createMessage("system"), createMessage("user", "{{question}}")],
  template: "",
  model: "",
  provider: "",
  parameters: emptyParameters,
  tools: "",
  description: "",
};

const pretty = (value: unknown): string => JSON.stringify(value, undefined, 2);

function parse(template: string): unknown {
  try {
    return JSON.parse(template);
  } catch {
    return undefined;
  }
}

/** A template as messages, where each of them can be shown without loss. */
function readTemplate(template: string): Pick<Draft, "form" | "messages" | "template"> {
  const list = parse(template);
  if (!Array.isArray(list)) return { form: "text", messages: [], template };
  const messages = list.map(fromWire).filter((message) => message !== undefined);
  const isWhole = JSON.stringify(messages.map(toWire)) === JSON.stringify(list);
  return { form: isWhole ? "messages" : "json", messages, template: pretty(list) };
}

export function toDraft(record: PromptRecord): Draft {
  const tools = record.tools !== null && record.tools.length > 0 ? pretty(record.tools) : "";
  return {
    ...readTemplate(record.string),
    name: record.name,
    collection: record.collection_id,
    model: record.model ?? "",
    provider: record.virtual_key,
    parameters: readParameters(record.parameters),
    tools,
    description: "",
  };
}

/** The template as the API stores it. */
export function templateOf({ form, messages, template }: Draft): string {
  return form === "messages" ? JSON.stringify(messages.map(toWire)) : template;
}

/** A draft whose template is edited in another form. @throws {Error} The JSON is no list of messages. */
export function inForm(draft: Draft, form: TemplateForm): Draft {
  if (form === draft.form) return draft;
  if (form !== "messages") {
    const list = parse(templateOf(draft));
    return { ...draft, form, template: list === undefined ? templateOf(draft) : pretty(list) };
  }
  const read = readTemplate(draft.template);
  if (read.form === "messages") return { ...draft, ...read };
  if (read.form === "text" && draft.form === "text") {
    return { ...draft, form, messages: [createMessage("user", draft.template)] };
  }
  throw new Error(text.prompts.notMessages);
}

/** What belongs to a version. @throws {Error} A field that holds JSON cannot be read. */
export function versionOf(draft: Draft): JsonObject {
  // a broken list would be stored as the text of a completion
  if (draft.form === "json" && !Array.isArray(parse(draft.template))) throw new Error(text.prompts.notMessages);
  const tools = readTools(draft.tools);
  return {
    string: templateOf(draft),
    parameters: toParameters(draft.parameters),
    model: draft.model === "" ? null : draft.model,
    virtual_key: draft.provider,
    tools: tools === undefined || tools.length === 0 ? null : tools,
  };
}

const tag = /\{\{\{?\s*([#^/]?)\s*([\w.-]+)\s*\}?\}\}/g;

/** Names of the variables in a template; sections count, closing tags and partials do not. */
export function variablesIn(template: string): readonly string[] {
  const names = [...template.matchAll(tag)].filter(([, mark, name]) => mark !== "/" && name !== ".");
  return [...new Set(names.map(([, , name = ""]) => name.split(".")[0] ?? name))].filter((name) => name !== "");
}

/** A version in words, for comparing: model and parameters, then one message after the other. */
export function describeVersion(record: PromptRecord): string {
  const draft = toDraft(record);
  const head = [
    `${text.prompts.model}: ${draft.model}`,
    `${text.prompts.provider}: ${draft.provider === "" ? "" : `@${draft.provider}`}`,
    `${text.prompts.parameters}: ${pretty(record.parameters)}`,
    ...(draft.tools === "" ? [] : [`${text.prompts.tools}: ${draft.tools}`]),
  ];
  const body =
    draft.form === "messages"
      ? draft.messages.map(({ role, text: content }) => `\n[${role}]\n${content}`)
      : [`\n${draft.template}`];
  return [...head, ...body].join("\n");
}
