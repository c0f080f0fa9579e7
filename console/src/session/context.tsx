import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from "react";
import type { ApiRow } from "@/api/client.ts";
import { ApiError, onSessionEnd } from "@/api/client.ts";
import { mayCall, type Principal, readSession, type Session, signOut } from "./session.ts";

interface SessionState {
  readonly principal: Principal;
  readonly expiresAt: string;
  /** Whether the signed-in principal may call a row (`POST /v1/configs`). */
  readonly can: (row: ApiRow) => boolean;
  readonly leave: () => Promise<void>;
}

const SessionContext = createContext<SessionState | undefined>(undefined);

/** The session of the page. Only below `SessionGate`. */
export function useSession(): SessionState {
  const state = use(SessionContext);
  if (state === undefined) throw new TypeError("useSession is called outside SessionGate");
  return state;
}

type Status = "loading" | "signed-out" | "signed-in" | "ended" | ApiError;

interface GateProps {
  /** The sign-in form; `ended` is true when it covers a page whose session ran out. */
  readonly form: (onSignIn: (session: Session) => void, ended: boolean) => ReactNode;
  readonly failure: (error: ApiError, retry: () => void) => ReactNode;
  readonly waiting: ReactNode;
  readonly children: ReactNode;
}

/**
 * Shows the page to who signed in, and the sign-in form to everybody else. When a session ends under an open page, the
 * form covers the page and the page stays mounted, so that nothing typed is lost.
 */
export function SessionGate({ form, failure, waiting, children }: GateProps): ReactNode {
  const [session, setSession] = useState<Session>();
  const [status, setStatus] = useState<Status>("loading");
  const queries = useQueryClient();

  const load = useCallback(async () => {
    try {
      setSession(await readSession());
      setStatus("signed-in");
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setStatus(error.status === 401 ? "signed-out" : error);
    }
  }, []);

  useEffect(() => {
    void load();
    onSessionEnd(() => setStatus((before) => (before === "signed-in" ? "ended" : before)));
  }, [load]);

  const enter = useCallback(
    (next: Session) => {
      // Another identity must not see what the cache holds of the former one.
      if (session !== undefined && JSON.stringify(session.principal) !== JSON.stringify(next.principal))
        queries.clear();
      setSession(next);
      setStatus("signed-in");
      void queries.invalidateQueries();
    },
    [queries, session],
  );

  const leave = useCallback(async () => {
    await signOut();
    queries.clear();
    setSession(undefined);
    setStatus("signed-out");
  }, [queries]);

  const state = useMemo<SessionState | undefined>(
    () =>
      session && {
        principal: session.principal,
        expiresAt: session.expires_at,
        can: (row) => mayCall(session.principal, row),
        leave,
      },
    [session, leave],
  );

  if (status === "loading") return waiting;
  if (status instanceof ApiError) return failure(status, () => void load());
  if (status === "signed-out" || state === undefined) return form(enter, false);
  return (
    <SessionContext value={state}>
      {children}
      {status === "ended" && form(enter, true)}
    </SessionContext>
  );
}
