import type { ReactNode } from "react";
import { Section } from "@/layout/page.tsx";
import type { Span } from "./data.ts";
import classes from "./trace.module.css";

export const sumOf = (values: readonly (number | undefined)[]): number =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0);

/** How many of some requests failed. */
export const failedOf = (rows: readonly Span[]): number =>
  rows.filter(({ listed }) => (listed.status ?? 0) >= 400).length;

interface FigureListProps {
  readonly title: string;
  readonly figures: readonly (readonly [label: string, value: string])[];
}

/** Figures beside each other, each below its name. */
export function FigureList({ title, figures }: FigureListProps): ReactNode {
  return (
    <Section title={title} isPlain>
      <dl className={classes.figures}>
        {figures.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}
