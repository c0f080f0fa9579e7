import { Group, SegmentedControl, Text, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import { type Period, periodSearch, rangeNames, toLocalInput } from "@/lib/period.ts";
import { text } from "@/text/frame.ts";

interface PeriodPickerProps {
  readonly period: Period;
  readonly onChange: (search: Readonly<Record<string, string | undefined>>) => void;
}

const own = "own";

/** Chooses one of the ranges up to now, or two points in time. */
export function PeriodPicker({ period, onChange }: PeriodPickerProps): ReactNode {
  const choose = (name: string) => {
    if (name === own) onChange(periodSearch({ ...period, name: undefined }));
    else onChange({ range: name, from: undefined, to: undefined });
  };
  const setEnd = (end: "from" | "to", value: string) => {
    const time = new Date(value).getTime();
    if (!Number.isNaN(time)) onChange(periodSearch({ ...period, name: undefined, [end]: time }));
  };
  return (
    <Group gap="xs" miw={0} maw="100%">
      <SegmentedControl
        aria-label={text.period.label}
        style={{ maxWidth: "100%", overflowX: "auto" }}
        value={period.name ?? own}
        onChange={choose}
        data={[
          ...rangeNames.map((name) => ({ value: name, label: text.period.ranges[name] })),
          { value: own, label: text.period.own },
        ]}
      />
      {period.name === undefined &&
        (["from", "to"] as const).map((end) => (
          <PeriodEnd
            key={end}
            label={text.period[end]}
            value={toLocalInput(period[end])}
            onChange={(value) => setEnd(end, value)}
          />
        ))}
    </Group>
  );
}

interface PeriodEndProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A point in time with its label inside, for lines of filters. */
export function PeriodEnd({ label, value, onChange }: PeriodEndProps): ReactNode {
  return (
    <TextInput
      type="datetime-local"
      aria-label={label}
      leftSection={
        <Text size="xs" c="dimmed" aria-hidden="true">
          {label}
        </Text>
      }
      leftSectionWidth="3rem"
      leftSectionPointerEvents="none"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
