import { createContext, type ReactNode, useContext, useMemo } from "react";
import { providerNames } from "@/api/providers.gen.ts";
import { Folded } from "@/components/folded.tsx";
import { asObject, isJsonObject, type JsonObject, textOf } from "@/lib/json.ts";
import { useProviders } from "@/pages/playground/choices.ts";
import { FreeChoice } from "@/pages/playground/free-choice.tsx";
import { ModelField } from "@/pages/playground/model-field.tsx";
import { withMember } from "@/resources/checks/draft.ts";
import { ParameterInput } from "@/resources/checks/parameter-input.tsx";
import { optionsOf } from "@/resources/define.ts";
import type { FieldMarks } from "@/resources/field-marks.ts";
import { type MemberProps, OtherMembers, SchemaForm, type SchemaRules } from "@/resources/schema-form/schema-form.tsx";
import { freeKey, isRecord, memberBy, placeRoot } from "@/resources/schema-form/schema-members.ts";
import { text } from "@/text/text.ts";
import classes from "./config-tree.module.css";
import { targetsOf } from "./edit-tree.ts";
import { arrangeNode, asksFor, configWords, modelOf } from "./form.ts";

const words = text.playground;

/** The node whose inputs are shown. */
const Node = createContext<JsonObject>({});

function ProviderInput({ label, help, value, onChange, error }: MemberProps): ReactNode {
  const providers = useProviders();
  return (
    <FreeChoice
      label={label}
      description={help}
      inputWrapperOrder={["label", "input", "description", "error"]}
      groups={[
        { label: words.storedProviders, choices: providers },
        { label: words.builtInProviders, choices: providerNames.map((name) => ({ value: name })) },
      ]}
      value={textOf(value)}
      onChange={(provider) => onChange(provider === "" ? undefined : provider)}
      error={error}
    />
  );
}

/** The model that a target sets, which is one of its parameters. */
function ModelInput({ value, onChange }: MemberProps): ReactNode {
  const provider = textOf(useContext(Node).provider);
  const model = modelOf(value);
  if (model === undefined) return null;
  const change = (next: string) => {
    const params = withMember(isJsonObject(value) ? value : {}, "model", next === "" ? undefined : next);
    onChange(Object.keys(params).length === 0 ? undefined : params);
  };
  return <ModelField provider={provider.split("/")[0] ?? ""} value={model} onChange={change} />;
}

/** The names of the targets below a node, as its conditions refer to them. */
function TargetInput({ label, help, value, onChange, error }: MemberProps): ReactNode {
  const names = targetsOf(useContext(Node)).flatMap(({ name }) => (typeof name === "string" ? [{ value: name }] : []));
  return (
    <FreeChoice
      label={label}
      description={help}
      inputWrapperOrder={["label", "input", "description", "error"]}
      groups={[{ label: text.configs.target, choices: names }]}
      value={textOf(value)}
      onChange={(next) => onChange(next === "" ? undefined : next)}
      error={error}
    />
  );
}

const guardrails = optionsOf("/v1/guardrails", ({ slug, name }) => ({ value: slug, label: name }));

/** Saved guardrails by their names. Those that are written into the config are shown as JSON. */
function GuardrailsInput({ label, help, value, onChange, error }: MemberProps): ReactNode {
  return (
    <ParameterInput
      parameter={{
        name: label,
        label,
        ...(help !== undefined && { help }),
        kind: "multi",
        choices: [],
        required: false,
        schema: { type: "array", items: { type: "string" } },
        words: configWords,
        source: guardrails,
      }}
      value={value}
      onChange={onChange}
      error={error}
    />
  );
}

const rules: SchemaRules = {
  words: configWords,
  keyOf: freeKey,
  asksFor,
  inputs: { input_guardrails: GuardrailsInput, output_guardrails: GuardrailsInput },
};

const firstRules: SchemaRules = {
  ...rules,
  inputs: {
    provider: ProviderInput,
    override_params: ModelInput,
    "strategy.default": TargetInput,
    "strategy.conditions.then": TargetInput,
    "strategy.rules.then": TargetInput,
  },
};

interface NodeFormProps {
  readonly schema: JsonObject;
  readonly node: JsonObject;
  readonly isRoot: boolean;
  /** What is wrong with members of the node, by dotted path. */
  readonly marks: FieldMarks;
  readonly onChange: (node: JsonObject) => void;
}

/** One target or group of a config as inputs, made of the schema of configs. The tree has its targets. */
export function NodeForm({ schema, node, isRoot, marks, onChange }: NodeFormProps): ReactNode {
  const isGroup = targetsOf(node).length > 0;
  const kind = !isGroup ? "target" : isRoot ? "root" : "group";
  const placed = useMemo(() => placeRoot(schema), [schema]);
  const { first, parts } = useMemo(() => arrangeNode(Object.keys(asObject(schema.properties)), kind), [schema, kind]);
  const isMarked = (name: string) => Object.keys(marks).some((path) => path === name || path.startsWith(`${name}.`));
  const isUsed = (name: string) => {
    const value = memberBy(node, freeKey(node, name));
    // a model alone is shown above
    const isModel = name === "override_params" && isRecord(value) && Object.keys(value).join() === "model";
    return (value !== undefined && !isModel) || isMarked(name);
  };
  const shared = { placed, value: node, onChange, marks };
  return (
    <Node value={node}>
      <fieldset className={classes.nodeForm} aria-label={isGroup ? text.configs.group : text.configs.target}>
        <SchemaForm {...shared} rules={firstRules} only={first} />
        {parts.map(({ title, names }) => (
          <Folded key={`${title} ${names.some(isMarked)}`} label={title} isOpen={names.some(isUsed)}>
            <SchemaForm {...shared} rules={rules} only={names} />
          </Folded>
        ))}
        <OtherMembers {...shared} rules={rules} />
      </fieldset>
    </Node>
  );
}
