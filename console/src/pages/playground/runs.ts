import { useCallback } from "react";
import { type Answer, emptyAnswer } from "@/chat/answer.ts";
import type { Message } from "@/chat/messages.ts";
import { runModel } from "@/chat/run.ts";
import { useSession } from "@/session/context.tsx";
import { useInference } from "@/session/inference.ts";
import { toRequest } from "./request.ts";
import { type Column, type Playground, type Turn, type Update, withColumn } from "./state.ts";

/** What can be stopped, by column. */
const running = new Map<string, AbortController>();

export function isRunning({ turns }: Column): boolean {
  const last = turns.at(-1);
  return last?.kind === "answer" && (last.answer.state === "waiting" || last.answer.state === "streaming");
}

export function stopColumn(id: string): void {
  running.get(id)?.abort();
}

const toTurn = (message: Message): Turn => ({ kind: "message", id: message.key, message });

interface Runs {
  /** Sends the first messages of a column again; what followed them goes. */
  readonly start: (state: Playground, column: Column) => void;
  /** Adds messages to a column's conversation and sends it. */
  readonly reply: (state: Playground, column: Column, messages: readonly Message[]) => void;
}

/** Sends the requests of columns, and shows their answers in them. */
export function useRuns(update: Update): Runs {
  const { can } = useSession();
  const { headers } = useInference();
  const run = useCallback(
    (state: Playground, column: Column) => {
      const id = crypto.randomUUID();
      const show = (answer: Answer) =>
        update((before) =>
          withColumn(before, column.id, (one) => ({
            ...one,
            turns: one.turns.map((turn) => (turn.id === id ? { kind: "answer", id, answer } : turn)),
          })),
        );
      const turn: Turn = { kind: "answer", id, answer: emptyAnswer };
      update((before) => withColumn(before, column.id, () => ({ ...column, turns: [...column.turns, turn] })));
      try {
        const request = toRequest(state, column);
        stopColumn(column.id);
        const controller = new AbortController();
        running.set(column.id, controller);
        // reasoning is shown, which only the wider answer has
        const all = { "x-gateway-strict-open-ai-compliance": "false", ...headers, ...request.headers };
        const options = { signal: controller.signal, onAnswer: show, readsLog: can("GET /v1/logs/{id}") };
        void runModel({ ...request, headers: all }, options).finally(() => {
          if (running.get(column.id) === controller) running.delete(column.id);
        });
      } catch (error) {
        show({ ...emptyAnswer, state: "failed", error });
      }
    },
    [update, can, headers],
  );
  return {
    start: (state, column) => run(state, { ...column, turns: [] }),
    reply: (state, column, messages) => run(state, { ...column, turns: [...column.turns, ...messages.map(toTurn)] }),
  };
}
