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
  /** Those of a first start, which the owner makes. */
  readonly firstKeys: FirstKeys | null;
}

/** The owner's number among the children. Workers have the numbers behind it. */
const ownerNumber = 0;
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
  /** The socket of the owner. Undefined: one that only this gateway knows. */
  readonly owner: string | undefined;
  /** Whether the first worker has to find a port for all. */
  readonly findsPort: boolean;
  /** Called once, when all of them serve. */
  ready(report: Pick<Report, "ports" | "firstKeys">): void;
  /** Called when the last child has ended. */
  ended(exitCode: number): void;
  warn(message: string): void;
}

/** Starts the owner and the workers, replaces those that end, and stops them in order. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #folder: string;
  readonly #control: string;
  readonly #owner: string;
  readonly #children = new Map<number, Child>();
  readonly #pausesMs = new Map<number, number>();
  /** Workers that have not served yet. */
  readonly #awaited: Set<number>;
  #server: LinkServer | undefined;
  #ports: readonly number[] = [];
  #firstKeys: FirstKeys | null = null;
  #isReady = false;
  #isStopping = false;
  #exitCode = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#folder = mkdtempSync(join(tmpdir(), "gateway-"));
    this.#control = join(this.#folder, "control");
    this.#owner = options.owner ?? join(this.#folder, "owner");
    checkSocketPath(this.#control, "set TMPDIR to a folder with a shorter path");
    checkSocketPath(this.#owner, "set DATABASE_URL to a shorter path, for example a relative one");
    this.#awaited = new Set(Array.from({ length: options.count }, (_, index) => ownerNumber + 1 + index));
  }

  /** Starts the owner, and the workers when it serves. */
  async start(): Promise<void> {
    this.#server = await serveLinks(this.#control, (link) => ({
      hello: ({ value }) => this.#greet(Number(value), link()),
      ready: ({ value }) => this.#note(value as Report), // as the child wrote it
    }));
    this.#startChild(ownerNumber);
  }

  /**
   * Stops all children, each in order, and the owner last. Again it changes nothing.
   *
   * @param mayFinish Whether running requests get their time.
   */
  stop(exitCode: number, mayFinish = true): void {
    this.#exitCode ||= exitCode;
    this.#isStopping = true;
    for (const child of this.#workers) this.#stopChild(child, mayFinish);
    this.#goOn();
  }

  get #workers(): Child[] {
    return [...this.#children.values()].filter(({ role }) => role.kind === "worker");
  }

  #stopChild({ link, process: { pid } }: Child, mayFinish: boolean): void {
    if (link) link.tell(mayFinish ? "stop" : "hurry", null);
    else if (pid !== undefined) process.kill(pid, "SIGKILL");
  }

  #startChild(number: number): void {
    const role: Role = {
      kind: number === ownerNumber ? "owner" : "worker",
      number,
      control: this.#control,
      ports: this.#ports,
      owner: this.#owner,
      workers: this.#options.count,
      running: this.#workers.filter(({ link }) => link).length,
    };
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
    if (this.#isStopping) this.#goOn();
  }

  #note({ number, ports, firstKeys }: Report): void {
    this.#firstKeys ??= firstKeys;
    if (this.#isStopping || this.#isReady) return;
    if (number === ownerNumber) {
      const [first = number, ...others] = this.#awaited;
      this.#startWorkers(this.#options.findsPort ? [first] : [first, ...others]);
      return;
    }
    this.#awaited.delete(number);
    if (this.#ports.length === 0) {
      this.#ports = ports;
      this.#startWorkers([...this.#awaited]);
    }
    if (this.#awaited.size > 0) return;
    this.#isReady = true;
    this.#options.ready({ ports: this.#ports, firstKeys: this.#firstKeys });
  }

  #startWorkers(numbers: readonly number[]): void {
    for (const number of numbers) if (!this.#children.has(number)) this.#startChild(number);
  }

  #lose(child: Child, how: string): void {
    const { number, kind } = child.role;
    if (this.#children.get(number) === child) this.#children.delete(number);
    child.link?.close();
    // before they serve, a child has printed why it ends
    if (!(this.#isReady || this.#isStopping)) this.stop(1);
    const isNeeded = !this.#isStopping || (kind === "owner" && this.#workers.length > 0 && this.#isReady);
    if (isNeeded) this.#replace(child, how);
    else this.#goOn();
  }

  #replace({ role: { number, kind }, startedAt }: Child, how: string): void {
    this.#options.warn(`A process of the gateway ended (${kind}, ${how}): another one takes its place`);
    const isSoon = performance.now() - startedAt < soonMs;
    const pauseMs = isSoon ? (this.#pausesMs.get(number) ?? firstPauseMs) : 0;
    this.#pausesMs.set(number, isSoon ? Math.min(2 * pauseMs, mostPauseMs) : firstPauseMs);
    setTimeout(() => {
      if (!this.#isStopping || (kind === "owner" && this.#workers.length > 0)) this.#startChild(number);
    }, pauseMs);
  }

  /** Stops the owner behind the last worker, and ends behind the owner. */
  #goOn(): void {
    if (!this.#isStopping) return;
    const [child, ...others] = this.#children.values();
    if (child?.role.kind === "owner" && others.length === 0) this.#stopChild(child, true);
    if (child) return;
    this.#server?.close();
    rmSync(this.#folder, { recursive: true, force: true });
    this.#options.ended(this.#exitCode);
  }
}
