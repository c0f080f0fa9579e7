import { useInViewport } from "@mantine/hooks";
import { lazy, type ReactNode, Suspense, useState } from "react";
import Overview from "./overview/overview.tsx";
import { usePinnedViews } from "./overview/pinned-views.ts";

const PinnedCharts = lazy(() => import("./analytics/pinned.tsx"));

/** The overview, with the charts of saved views below it. */
export default function Home(): ReactNode {
  return <Overview charts={<Charts />} />;
}

/** The charts of saved views, read once one looks at their place. */
function Charts(): ReactNode {
  const { data: views = [] } = usePinnedViews();
  const { ref, inViewport } = useInViewport<HTMLDivElement>();
  const [isSeen, setSeen] = useState(false);
  if (inViewport && !isSeen) setSeen(true);
  return (
    <div ref={ref}>
      {isSeen && views.length > 0 && (
        <Suspense fallback={null}>
          <PinnedCharts views={views} />
        </Suspense>
      )}
    </div>
  );
}
