import { Select } from "@mantine/core";
import type { ReactNode } from "react";
import { PeriodEnd } from "@/components/period-picker.tsx";
import { rangeNames, toLocalInput } from "@/lib/period.ts";
import { type Search, useChangeSearch } from "@/lib/search.ts";
import { text } from "@/text/text.ts";

const any = "any";
const own = "own";

/** The time of the requests: any, a range up to now, or between two points. */
export function TimeFilter({ search, now }: { readonly search: Search; readonly now: number }): ReactNode {
  const change = useChangeSearch();
  const isOwn = search.from !== undefined || search.to !== undefined;
  const choose = (value: string | null) => {
    if (value === own) change({ range: undefined, from: new Date(now - 86_400_000).toISOString() });
    else change({ range: value === any || value === null ? undefined : value, from: undefined, to: undefined });
  };
  const shown = (end: "from" | "to") => {
    const time = Date.parse(search[end] ?? "");
    return Number.isNaN(time) ? "" : toLocalInput(time);
  };
  const set = (end: "from" | "to", value: string) => {
    const time = new Date(value).getTime();
    change({ [end]: Number.isNaN(time) ? undefined : new Date(time).toISOString() });
  };
  return (
    <>
      <Select
        aria-label={text.period.label}
        leftSection={null}
        data={[
          { value: any, label: text.period.any },
          ...rangeNames.map((name) => ({ value: name, label: text.period.ranges[name] })),
          { value: own, label: text.period.own },
        ]}
        value={isOwn ? own : (search.range ?? any)}
        onChange={choose}
        allowDeselect={false}
        w="8rem"
      />
      {isOwn &&
        (["from", "to"] as const).map((end) => (
          <PeriodEnd key={end} label={text.period[end]} value={shown(end)} onChange={(value) => set(end, value)} />
        ))}
    </>
  );
}
