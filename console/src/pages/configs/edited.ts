import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JsonMark } from "@/components/json-schema.ts";
import type { JsonObject } from "@/lib/json.ts";
import { complaintsOf } from "@/resources/check-body.ts";
import { readBody } from "@/resources/form-or-json.tsx";
import { text } from "@/text/text.ts";
import type { Draft } from "./draft.ts";
import type { NodePath } from "./edit-tree.ts";
import { readExact, writeForm } from "./form.ts";

/** The JSON schema of configs; undefined until it is loaded. */
export function useConfigSchema(): JsonObject | undefined {
  const { data } = useQuery({
    queryKey: ["schema", "RoutingConfig"],
    queryFn: async () => (await import("@/api/bodies.gen.ts")).routingConfig,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data;
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What the schema of configs refuses, found before the config is sent. */
export function findMarks(schema: JsonObject, config: unknown): readonly JsonMark[] {
  return complaintsOf(schema, config).map(({ path, message }) => ({
    path: path.split(".").map((step) => (/^\d+$/.test(step) ? Number(step) : step)),
    message,
  }));
}

/** Whether this browser edits configs as JSON. */
const storageKey = "gateway.configs.json";

/**
 * A config while it is edited, as JSON or as a form. The JSON follows the form; what is half typed in the form waits for the
 * rest.
 *
 * @param isForm Whether it begins as a form, if a form can hold it.
 * @param onChange Called after each change.
 */
export function useEditedConfig(initial: Draft, isForm: boolean, onChange: () => void) {
  const [draft, setDraft] = useState(initial);
  const [form, setForm] = useState(() =>
    isForm && localStorage.getItem(storageKey) !== "1" ? readExact(initial.code) : undefined,
  );
  const [problem, setProblem] = useState<string>();
  const [at, choose] = useState<NodePath>([]);
  const change = (changes: Partial<Draft>) => {
    setDraft((before) => ({ ...before, ...changes }));
    onChange();
  };
  const fill = (next: JsonObject) => {
    setForm(next);
    try {
      change({ code: writeForm(next) });
      setProblem(undefined);
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  const switchTo = (isJson: boolean) => {
    localStorage.setItem(storageKey, isJson ? "1" : "0");
    if (isJson) {
      if (problem === undefined) setForm(undefined);
      return;
    }
    try {
      readBody(draft.code);
      const read = readExact(draft.code);
      setForm(read);
      setProblem(read === undefined ? text.schemaForm.inexact : undefined);
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return { draft, change, form, fill, at, choose, switchTo, problem };
}
