import { Button, Group, SegmentedControl, Select, Stack, Text, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import { providerNames } from "@/api/providers.gen.ts";
import { Failure } from "@/components/states.tsx";
import { text } from "@/text/text.ts";
import { useConfigs, usePrompt, usePrompts, useProviders, variablesOf } from "./choices.ts";
import { FreeChoice } from "./free-choice.tsx";
import { ModelField } from "./model-field.tsx";
import type { PromptRecord } from "./open.ts";
import classes from "./playground.module.css";
import type { Target, TargetKind } from "./state.ts";

const words = text.playground;

const kinds: readonly TargetKind[] = ["provider", "config", "prompt"];

interface TargetFieldsProps {
  readonly target: Target;
  readonly onChange: (changes: Partial<Target>) => void;
  /** Puts the messages and parameters of a saved prompt into the editor. */
  readonly onOpenPrompt: (record: PromptRecord) => void;
  /** Stands beside the choice. */
  readonly corner?: ReactNode;
}

/** Where a column sends its requests: a provider and model, a saved config, or a saved prompt. */
export function TargetFields({ target, onChange, onOpenPrompt, corner }: TargetFieldsProps): ReactNode {
  return (
    <Stack gap="xs" className={classes.target}>
      <Group gap="xs" wrap="nowrap">
        <SegmentedControl
          aria-label={words.target}
          fullWidth
          data={kinds.map((value) => ({ value, label: words.kinds[value] }))}
          value={target.kind}
          onChange={(kind) => onChange({ kind: kinds.find((one) => one === kind) ?? "provider" })}
          style={{ flex: 1 }}
        />
        {corner}
      </Group>
      {target.kind === "provider" && <ProviderField target={target} onChange={onChange} />}
      {target.kind === "config" && <ConfigField target={target} onChange={onChange} />}
      {target.kind === "prompt" && <PromptFields target={target} onChange={onChange} onOpen={onOpenPrompt} />}
      <ModelField
        provider={target.kind === "provider" ? target.provider : ""}
        placeholder={target.kind === "provider" ? words.modelHint : words.modelOptional}
        value={target.model}
        onChange={(model) => onChange({ model })}
      />
    </Stack>
  );
}

type FieldProps = Pick<TargetFieldsProps, "target" | "onChange">;

function ProviderField({ target, onChange }: FieldProps): ReactNode {
  const providers = useProviders();
  return (
    <FreeChoice
      label={words.provider}
      placeholder={words.providerHint}
      groups={[
        { label: words.storedProviders, choices: providers },
        { label: words.builtInProviders, choices: providerNames.map((name) => ({ value: name })) },
      ]}
      value={target.provider}
      onChange={(provider) => onChange({ provider })}
    />
  );
}

function ConfigField({ target, onChange }: FieldProps): ReactNode {
  const configs = useConfigs();
  const isKnown = target.config === "" || configs.some(({ value }) => value === target.config);
  return (
    <Select
      label={words.kinds.config}
      placeholder={words.chooseConfig}
      data={isKnown ? configs : [...configs, { value: target.config, label: target.config }]}
      value={target.config === "" ? null : target.config}
      onChange={(config) => onChange({ config: config ?? "" })}
      searchable
      nothingFoundMessage={words.nothingSaved}
    />
  );
}

function PromptFields({
  target,
  onChange,
  onOpen,
}: FieldProps & { readonly onOpen: (record: PromptRecord) => void }): ReactNode {
  const prompts = usePrompts();
  const [slug = "", version = ""] = target.prompt.split("@");
  const { data, error } = usePrompt(target.prompt);
  const isKnown = slug === "" || prompts.some(({ value }) => value === slug);
  const choose = (name: string, at: string) => onChange({ prompt: at === "" ? name : `${name}@${at}` });
  return (
    <>
      <Select
        label={words.kinds.prompt}
        placeholder={words.choosePrompt}
        data={isKnown ? prompts : [...prompts, { value: slug, label: slug }]}
        value={slug === "" ? null : slug}
        onChange={(name) => choose(name ?? "", "")}
        searchable
        nothingFoundMessage={words.nothingSaved}
      />
      <TextInput
        label={words.version}
        placeholder={words.versionHint}
        value={version}
        onChange={(event) => choose(slug, event.currentTarget.value.trim())}
      />
      {error !== null && <Failure error={error} />}
      {variablesOf(data).map((name) => (
        <TextInput
          key={name}
          label={name}
          value={target.variables[name] ?? ""}
          onChange={(event) => onChange({ variables: { ...target.variables, [name]: event.currentTarget.value } })}
        />
      ))}
      {data !== undefined && (
        <>
          <Text size="xs" c="dimmed">
            {words.promptHint}
          </Text>
          <Button variant="default" onClick={() => onOpen(data)}>
            {words.openPrompt}
          </Button>
        </>
      )}
    </>
  );
}
