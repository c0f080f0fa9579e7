import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { gatewayUrl } from "@/api/base.ts";
import { ConsoleRequests } from "@/components/console-requests.tsx";
import { Icon } from "@/components/icons.tsx";
import { PeriodPicker } from "@/components/period-picker.tsx";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { ListPage } from "@/layout/page.tsx";
import { echoRequest } from "@/lib/first-request.ts";
import { readPeriod } from "@/lib/period.ts";
import { useChangeSearch, useSearchParams } from "@/lib/search.ts";
import { countsConsole } from "@/lib/source.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/frame.ts";
import { useSummary } from "./data.ts";
import { FigureCards } from "./figures.tsx";
import { useStarted } from "./started.ts";
import { TopGroups } from "./top-groups.tsx";

const words = text.overview;

const FirstSteps = lazy(() => import("./first-steps.tsx"));

interface OverviewProps {
  /** What stands below the figures. */
  readonly charts: ReactNode;
}

/** What happened in a range of time, beside the range before. */
export default function Overview({ charts }: OverviewProps): ReactNode {
  const search = useSearchParams();
  const change = useChangeSearch();
  const [now, setNow] = useState(() => Date.now());
  const [asTable, setAsTable] = useState(false);
  const period = readPeriod(search, now);
  const { data, error, isFetching, refetch } = useSummary(period);
  const nothing = data !== undefined && data.summary.requests === 0 && data.former.requests === 0;
  const shown = data !== undefined && !nothing;
  return (
    <ListPage
      title={words.title}
      about={words.about}
      filters={
        <>
          <PeriodPicker period={period} onChange={change} />
          <ConsoleRequests />
        </>
      }
      actions={
        <>
          {shown && (
            <Button
              variant="default"
              aria-expanded={asTable}
              onClick={() => setAsTable(!asTable)}
              leftSection={<Icon name="columns" size={14} />}
            >
              {asTable ? text.common.hideTable : text.common.showTable}
            </Button>
          )}
          <Button
            variant="default"
            leftSection={<Icon name="refresh" size={14} />}
            loading={isFetching}
            onClick={() => setNow(Date.now())}
          >
            {text.common.refresh}
          </Button>
        </>
      }
    >
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting />}
      {data !== undefined && <Beginning isEmpty={nothing} isKnown={shown && !countsConsole(search)} />}
      {shown && (
        <>
          <FigureCards data={data} period={period} asTable={asTable} />
          <TopGroups period={period} metadataKey={search.key} />
          {charts}
        </>
      )}
    </ListPage>
  );
}

/** What to do before there are figures: the first steps where no program ever called the gateway. They stay while the page is open. */
function Beginning({ isEmpty, isKnown }: { readonly isEmpty: boolean; readonly isKnown: boolean }): ReactNode {
  const { can } = useSession();
  const isStarted = useStarted(isKnown);
  if (isStarted === false) {
    return (
      <Suspense fallback={<Waiting />}>
        <FirstSteps />
      </Suspense>
    );
  }
  if (!isEmpty) return null;
  if (isStarted === undefined) return <Waiting />;
  return (
    <Empty
      title={words.empty}
      hint={words.emptyHint}
      command={echoRequest(gatewayUrl)}
      action={
        can("POST /v1/chat/completions") && (
          <Button component={Link} to="/playground" variant="default">
            {text.nav.playground}
          </Button>
        )
      }
    />
  );
}
