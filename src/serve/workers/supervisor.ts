import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { FirstKeys } from "../../auth/first-start.ts";
import type { Link } from "../../lib/link.ts";
import { startChild } from "./child-process.ts";
import type { Role } from "./role.ts";
import { checkSocketPath, type LinkServer, serveLinks } from "./sockets.ts";

/** What a child reports once it serves. */
export interface Report {
  readonly number: number;
  /** What it listens on: the common port first, then that of MCP, as far as the mode has them. */
  readonly ports: readonly number[];
  readonly firstKeys: FirstKeys | null;
}

/** Pause before a child is replaced that ended soon after its start, in milliseconds. Each such end doubles it. */
const firstPauseMs = 100;
const mostPauseMs = 5_000;
/** A child that served for so long did not end because of its start. */
const soonMs = 5_000;

/** A process that was started. */
interface Child {
  readonly role: Role;
  readonly process: ChildProcess;
  readonly startedAt: number;
  /** Once it is connected. */
  link: Link | undefined;
}

/** Dependencies of a supervisor. */
interface SupervisorOptions {
  /** Number of workers. */
  readonly count: number;
  /** Called once, when all of them serve. */
  ready(report: Report): void;
  /** Called when the last child has ended. */
  ended(exitCode: number): void;
  warn(message: string): void;
}

/** Starts the workers, replaces those that end, and stops them in order. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #folder: string;
  readonly #control: string;
  readonly #children = new Map<number, Child>();
  readonly #pausesMs = new Map<number, number>();
  #server: LinkServer | undefined;
  #ports: readonly number[] = [];
  #first: Report | undefined;
  #awaited: Set<number>;
  #isReady = false;
  #isStopping = false;
  #exitCode = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#folder = mkdtempSync(join(tmpdir(), "gateway-"));
    this.#control = join(this.#folder, "control");
    checkSocketPath(this.#control, "set TMPDIR to a folder with a shorter path");
    this.#awaited = new Set(Array.from({ length: options.count }, (_, number) => number));
  }

  /** Starts the first worker, which finds free ports where none are set, and then the others. */
  async start(): Promise<void> {
    this.#server = await serveLinks(this.#control, (link) => ({
      hello: ({ value }) => this.#greet(Number(value), link()),
      ready: ({ value }) => this.#note(value as Report), // as the child wrote it
    }));
    this.#startChild(0);
  }

  /**
   * Stops all children, each in order. Again it changes nothing.
   *
   * @param mayFinish Whether running requests get their time.
   */
  stop(exitCode: number, mayFinish = true): void {
    this.#exitCode ||= exitCode;
    this.#isStopping = true;
    for (const child of this.#children.values()) this.#stopChild(child, mayFinish);
    this.#endIfAlone();
  }

  #stopChild({ link, process: { pid } }: Child, mayFinish: boolean): void {
    if (link) link.tell(mayFinish ? "stop" : "hurry", null);
    else if (pid !== undefined) process.kill(pid, "SIGTERM");
  }

  #startChild(number: number): void {
    const role: Role = { kind: "worker", number, control: this.#control, ports: this.#ports };
    const child: Child = { role, process: startChild(role), startedAt: performance.now(), link: undefined };
    this.#children.set(number, child);
    let hasEnded = false;
    const end = (how: string) => {
      if (hasEnded) return;
      hasEnded = true;
      this.#lose(child, how);
    };
    child.process.once("error", (error) => end(error.message));
    child.process.once("exit", (code, signal) => end(signal ?? `exit code ${code}`));
  }

  #greet(number: number, link: Link): void {
    const child = this.#children.get(number);
    if (!child) {
      link.close();
      return;
    }
    child.link = link;
    if (this.#isStopping) this.#stopChild(child, true);
  }

  #note(report: Report): void {
    const { number, ports } = report;
    this.#ports = ports;
    this.#first ??= report;
    const wasFirst = this.#awaited.delete(number) && this.#first === report;
    if (this.#isStopping || this.#isReady) return;
    if (wasFirst) for (const other of this.#awaited) this.#startChild(other);
    if (this.#awaited.size > 0) return;
    this.#isReady = true;
    this.#options.ready(this.#first);
  }

  #lose(child: Child, how: string): void {
    const { number } = child.role;
    if (this.#children.get(number) === child) this.#children.delete(number);
    child.link?.close();
    // before they serve, a child has printed why it ends
    if (this.#isStopping) this.#endIfAlone();
    else if (!this.#isReady) this.stop(1);
    else this.#replace(child, how);
  }

  #replace({ role: { number }, startedAt }: Child, how: string): void {
    this.#options.warn(`A worker ended (${how}): another one takes its place`);
    const isSoon = performance.now() - startedAt < soonMs;
    const pauseMs = isSoon ? (this.#pausesMs.get(number) ?? firstPauseMs) : 0;
    this.#pausesMs.set(number, isSoon ? Math.min(2 * pauseMs, mostPauseMs) : firstPauseMs);
    setTimeout(() => {
      if (!this.#isStopping) this.#startChild(number);
    }, pauseMs);
  }

  #endIfAlone(): void {
    if (this.#children.size > 0) return;
    this.#server?.close();
    rmSync(this.#folder, { recursive: true, force: true });
    this.#options.ended(this.#exitCode);
  }
}
