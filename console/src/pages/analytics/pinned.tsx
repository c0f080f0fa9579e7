import { Button } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { Section } from "@/layout/page.tsx";
import { readPeriod } from "@/lib/period.ts";
import { sourceOf } from "@/lib/source.ts";
import { useKeyNames } from "@/resources/key-names.ts";
import { text } from "@/text/text.ts";
import { toAnalyticsQuery } from "../logs/analytics-filters.ts";
import { openedSearch } from "../logs/views/data.ts";
import { type SavedView, toSearch } from "../logs/views/question.ts";
import classes from "./analytics.module.css";
import { GraphPanel } from "./graph-panel.tsx";
import { graphs } from "./graphs.ts";
import { SeriesPanel } from "./series-panel.tsx";

const words = text.views;

/** The charts that a workspace shares, and those of the viewer. */
export default function PinnedCharts({ views }: { readonly views: readonly SavedView[] }): ReactNode {
  const names = useKeyNames();
  const [now] = useState(Date.now);
  return (
    <Section title={words.charts}>
      <div className={classes.charts}>
        {views.map((view) => (
          <PinnedChart key={view.id} view={view} names={names} now={now} />
        ))}
      </div>
    </Section>
  );
}

interface PinnedChartProps {
  readonly view: SavedView;
  readonly names: ReadonlyMap<string, string>;
  readonly now: number;
}

/** A view as analytics draw it: its graph if it names nothing else, else its figure by group over time. */
function PinnedChart({ view, names, now }: PinnedChartProps): ReactNode {
  const navigate = useNavigate();
  const search = toSearch(view.question);
  const period = readPeriod(search, now, "7d");
  const filters = { ...toAnalyticsQuery(search), source: sourceOf(search) };
  const actions = (
    <Button variant="default" renderRoot={(props) => <Link {...props} to="/analytics" search={openedSearch(view)} />}>
      {words.open}
    </Button>
  );
  const graph = graphs.find(({ name }) => name === search.graph);
  if (graph !== undefined && search.group === undefined && search.figure === undefined) {
    return <GraphPanel graph={graph} period={period} filters={filters} chooser={actions} title={view.name} />;
  }
  const { range: _, ...others } = openedSearch(view);
  const onZoom = (span: typeof search) => void navigate({ to: "/analytics", search: { ...others, ...span } });
  return (
    <SeriesPanel
      search={search}
      period={period}
      filters={filters}
      names={names}
      elsewhere={{ title: view.name, actions, onZoom }}
    />
  );
}
