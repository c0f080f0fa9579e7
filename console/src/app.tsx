import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { lazy, type ReactNode, Suspense } from "react";
import { consolePath } from "./api/base.ts";
import { ApiError } from "./api/client.ts";
import { Notices } from "./components/notices.tsx";
import { Failure, Waiting } from "./components/states.tsx";
import { cspNonce } from "./lib/nonce.ts";
import { router } from "./router.tsx";
import { SessionGate } from "./session/context.tsx";
import { WorkspaceProvider } from "./session/workspace.tsx";
import { cssVariables, theme } from "./theme.ts";

const SignIn = lazy(async () => ({ default: (await import("./session/sign-in.tsx")).SignIn }));
const AcceptInvite = lazy(async () => ({ default: (await import("./session/accept-invite.tsx")).AcceptInvite }));

// For the style elements of Mantine's scroll lock.
setNonce(cspNonce);

const queries = new QueryClient({
  defaultOptions: {
    // A gateway on the same machine answers without any network.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      staleTime: 10_000,
      refetchOnWindowFocus: false,
      // What the gateway refuses stays refused.
      retry: (count, error) => count < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500),
    },
  },
});

/** The only page for people who are not users yet. */
const isInvite = location.pathname === `${consolePath}/accept-invite`;

/** The whole console. */
export function App(): ReactNode {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => cspNonce}
    >
      <Notices />
      <QueryClientProvider client={queries}>{isInvite ? <Invited /> : <Signed />}</QueryClientProvider>
    </MantineProvider>
  );
}

function Invited(): ReactNode {
  return (
    <Suspense fallback={<Waiting />}>
      <AcceptInvite />
    </Suspense>
  );
}

function Signed(): ReactNode {
  return (
    <SessionGate
      waiting={<Waiting />}
      form={(onSignIn, ended) => (
        <Suspense fallback={<Waiting />}>
          <SignIn onSignIn={onSignIn} ended={ended} />
        </Suspense>
      )}
      failure={(error, retry) => <Failure error={error} onRetry={retry} />}
    >
      <WorkspaceProvider>
        <RouterProvider router={router} />
      </WorkspaceProvider>
    </SessionGate>
  );
}
