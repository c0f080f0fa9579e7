import { createElement, type ReactNode } from "react";
import { nameOf } from "@/lib/words.ts";
import { labelOfSetting } from "@/resources/setting-label.ts";
import { text } from "@/text/text.ts";
import { Labelled } from "../labelled.tsx";
import type { Field } from "../types.ts";
import { SettingsDraft } from "./settings-draft.ts";

const words = text.resources.settings;

/** The settings of an integration as one field, for each provider the inputs that it has. */
export function settingsFieldOf(provider: string, when?: Field["when"]): Field<"configurations"> {
  return {
    name: "configurations",
    label: words.title,
    kind: "own",
    input: async () => ({ default: (await import("./settings-input.tsx")).settingsInputOf(provider) }),
    toMember: (value) => SettingsDraft.from(provider, value).toConfigurations(),
    ...(when !== undefined && { when }),
  };
}

/** Factors of the list prices in words. */
export function showFactors(multiplier: object): ReactNode {
  const { factors } = text.resources.integrations;
  return createElement(Labelled, { value: multiplier, labelOf: (name) => factors[name] ?? nameOf(name) });
}

/** The settings of an integration with their names, secrets as masks. */
export function showSettings(configurations: object): ReactNode {
  return createElement(Labelled, { value: configurations, labelOf: labelOfSetting });
}
