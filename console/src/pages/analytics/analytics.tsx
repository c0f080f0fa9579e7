import { Button, Select } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { ConsoleRequests } from "@/components/console-requests.tsx";
import { Icon } from "@/components/icons.tsx";
import { PeriodPicker } from "@/components/period-picker.tsx";
import { Waiting } from "@/components/states.tsx";
import { ListPage } from "@/layout/page.tsx";
import { readPeriod } from "@/lib/period.ts";
import { useChangeSearch, useSearchParams } from "@/lib/search.ts";
import { sourceOf } from "@/lib/source.ts";
import { useKeyNames } from "@/resources/key-names.ts";
import { text } from "@/text/text.ts";
import { isAnalyticsFilter, toAnalyticsQuery } from "../logs/analytics-filters.ts";
import { FilterBar } from "../logs/filter-bar.tsx";
import { useOpenedView } from "../logs/views/data.ts";
import { ViewNotices, ViewsMenu } from "../logs/views/views-menu.tsx";
import { CacheSummary } from "./cache-summary.tsx";
import { GraphPanel } from "./graph-panel.tsx";
import { graphs } from "./graphs.ts";
import { GroupPanel } from "./group-panel.tsx";
import { SeriesPanel } from "./series-panel.tsx";

const words = text.analytics;

/** Graphs and groups of the requests of a range. */
export default function Analytics(): ReactNode {
  const search = useSearchParams();
  const change = useChangeSearch();
  // a filter, or what figures are grouped by
  const names = useKeyNames(Object.entries(search).some((pair) => pair.some((one) => one?.startsWith("api_key"))));
  const { waits, ...opened } = useOpenedView("analytics");
  const [now, setNow] = useState(() => Date.now());
  const period = readPeriod(search, now, "7d");
  const graph = graphs.find(({ name }) => name === search.graph) ?? graphs[0];
  const filters = { ...toAnalyticsQuery(search), source: sourceOf(search) };
  const chooser = (
    <Select
      aria-label={words.graph}
      data={graphs.map(({ name: value, label }) => ({ value, label }))}
      value={graph?.name ?? null}
      onChange={(name) => change({ graph: name ?? undefined })}
      allowDeselect={false}
      searchable
      maxDropdownHeight={420}
      w="15rem"
    />
  );
  return (
    <ListPage
      title={words.title}
      about={words.about}
      actions={
        <>
          <ViewsMenu page="analytics" search={search} view={opened.view} />
          <Button variant="default" leftSection={<Icon name="refresh" size={14} />} onClick={() => setNow(Date.now())}>
            {text.common.refresh}
          </Button>
        </>
      }
      filters={
        <>
          <PeriodPicker period={period} onChange={change} />
          <ConsoleRequests />
          <FilterBar search={search} names={names} isOffered={isAnalyticsFilter} hint={words.addFilter} />
        </>
      }
    >
      <ViewNotices {...opened} />
      {waits ? (
        <Waiting />
      ) : (
        <>
          {graph !== undefined && (
            <GraphPanel key={graph.name} graph={graph} period={period} filters={filters} chooser={chooser} />
          )}
          {search.graph?.startsWith("cache/") === true && <CacheSummary period={period} filters={filters} />}
          <SeriesPanel search={search} period={period} filters={filters} names={names} />
          <GroupPanel period={period} filters={filters} names={names} />
        </>
      )}
    </ListPage>
  );
}
