import type { SocketClose, SocketMessage } from "../../packages/websocket-frames/src/frames.ts";
import type { SocketAcceptance, SocketEnd, SocketListener } from "../../src/lib/websocket.ts";

/** The client's side of a session in a test. */
export interface SocketHost {
  /** What the client received. */
  readonly heard: readonly SocketMessage[];
  readonly closes: readonly SocketClose[];
  upgrade(given: SocketAcceptance): Response;
  /** The client sends a message. */
  say(message: SocketMessage): void;
  /** The client closes the session. */
  leave(close: SocketClose): void;
  /** How the gateway accepted the handshake. */
  accepted(): SocketAcceptance | undefined;
}

/** A host that accepts a handshake and returns the test's WebSocket. */
export function createSocketHost(): SocketHost {
  const heard: SocketMessage[] = [];
  const closes: SocketClose[] = [];
  let listener: SocketListener | undefined;
  let acceptance: SocketAcceptance | undefined;
  const end: SocketEnd = {
    bufferedBytes: 0,
    listen: (one) => (listener = one),
    send: (message) => heard.push(message),
    close: (close) => closes.push(close),
    terminate: () => {},
    pause: () => {},
    resume: () => {},
  };
  const upgrade = (given: SocketAcceptance): Response => {
    acceptance = given;
    given.open(end);
    return new Response(null, { headers: { "x-accepted": "yes" } });
  };
  return {
    heard,
    closes,
    upgrade,
    say: (message) => listener?.message(message),
    leave: (close) => listener?.close(close),
    accepted: () => acceptance,
  };
}
