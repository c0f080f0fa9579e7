import { Input, NumberInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Waiting } from "@/components/states.tsx";
import { asObject, isJsonObject, type JsonObject } from "@/lib/json.ts";
import type { FieldProps } from "../types.ts";
import classes from "./checks.module.css";
import { Draft, withMember } from "./draft.ts";
import { ParameterInput } from "./parameter-input.tsx";
import { type Parameter, parametersOf } from "./parameters.ts";

/** Members that say what a verdict reports, with the feedback that the gateway gives where none is set. */
const outcomes: ReadonlyMap<string, number> = new Map([
  ["on_success", 5],
  ["on_fail", -5],
]);

const row = "POST /v1/guardrails";

/** The members of a guardrail's actions, in one of their two spellings. */
function useActions() {
  return useQuery({
    queryKey: ["actions"],
    queryFn: async () => {
      const { bodies } = await import("@/api/bodies.gen.ts");
      return parametersOf(asObject(bodies[row]?.properties).actions).filter(({ name }) => !/[A-Z]/.test(name));
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** What a guardrail does with its verdict. */
export function ActionsInput({ field, value, onChange, error }: FieldProps): ReactNode {
  const { data } = useActions();
  const actions = isJsonObject(value) ? value : {};
  if (data === undefined) return <Waiting />;
  const inputs = (parameters: readonly Parameter[]) =>
    parameters.map((parameter) => (
      <ActionInput
        key={parameter.name}
        parameter={parameter}
        value={actions[parameter.name]}
        onChange={(member) => onChange(withMember(actions, parameter.name, member))}
      />
    ));
  return (
    <fieldset className={classes.checks} aria-label={field.label}>
      <Input.Label labelElement="div" size="xs">
        {field.label}
      </Input.Label>
      <div className={classes.card}>
        <div className={classes.switches}>{inputs(data.filter(({ kind }) => kind === "switch"))}</div>
        <div className={classes.fields}>
          {inputs(data.filter(({ name, kind }) => kind !== "switch" && !outcomes.has(name)))}
        </div>
        <div className={classes.fields}>{inputs(data.filter(({ name }) => outcomes.has(name)))}</div>
      </div>
      {error !== undefined && <Input.Error>{error}</Input.Error>}
    </fieldset>
  );
}

interface ActionInputProps {
  readonly parameter: Parameter;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

function ActionInput(props: ActionInputProps): ReactNode {
  const { parameter, value } = props;
  const hasFeedback =
    value === undefined || value === null || (isJsonObject(value) && isJsonObject(value.feedback ?? {}));
  return outcomes.has(parameter.name) && hasFeedback ? <FeedbackInput {...props} /> : <ParameterInput {...props} />;
}

/** The number that a verdict gives to the trace; empty: none. */
function FeedbackInput({ parameter, value, onChange }: ActionInputProps): ReactNode {
  const outcome: JsonObject = isJsonObject(value) ? value : {};
  const feedback: JsonObject = isJsonObject(outcome.feedback) ? outcome.feedback : {};
  const isNone = value === null || outcome.feedback === null;
  const { value: set = outcomes.get(parameter.name) } = feedback;
  const shown = set instanceof Draft ? set.typed : set;
  const write = (typed: unknown) => onChange({ ...outcome, feedback: { ...feedback, value: typed } });
  return (
    <NumberInput
      label={parameter.label}
      description={parameter.help}
      inputWrapperOrder={["label", "input", "description", "error"]}
      min={-10}
      max={10}
      value={!isNone && (typeof shown === "number" || typeof shown === "string") ? shown : ""}
      onChange={(typed) => {
        if (typed === "") onChange(null);
        // a lone minus is not a number yet
        else write(typeof typed === "number" ? typed : new Draft(parameter.label, typed, "number"));
      }}
    />
  );
}
