import { readDrafts } from "@/resources/checks/draft.ts";
import { showActions, showChecks } from "@/resources/checks/shown.tsx";
import { defineResource } from "@/resources/define.ts";
import { changedFact, isOwn, numbered, targetField } from "@/resources/options.ts";
import type { Field } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const fields = text.resources.fields;
const words = text.resources.guardrails;

const writable = [
  { name: "name", label: fields.name, kind: "text", required: true },
  {
    name: "checks",
    label: words.checks,
    kind: "own",
    required: true,
    input: async () => ({ default: (await import("@/resources/checks/checks-input.tsx")).ChecksInput }),
    toMember: readDrafts,
  },
  {
    name: "actions",
    label: words.actions,
    kind: "own",
    input: async () => ({ default: (await import("@/resources/checks/actions-input.tsx")).ActionsInput }),
    toMember: readDrafts,
  },
] as const satisfies readonly Field[];

/** Saved guardrails: `/v1/guardrails`. */
export const guardrails = defineResource({
  name: "guardrails",
  text: { ...words, emptyHint: words.empty },
  workspace: "optional",
  list: { path: "/v1/guardrails", paging: numbered },
  id: ({ slug }) => slug,
  title: ({ name }) => name,
  columns: [
    { label: fields.name, of: ({ name }) => name, track: "minmax(10rem, 2fr)" },
    { label: fields.slug, of: ({ slug }) => slug, kind: "id", wide: true },
    { label: fields.target, of: ({ target }) => target, kind: "word", track: "7rem", wide: true },
    { label: text.common.status, of: ({ status }) => status, kind: "status", track: "6rem" },
    {
      label: text.common.changed,
      of: ({ last_updated_at }) => last_updated_at,
      kind: "ago",
      track: "7rem",
      wide: true,
    },
  ],
  facts: [
    { label: fields.name, of: ({ name }) => name },
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
    { label: fields.slug, of: ({ slug }) => slug, kind: "id" },
    { label: fields.target, of: ({ target }) => target, kind: "word" },
    { label: words.checks, of: ({ checks }) => checks, render: showChecks },
    { label: words.actions, of: ({ actions }) => actions, render: showActions },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "time" },
    changedFact,
  ],
  read: "/v1/guardrails/{id}",
  create: {
    rows: ["POST /v1/guardrails"],
    made: ({ slug }) => slug,
    fields: [...writable, targetField],
  },
  update: { rows: ["PUT /v1/guardrails/{id}"], fields: writable, when: isOwn },
  remove: { row: "DELETE /v1/guardrails/{id}", when: isOwn },
  sections: [
    {
      title: words.test,
      row: "POST /v1/guardrails/{id}/test",
      load: () => import("@/resources/sections/guardrail-test.tsx"),
    },
  ],
});
