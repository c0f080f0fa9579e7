import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import type { ReactNode } from "react";
import { ApiError } from "./api/client.ts";
import { Failure, Waiting } from "./components/states.tsx";
import { cspNonce } from "./lib/nonce.ts";
import { router } from "./router.tsx";
import { SessionGate } from "./session/context.tsx";
import { SignIn } from "./session/sign-in.tsx";
import { WorkspaceProvider } from "./session/workspace.tsx";
import { cssVariables, theme } from "./theme.ts";

// For the style elements of Mantine's scroll lock.
setNonce(cspNonce);

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      refetchOnWindowFocus: false,
      // What the gateway refuses stays refused.
      retry: (count, error) => count < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500),
    },
  },
});

/** The whole console. */
export function App(): ReactNode {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => cspNonce}
    >
      <Notifications position="bottom-right" />
      <QueryClientProvider client={queries}>
        <SessionGate
          waiting={<Waiting />}
          form={(onSignIn, ended) => <SignIn onSignIn={onSignIn} ended={ended} />}
          failure={(error, retry) => <Failure error={error} onRetry={retry} />}
        >
          <WorkspaceProvider>
            <RouterProvider router={router} />
          </WorkspaceProvider>
        </SessionGate>
      </QueryClientProvider>
    </MantineProvider>
  );
}
