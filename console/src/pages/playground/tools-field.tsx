import { Button, MultiSelect } from "@mantine/core";
import type { ReactNode } from "react";
import { CodeField } from "@/components/code-field.tsx";
import { text } from "@/text/text.ts";
import { usePrompts, useServers } from "./choices.ts";

const words = text.playground;

const exampleTools = JSON.stringify(
  [
    {
      type: "function",
      function: {
        name: "get_weather",
        description: "Current weather at a place",
        parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      },
    },
  ],
  undefined,
  2,
);

interface ToolsFieldProps {
  /** JSON text. */
  readonly value: string;
  readonly onChange: (tools: string) => void;
}

/** The tools of a request as JSON, with an example to begin with. */
export function ToolsField({ value, onChange }: ToolsFieldProps): ReactNode {
  return (
    <div>
      <CodeField
        label={words.tools}
        hint={words.toolsHint}
        placeholder={words.toolsPlaceholder}
        value={value}
        onChange={onChange}
        minHeight="3rem"
        maxHeight="20rem"
        lines={false}
      />
      {value.trim() === "" && (
        <Button mt="xs" variant="default" onClick={() => onChange(exampleTools)}>
          {words.insertExample}
        </Button>
      )}
    </div>
  );
}

interface ServersFieldProps {
  /** Slugs. */
  readonly value: readonly string[];
  readonly onChange: (servers: readonly string[]) => void;
}

/** MCP servers whose tools the gateway runs for the model. */
export function ServersField({ value, onChange }: ServersFieldProps): ReactNode {
  const servers = useServers();
  if (servers === undefined || (servers.length === 0 && value.length === 0)) return null;
  return (
    <MultiSelect
      label={words.servers}
      description={words.serversHint}
      mb="sm"
      data={[...servers]}
      value={[...value]}
      onChange={onChange}
      searchable
      clearable
      hidePickedOptions
    />
  );
}

interface PromptsFieldProps {
  /** `slug` or `slug@version`. */
  readonly value: readonly string[];
  readonly onChange: (prompts: readonly string[]) => void;
}

/** Saved prompts that the model may call: the gateway answers them with their own model. */
export function PromptsField({ value, onChange }: PromptsFieldProps): ReactNode {
  const prompts = usePrompts();
  if (prompts.length === 0 && value.length === 0) return null;
  const known = new Set(prompts.map((prompt) => prompt.value));
  const others = value.filter((one) => !known.has(one)).map((one) => ({ value: one, label: one }));
  return (
    <MultiSelect
      label={words.promptTools}
      description={words.promptToolsHint}
      mb="sm"
      data={[...prompts, ...others]}
      value={[...value]}
      onChange={onChange}
      searchable
      clearable
      hidePickedOptions
    />
  );
}
