import { text } from "@/text/text.ts";
import type { Preset } from "./types.ts";

const words = text.resources.keys.presets;

const onlyReads = /\.(?:read|list|view)$/;

/** Presets of the scopes that a kind of key may have. Only keys of workspaces call models. */
export function presetsOf(scopes: readonly string[]): readonly Preset[] {
  const models = scopes.filter((scope) => scope === "completions.write");
  const read = { label: words.read, values: scopes.filter((scope) => onlyReads.test(scope)) };
  if (models.length === 0) return [read, { label: words.organisation, values: scopes }];
  return [{ label: words.models, values: models }, read, { label: words.workspace, values: scopes }];
}
