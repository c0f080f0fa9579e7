import { text } from "@/text/text.ts";
import { choices, isOwn, numbered } from "./options.ts";
import type { Field, Resource } from "./types.ts";

const fields = text.resources.fields;
const words = text.resources.guardrails;

const writable: readonly Field[] = [
  { name: "name", label: fields.name, kind: "text", required: true },
  { name: "checks", label: words.checks, help: words.checksHelp, kind: "json", required: true },
  { name: "actions", label: words.actions, help: words.actionsHelp, kind: "json" },
];

/** Saved guardrails: `/v1/guardrails`. */
export const guardrails: Resource = {
  name: "guardrails",
  group: "govern",
  icon: "guardrails",
  text: { ...words, emptyHint: words.empty },
  workspace: "optional",
  list: { path: "/v1/guardrails", paging: numbered },
  id: "slug",
  title: "name",
  columns: [
    { label: fields.name, path: "name", track: "minmax(10rem, 2fr)" },
    { label: fields.slug, path: "slug", kind: "code", wide: true },
    { label: fields.target, path: "target", kind: "word", track: "7rem", wide: true },
    { label: text.common.status, path: "status", kind: "status", track: "6rem" },
    { label: text.common.changed, path: "last_updated_at", kind: "ago", track: "7rem", wide: true },
  ],
  facts: [
    { label: fields.slug, path: "slug", kind: "code" },
    { label: fields.target, path: "target", kind: "word" },
    { label: text.common.status, path: "status", kind: "status" },
    { label: words.checks, path: "checks", kind: "json" },
    { label: words.actions, path: "actions", kind: "json" },
    { label: text.common.changed, path: "last_updated_at", kind: "time" },
  ],
  read: "/v1/guardrails/{id}",
  create: {
    rows: ["POST /v1/guardrails"],
    fields: [
      ...writable,
      { name: "target", label: fields.target, kind: "select", initial: "llm", options: choices("llm", "mcp_tools") },
    ],
  },
  update: { rows: ["PUT /v1/guardrails/{id}"], fields: writable, when: isOwn },
  remove: { row: "DELETE /v1/guardrails/{id}", when: isOwn },
  sections: [
    { title: words.test, row: "POST /v1/guardrails/{id}/test", load: () => import("./sections/guardrail-test.tsx") },
    { title: words.catalog, row: "GET /v1/guardrails/checks", load: () => import("./sections/check-catalog.tsx") },
  ],
};
