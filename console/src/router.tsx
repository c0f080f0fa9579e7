import {
  type AnyRoute,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import type { ReactNode } from "react";
import { consolePath } from "./api/base.ts";
import { Empty, Failure, Waiting } from "./components/states.tsx";
import { pages } from "./pages/pages.ts";
import { recordEntries } from "./records/entries.ts";
import { readReturn } from "./session/return.ts";
import { Shell } from "./shell/shell.tsx";
import { text } from "./text/frame.ts";

const rootRoute = createRootRoute({ component: Shell, notFoundComponent: NotFound });

function NotFound(): ReactNode {
  return <Empty title={text.common.notFound} />;
}

const pageRoutes = pages.map(({ path, load }) =>
  createRoute({ getParentRoute: () => rootRoute, path, component: lazyRouteComponent(load) }),
);

/** Pages that every kind of record has, by their addresses below that of its list. */
const recordPages = {
  "": "ResourceList",
  "/new": "ResourceCreate",
  "/$id": "ResourceDetail",
  "/$id/edit": "ResourceEdit",
} as const;

const recordRoutes = recordEntries.flatMap(({ name }) =>
  Object.entries(recordPages).map(([below, exported]) =>
    createRoute({
      getParentRoute: () => rootRoute,
      path: `/${name}${below}`,
      component: lazyRouteComponent(async () => {
        const [records, views] = await Promise.all([import("./records/all.ts"), import("./resources/views.ts")]);
        const { [exported]: View } = views;
        return { default: () => <View key={name} resource={records.resources[name]} /> };
      }),
    }),
  ),
);

// Where the gateway leads to when an identity provider refused: once signed in, the page that was asked for is shown.
const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sign-in",
  beforeLoad() {
    throw redirect(readReturn(location.search));
  },
});

// The routes come from tables, so an address is a string here and not a union of literals.
const children: AnyRoute[] = [...pageRoutes, ...recordRoutes, signInRoute];

/** The addresses of the console. Search parameters are plain strings, so that a link can be read and written by hand. */
export const router = createRouter({
  routeTree: rootRoute.addChildren(children),
  basepath: consolePath,
  defaultPreload: "intent",
  defaultPendingComponent: Waiting,
  defaultErrorComponent: ({ error, reset }) => <Failure error={error} onRetry={reset} />,
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch(search) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(search)) {
      if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
    }
    return query.size === 0 ? "" : `?${query}`;
  },
});
