import { type ReactNode, useMemo } from "react";
import { ResourceList } from "@/resources/list.tsx";
import { useCollections } from "@/resources/prompt-options.ts";
import { createPrompts } from "./prompts.ts";

/** Saved prompts. */
export default function Prompts(): ReactNode {
  const collections = useCollections();
  const names = JSON.stringify(collections);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list is a new one each time, its content is not
  const resource = useMemo(() => createPrompts(collections), [names]);
  return <ResourceList resource={resource} />;
}
