import { NumberInput, Select, Stack, TagsInput } from "@mantine/core";
import type { ReactNode } from "react";
import { CodeField } from "@/components/code-field.tsx";
import { Folded } from "@/components/folded.tsx";
import { nameOf } from "@/lib/words.ts";
import { text } from "@/text/text.ts";
import classes from "./playground.module.css";
import { emptyParameters, type Parameters } from "./state.ts";

const words = text.playground;

const editorSize = { minHeight: "4rem", maxHeight: "14rem", lines: false };

const efforts = ["none", "minimal", "low", "medium", "high"];

const formats = ["text", "json_object", "json_schema"] as const;

interface ParameterFieldsProps {
  readonly parameters: Parameters;
  readonly onChange: (changes: Partial<Parameters>) => void;
}

/** Parameters of a request, folded away until they are wanted. */
export function ParameterFields(props: ParameterFieldsProps): ReactNode {
  const names = Object.keys(emptyParameters) as (keyof Parameters)[]; // the keys of a literal of this type
  const count = names.filter((name) => String(props.parameters[name]) !== "").length;
  return (
    <Folded label={words.parameters({ count })}>
      <Fields {...props} />
    </Folded>
  );
}

function Fields({ parameters, onChange }: ParameterFieldsProps): ReactNode {
  return (
    <Stack gap="xs" pt="xs">
      <div className={classes.pair}>
        <NumberInput
          label={words.temperature}
          min={0}
          max={2}
          step={0.1}
          value={parameters.temperature}
          onChange={(temperature) => onChange({ temperature })}
        />
        <NumberInput
          label={words.maxTokens}
          min={1}
          allowDecimal={false}
          value={parameters.maxTokens}
          onChange={(maxTokens) => onChange({ maxTokens })}
        />
        <NumberInput
          label={words.topP}
          min={0}
          max={1}
          step={0.05}
          value={parameters.topP}
          onChange={(topP) => onChange({ topP })}
        />
        <Select
          label={words.effort}
          data={efforts.map((value) => ({ value, label: nameOf(value) }))}
          clearable
          value={parameters.effort === "" ? null : parameters.effort}
          onChange={(effort) => onChange({ effort: effort ?? "" })}
        />
      </div>
      <TagsInput
        label={words.stop}
        value={[...parameters.stop]}
        onChange={(stop) => onChange({ stop })}
        maxTags={4}
        splitChars={[]}
      />
      <Select
        label={words.format}
        data={formats.map((value) => ({ value, label: words.formats[value] }))}
        clearable
        value={parameters.format === "" ? null : parameters.format}
        onChange={(format) => onChange({ format: format ?? "" })}
      />
      {parameters.format === "json_schema" && (
        <CodeField
          label={words.schema}
          value={parameters.schema}
          onChange={(schema) => onChange({ schema })}
          {...editorSize}
        />
      )}
      <CodeField
        label={words.extra}
        hint={words.extraHint}
        value={parameters.extra}
        onChange={(extra) => onChange({ extra })}
        {...editorSize}
      />
    </Stack>
  );
}
