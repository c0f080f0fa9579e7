import type { RealtimeRequest } from "../core/operations.ts";
import type { OperationAdapter } from "../core/types.ts";

/** A path with the query of a session: the provider's own parameters first, then the caller's without duplicates. */
export function toSessionPath(
  path: string,
  own: Readonly<Record<string, string | undefined>>,
  { query }: RealtimeRequest,
): string {
  const given = Object.entries(own).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const rest = query.filter(([name]) => !Object.hasOwn(own, name)).map(([name, value]) => [name, value]);
  const text = new URLSearchParams([...given, ...rest]).toString();
  return text === "" ? path : `${path}?${text}`;
}

/** Realtime sessions as OpenAI has them (https://platform.openai.com/docs/guides/realtime-websocket). */
export function realtimeOperation(pathPrefix = ""): OperationAdapter<"realtime"> {
  return {
    method: "GET",
    path: (request) => toSessionPath(`${pathPrefix}/realtime`, { model: request.model }, request),
  };
}
