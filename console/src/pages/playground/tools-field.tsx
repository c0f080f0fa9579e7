import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { CodeField } from "@/components/code-field.tsx";
import { text } from "@/text/text.ts";

const words = text.playground;

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
        <Button mt="xs" variant="default" onClick={() => onChange(words.exampleTools)}>
          {words.insertExample}
        </Button>
      )}
    </div>
  );
}
