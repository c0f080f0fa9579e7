import { access } from "@/api/access.gen.ts";
import { wordOf } from "@/lib/words.ts";
import { text } from "@/text/text.ts";
import type { Condition, Field, Option } from "./types.ts";

const words = text.resources.fields;

/** Choices by the words for their values. */
export const choices = (...values: readonly string[]): readonly Option[] =>
  values.map((value) => ({ value, label: wordOf(value) }));

/** Every scope that some row asks for. */
export const allScopes = choices(...[...new Set(Object.values(access).flatMap(({ scopes }) => scopes))].sort());

/** Paging by number, as most lists of the control plane page. */
export const numbered = { page: "current_page", size: "page_size", first: 0 } as const;

/** Records of the organisation are changed by those who act for it. */
export const isOwn: Condition = ({ workspace_id }, viewer) => viewer.workspace_id === null || workspace_id !== null;

/** Roles in a workspace. */
export const workspaceRoles = choices("admin", "manager", "member");

export const nameField: Field = { name: "name", label: words.name, kind: "text", required: true };
export const slugField: Field = { name: "slug", label: words.slug, kind: "text", help: words.slugHelp };
export const descriptionField: Field = { name: "description", label: words.description, kind: "long" };
export const rateLimitsField: Field = {
  name: "rate_limits",
  label: words.rateLimits,
  help: words.rateLimitsHelp,
  kind: "json",
};
export const usageLimitsField: Field = {
  name: "usage_limits",
  label: words.usageLimits,
  help: words.usageLimitsHelp,
  kind: "json",
};
export const secretMappingsField: Field = {
  name: "secret_mappings",
  label: words.secretMappings,
  help: words.secretMappingsHelp,
  kind: "json",
};

/** Workspaces by name, for fields and filters. */
export const workspaceSource = { path: "/v1/admin/workspaces", value: "id", label: "name" } as const;
