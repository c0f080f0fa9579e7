import { createOwnRequest } from "../../context/own-request.ts";
import type { ShadowCopies, ShadowCopy, ShadowOutcome } from "../../context/shadow.ts";
import type { Services } from "../../context.ts";

/** Most copies that run at once, that wait, and the bytes of those that wait. One organisation has at most half of each. */
const maxRunning = 32;
const maxWaiting = 1_000;
const maxWaitingBytes = 64 * 1024 * 1024;
/** Bodies above this many bytes are not copied. */
const maxBytes = 1024 * 1024;

/** What sending copies needs. */
type CopyParts = Pick<Services, "handle" | "isReady" | "pressure" | "logRoom" | "timers">;

interface Waiting {
  readonly copy: ShadowCopy;
  readonly done: () => void;
}

/** What an organisation has in the queue. */
interface Share {
  running: number;
  waiting: number;
  bytes: number;
}

/** Sends one copy and reads its response to the end. Its failure is in its row. */
async function sendCopy(copy: ShadowCopy, handle: Services["handle"]): Promise<void> {
  const { of: id, path, principal, headers, request, numbers, config, remoteAddress } = copy;
  const { limits: _, ...actingFor } = principal; // whoever calls does not pay for copies
  const text = JSON.stringify(request);
  const body = numbers?.restore(text) ?? text;
  const { signal } = new AbortController();
  const own = createOwnRequest(path, { method: "POST", headers, body, signal });
  const response = await handle(own, {
    actingFor,
    apart: { shadowOf: id, config },
    ...(remoteAddress !== undefined && { remoteAddress }),
  });
  await response.body?.pipeTo(new WritableStream());
}

/** Copies that wait, in the order of their requests, and those that run. */
export class CopyQueue implements ShadowCopies {
  readonly #parts: () => CopyParts;
  readonly #waiting: Waiting[] = [];
  readonly #shares = new Map<string, Share>();
  readonly #counts = new Map<ShadowOutcome, number>();
  #running = 0;
  #bytes = 0;
  #isStarting = false;
  #isStopped = false;

  /** @param parts What is there once the first request is. */
  constructor(parts: () => CopyParts) {
    this.#parts = parts;
  }

  add(copy: ShadowCopy): Promise<void> | undefined {
    const obstacle = this.#findObstacle(copy);
    if (obstacle !== undefined) {
      this.#count(obstacle);
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ copy, done: resolve });
    this.#bytes += copy.bytes;
    const share = this.#shareOf(copy);
    share.waiting++;
    share.bytes += copy.bytes;
    this.#startSoon();
    return promise;
  }

  stop(): void {
    this.#isStopped = true;
    for (const { copy, done } of this.#waiting.splice(0)) {
      this.#leave(copy);
      this.#count("stopped");
      done();
    }
  }

  counts(): ReadonlyMap<ShadowOutcome, number> {
    return this.#counts;
  }

  #count(outcome: ShadowOutcome): void {
    this.#counts.set(outcome, (this.#counts.get(outcome) ?? 0) + 1);
  }

  #findObstacle({ bytes, principal }: ShadowCopy): ShadowOutcome | undefined {
    const { isReady, pressure, logRoom } = this.#parts();
    if (this.#isStopped || !isReady()) return "stopped";
    if (bytes >= maxBytes) return "large";
    if (pressure.isHigh || logRoom.load() !== "none") return "load";
    const share = this.#shares.get(principal.organisationId);
    const isFull = this.#waiting.length >= maxWaiting || this.#bytes + bytes > maxWaitingBytes;
    const hasHalf = share && (share.waiting >= maxWaiting / 2 || share.bytes + bytes > maxWaitingBytes / 2);
    return isFull || hasHalf ? "full" : undefined;
  }

  #shareOf({ principal: { organisationId } }: ShadowCopy): Share {
    const known = this.#shares.get(organisationId) ?? { running: 0, waiting: 0, bytes: 0 };
    this.#shares.set(organisationId, known);
    return known;
  }

  #leave(copy: ShadowCopy): void {
    const share = this.#shareOf(copy);
    share.waiting--;
    share.bytes -= copy.bytes;
    this.#bytes -= copy.bytes;
    this.#forget(copy, share);
  }

  #forget({ principal }: ShadowCopy, { running, waiting }: Share): void {
    if (running + waiting === 0) this.#shares.delete(principal.organisationId);
  }

  /** Starts copies in a later turn of the event loop: the response of the original goes first. */
  #startSoon(): void {
    if (this.#isStarting || this.#running >= maxRunning) return;
    this.#isStarting = true;
    this.#parts().timers.start(0, () => {
      this.#isStarting = false;
      this.#startWaiting();
    });
  }

  #startWaiting(): void {
    while (this.#running < maxRunning) {
      const next = this.#waiting.findIndex(({ copy }) => this.#shareOf(copy).running < maxRunning / 2);
      const [waiting] = next < 0 ? [] : this.#waiting.splice(next, 1);
      if (!waiting) return;
      void this.#run(waiting);
    }
  }

  async #run({ copy, done }: Waiting): Promise<void> {
    const share = this.#shareOf(copy);
    share.running++;
    this.#running++;
    this.#leave(copy);
    this.#count("sent");
    try {
      await sendCopy(copy, this.#parts().handle);
    } catch {
      // a stream that breaks off says so in its row
    }
    share.running--;
    this.#running--;
    this.#forget(copy, share);
    done();
    this.#startSoon();
  }
}
