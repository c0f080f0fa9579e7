import { Input, NumberInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Waiting } from "@/components/states.tsx";
import { isRow, type Row, readPath } from "@/lib/read.ts";
import type { FieldProps } from "../types.ts";
import classes from "./checks.module.css";
import { withMember } from "./draft.ts";
import { ParameterInput } from "./parameter-input.tsx";
import { type Parameter, parametersOf, placeholderOf } from "./parameters.ts";

/** Members that say what a verdict reports. */
const outcomes: ReadonlySet<string> = new Set(["on_success", "on_fail"]);

const row = "POST /v1/guardrails";

/** The members of a guardrail's actions, in one of their two spellings. */
function useActions() {
  return useQuery({
    queryKey: ["actions"],
    queryFn: async () => {
      const { bodies } = await import("@/api/bodies.gen.ts");
      return parametersOf(readPath(bodies[row], "properties.actions"))
        .filter(({ name }) => !/[A-Z]/.test(name))
        .sort((one, other) => Number(outcomes.has(one.name)) - Number(outcomes.has(other.name)));
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** What a guardrail does with its verdict. */
export function ActionsInput({ field, value, onChange, error }: FieldProps): ReactNode {
  const { data } = useActions();
  const actions = isRow(value) ? value : {};
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
        <div className={classes.fields}>{inputs(data.filter(({ kind }) => kind !== "switch"))}</div>
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
  const hasFeedback = value === undefined || value === null || (isRow(value) && isRow(value.feedback ?? {}));
  return outcomes.has(parameter.name) && hasFeedback ? <FeedbackInput {...props} /> : <ParameterInput {...props} />;
}

/** The number that a verdict gives to the trace; empty: none. */
function FeedbackInput({ parameter, value, onChange }: ActionInputProps): ReactNode {
  const outcome: Row = isRow(value) ? value : {};
  const feedback: Row = isRow(outcome.feedback) ? outcome.feedback : {};
  const shown = value === undefined ? parameter.initial : feedback.value;
  return (
    <NumberInput
      label={parameter.label}
      description={parameter.help}
      placeholder={value === undefined ? placeholderOf(parameter) : undefined}
      min={-10}
      max={10}
      value={typeof shown === "number" ? shown : ""}
      onChange={(typed) =>
        onChange(typeof typed === "number" ? { ...outcome, feedback: { ...feedback, value: typed } } : null)
      }
    />
  );
}
